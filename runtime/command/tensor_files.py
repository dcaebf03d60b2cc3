"""Tensors in files: `.npy`, `.npz`, `.safetensors` and `.pt`, of which nothing is executed."""

from __future__ import annotations

import importlib
import pickle
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from ..files import replacing
from .problems import Problem, WrongUsage, lines_of

_CONTIGUOUS = torch.contiguous_format

SUFFIXES = (".npy", ".npz", ".safetensors", ".pt")


def suffix_of(path: str) -> str:
    """The format of a file, by its name. Raises WrongUsage for others."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise WrongUsage(f"{path}: expected a file of {', '.join(SUFFIXES)}")
    return suffix


def read(path: str) -> Any:
    """What a file holds: a tensor, a dict of tensors by name, or what was saved to a `.pt`.

    Raises WrongUsage for a file of another kind, Problem for one that cannot be read, OSError.
    """
    suffix = suffix_of(path)
    with Path(path).open("rb"):  # which says why a file cannot be opened; the libraries vary
        pass
    if suffix == ".pt":
        return _read_pt(path)
    return _read_safetensors(path) if suffix == ".safetensors" else _read_numpy(path)


def _read_safetensors(path: str) -> dict[str, Tensor]:
    library = _library("safetensors.torch", "safetensors", path)
    try:
        tensors: dict[str, Tensor] = library.load_file(path)
    except _library("safetensors", "safetensors", path).SafetensorError as error:
        raise _unreadable(path, error) from error
    return tensors


def _read_numpy(path: str) -> Any:
    numpy = _library("numpy", "numpy", path)
    try:
        found = numpy.load(path, allow_pickle=False)
        if not hasattr(found, "files"):
            return _tensor(path, found)
        return {name: _tensor(path, found[name]) for name in found.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        if "pickle" in str(error):  # what NumPy takes all for that it does not know
            raise Problem(f"{path}: is no {Path(path).suffix} file of numbers") from error
        raise _unreadable(path, error) from error


def _tensor(path: str, array: Any) -> Tensor:
    try:
        return torch.from_numpy(array.astype(array.dtype.newbyteorder("=")))  # a copy
    except TypeError as error:
        raise Problem(f"{path}: torch has no dtype for NumPy's {array.dtype}") from error


def _read_pt(path: str) -> Any:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file leads the unpickler anywhere
        if isinstance(error, pickle.UnpicklingError) and "Weights only" in str(error):
            raise Problem(
                f"{path}: holds objects that only code can read; save tensors, and lists, tuples "
                "and dicts of them, with torch.save"
            ) from error
        if "TorchScript archives" in str(error):
            raise Problem(f"{path}: holds code, an artifact or a TorchScript module") from error
        raise _unreadable(path, error) from error


def read_state_dict(path: str) -> Mapping[str, Tensor]:
    """The weights in a `.pt` or a `.safetensors` file. Raises as `read`."""
    state = read(path)
    if isinstance(state, Mapping) and all(isinstance(v, Tensor) for v in state.values()):
        return state
    raise WrongUsage(f"{path}: is no state_dict, which has tensors by name")


def write(path: str, value: Any) -> None:
    """Write results in the format of the file's name.

    A `.pt` keeps containers; a `.npz` and a `.safetensors` file name what is in them by its place,
    `output_0` or the keys of a dict; a `.npy` holds one tensor. Raises Problem for what the format
    has no place for, OSError.
    """
    suffix = suffix_of(path)
    if suffix == ".pt":
        with replacing(path) as file:
            torch.save(_on_cpu(value), file)
        return
    if suffix == ".npy" and not isinstance(value, Tensor):
        raise Problem(f"{path}: has a place for one tensor, not for {_kind(value)}; use .npz")
    tensors: dict[str, Tensor] = {}
    for name, tensor in _named(path, value, ""):
        if name in tensors:
            raise Problem(f"{path}: two results would have the name {name}; use .pt")
        tensors[name] = tensor
    if suffix == ".safetensors":
        library = _library("safetensors.torch", "safetensors", path)
        # Copies: the format refuses tensors that share memory.
        tensors = {name: t.clone(memory_format=_CONTIGUOUS) for name, t in tensors.items()}
        with replacing(path) as file:
            library.save_file(tensors, file)
        return
    numpy = _library("numpy", "numpy", path)
    arrays = {name: _array(path, tensor) for name, tensor in tensors.items()}
    with replacing(path) as file, file.open("wb") as opened:
        if suffix == ".npz":
            _write_npz(numpy, opened, arrays)
        else:
            numpy.save(opened, *arrays.values(), allow_pickle=False)


def _write_npz(numpy: Any, opened: BinaryIO, arrays: dict[str, Any]) -> None:
    """As `numpy.savez`, which has no place for an array whose name is `file`."""
    with zipfile.ZipFile(opened, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as record:
                numpy.lib.format.write_array(record, array, allow_pickle=False)


def _named(path: str, value: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _named(path, item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _named(path, item, f"{name or 'output'}_{index}")
    elif isinstance(value, Tensor):
        yield name or "output", value.detach().cpu()
    elif isinstance(value, (bool, int, float)):
        yield name or "output", torch.tensor(value)
    else:
        raise Problem(f"{path}: has no place for {_kind(value)}; use .pt")


def _array(path: str, tensor: Tensor) -> Any:
    try:
        return tensor.numpy()
    except TypeError as error:
        name = str(tensor.dtype).removeprefix("torch.")
        raise Problem(f"{path}: NumPy has no {name}; use .safetensors or .pt") from error


def _on_cpu(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().cpu()
    if isinstance(value, Mapping):
        return {key: _on_cpu(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_on_cpu(item) for item in value]
    if isinstance(value, tuple):  # the classes of TorchScript's named tuples are in no module
        return tuple(_on_cpu(item) for item in value)
    return value


def _library(module: str, package: str, path: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Problem(f"{path}: needs {package}: pip install {package}") from error


def _unreadable(path: str, error: Exception) -> Problem:
    kind = Path(path).suffix
    reason = re.sub(r"\s+", " ", lines_of(error))
    return Problem(f"{path}: is no {kind} file, or a damaged one ({reason})")


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
