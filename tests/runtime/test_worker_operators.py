"""The table of torch's operators: what it holds, and that the same torch gives the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Optional, Union

import pytest
import torch
from jit_runtime.worker.operators import main
from jit_runtime.worker.stubs import of_flagged, of_python, of_schema, of_stub_file, variants
from jit_transpile.inference.signatures import parse_signature


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("table") / "out.json"
    subprocess.run([sys.executable, "-m", "jit_runtime.worker.operators", str(out)], check=True)
    return out.read_bytes()


@pytest.fixture(scope="module")
def table(content: bytes) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(content)
    return loaded


def signatures(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if "->" in value:
            yield value
    else:
        for each in value.values() if isinstance(value, dict) else value:
            yield from signatures(each)


def test_the_same_torch_gives_the_same_bytes(content: bytes, tmp_path: Path):
    main(str(tmp_path / "again.json"))  # in a process that has done much else, with other hashes
    assert (tmp_path / "again.json").read_bytes() == content


def test_it_is_small(content: bytes):
    assert len(content) < 1_000_000


def test_every_signature_can_be_read(table: dict[str, Any]):
    texts = set(signatures({key: table[key] for key in ("operators", "functions", "layers")}))
    assert len(texts) > 1500
    for text in texts:
        parse_signature(text)


def test_every_function_leads_to_signatures(table: dict[str, Any]):
    for module in table["functions"].values():
        for found in module.values():
            assert table["operators"][found] if isinstance(found, str) else found


def test_every_layer_is_found_by_the_name_that_it_is_used_by(table: dict[str, Any]):
    for name, cls in vars(torch.nn).items():
        if isinstance(cls, type) and issubclass(cls, torch.nn.Module) and name != "Module":
            assert table["aliases"][f"torch.nn.{name}"] in table["layers"]


def test_nothing_of_this_machine_is_in_it(content: bytes):
    assert str(Path.home()).encode() not in content
    assert sys.prefix.encode() not in content


# --------------------------------------------------------------------------------- signatures


def operator(name: str, overload: str = "") -> str:
    return of_schema(torch._C._get_schema(f"aten::{name}", overload))


@pytest.mark.parametrize(
    ("written", "signature"),
    [
        (operator("view"), "(self: Tensor, *size: int) -> Tensor"),
        (operator("item"), "(self: Tensor) -> number"),
        (operator("append", "t"), "(self: List[TypeVar[t]], el: TypeVar[t]) -> List[TypeVar[t]]"),
        (operator("items", "str"), "(self: Dict[str, TypeVar[t]]) -> List[Tuple[str, TypeVar[t]]]"),
        (
            operator("max", "dim"),
            "(self: Tensor, dim: int, keepdim: bool = ...) -> Tuple[Tensor, Tensor]",
        ),
        (operator("clear", "t"), "(self: List[TypeVar[t]]) -> None"),
        (operator("format"), "(self: str, *args: Any) -> str"),
        (
            operator("view", "dtype"),
            "(self: Tensor, dtype: dtype) -> Tensor",
        ),
    ],
)
def test_an_operator_is_written_as_in_a_stub_file(written: str, signature: str):
    assert written == signature


def test_an_int_for_a_list_is_kept():
    assert "kernel_size: BroadcastingList2[int], stride" in operator("max_pool2d")
    assert "dim: Optional[BroadcastingList1[int]]" in operator("sum", "dim_IntList")


def test_a_parameter_whose_name_is_a_keyword_is_renamed():
    assert operator("random_", "from").startswith("(self: Tensor, from_: int, to: Optional[int]")


def pooled(x: torch.Tensor, size: int, indices: bool = False, after: bool = False) -> torch.Tensor:
    return x


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_flag_that_changes_the_result_is_an_overload_of_its_own():
    assert of_flagged(torch.jit.script(pooled).schema, ["indices"]) == [
        "(x: Tensor, size: int, *, after: bool = ...) -> Tensor",
        "(x: Tensor, size: int, *, indices: bool, after: bool = ...) -> Unknown",
        "(x: Tensor, size: int, indices: bool, after: bool = ...) -> Unknown",
    ]


def by_annotation(
    a: torch.Tensor,
    b: Optional[torch.Tensor] = None,  # noqa: UP045
    c: Union[int, tuple[int, ...]] = 1,  # noqa: UP007
    d: Literal["same", "valid"] = "same",
    e: Callable[[int], int] | None = None,
    f: Sequence[int] | torch.Size = (),
    *args: torch.dtype,
    g: torch.device | str = "cpu",
    **kwargs: Any,
) -> tuple[torch.Tensor, dict[str, float]]:
    return a, {}


def by_default(self, a, b=1, c=0.5, d=True, e="x", f=None, device=None, dtype=None):
    return a


def test_a_python_function_is_told_by_its_annotations():
    assert of_python(by_annotation) == (
        "(a: Tensor, b: Union[Tensor, None] = ..., c: Union[int, Tuple[int, ...]] = ..., "
        "d: str = ..., e: Unknown = ..., f: Union[List[int], List[int]] = ..., *args: dtype, "
        "g: Union[device, str] = ...) -> Tuple[Tensor, Dict[str, float]]"
    )


def test_without_them_by_its_defaults():
    assert of_python(by_default, unannotated="Tensor") == (
        "(a: Unknown, b: int = ..., c: float = ..., d: bool = ..., e: str = ..., "
        "f: Unknown = ..., device: Optional[device] = ..., dtype: Optional[dtype] = ...) -> Tensor"
    )


def test_a_layer_with_overloads_has_a_signature_for_each():
    first, second = variants(torch.nn.GRU, "forward")
    assert of_python(first).endswith("-> Tuple[Tensor, Tensor]")
    assert of_python(second).startswith("(input: Unknown, ")
    assert variants(torch.nn.Linear, "forward") == [torch.nn.Linear.forward]


STUBS = """
class Base:
    def ndimension(self) -> _int: ...
    def new(self, data: Any, *, pin: _bool = ..., dtype: Any) -> Tensor: ...
    def tolist(self) -> list: ...
    @overload
    def index(self, x: int) -> int: ...
"""


def test_a_stub_file_tells_what_methods_return():
    names = ["ndimension", "new", "tolist", "index"]
    assert of_stub_file(STUBS, "Base", names) == {
        "ndimension": "(self: Tensor) -> int",
        "new": "(self: Tensor, data: Unknown, *, pin: Unknown = ..., dtype: Unknown) -> Tensor",
    }
