"""The command line of `jit-runtime`. Importing this imports neither torch nor NumPy."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from ..version import VERSION

CONTENDERS = ("eager", "script", "compile", "compile-freezing", "artifact")


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; `command` is the name of the chosen one's file."""
    top = argparse.ArgumentParser(
        "jit-runtime",
        description="Makes, runs, measures and shows artifacts: PyTorch models without Python.",
        epilog="Exit status: 0 done; 1 something that was asked for did not work; 2 wrong usage.",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {VERSION}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, help_, add in (
        ("compile", "compile a model into an artifact", _compile),
        ("run", "run an artifact on files of tensors", _run),
        ("bench", "measure an artifact beside eager, torch.jit.script and torch.compile", _bench),
        ("inspect", "show what an artifact holds", _inspect),
        ("verify", "compare an artifact with the eager model", _verify),
    ):
        add(commands.add_parser(name, help=help_, description=f"{help_[0].upper()}{help_[1:]}."))
    return top


def _compile(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="PKG.MOD:FACTORY", help="class or function")
    command.add_argument("-o", "--output", required=True, metavar="OUT.pt", help="the artifact")
    _add_model_options(command)
    command.add_argument(
        "--optimize",
        choices=("none", "inference", "max"),
        default="inference",
        help="max tries plans on the example and keeps the fastest. [default: inference]",
    )
    _add_device(command)
    command.add_argument(
        "--dtype",
        choices=("bfloat16", "float16", "tf32"),
        help="what may be computed in; tf32 on CUDA. [default: as the model does]",
    )
    command.add_argument(
        "--no-verify", action="store_true", help="do not compare with the eager model"
    )


def _run(command: argparse.ArgumentParser) -> None:
    _add_artifact(command)
    command.add_argument(
        "inputs",
        nargs="*",
        metavar="[NAME=]FILE",
        help=".npy, .npz, .safetensors or .pt (weights only), in the order of the arguments, or by "
        "name; the tensors of a .npz and a .safetensors file have names",
    )
    command.add_argument(
        "-o", "--output", metavar="FILE", help="write the results there, in the same formats"
    )
    command.add_argument("--method", default="forward", metavar="NAME", help="[default: forward]")
    _add_device(command)


def _inspect(command: argparse.ArgumentParser) -> None:
    _add_artifact(command)
    command.add_argument(
        "--code", nargs="?", const="forward", metavar="METHOD", help="print compiled code"
    )
    command.add_argument("--json", action="store_true", help="print what it says as JSON")
    command.add_argument(
        "--triton",
        nargs="?",
        const="config.pbtxt",
        metavar="FILE",
        help="write the configuration of Triton Inference Server. [default: config.pbtxt]",
    )
    command.add_argument(
        "--max-batch-size",
        type=_at_least(0),
        metavar="N",
        help="of Triton; 0: requests bring the batch. [default: 8, or 0 where it does not vary]",
    )


def _verify(command: argparse.ArgumentParser) -> None:
    _add_artifact(command)
    command.add_argument("--model", required=True, metavar="PKG.MOD:FACTORY", help="the eager one")
    _add_model_options(command, needs_example=True)
    _add_device(command)
    command.add_argument("--json", action="store_true", help="print the figures as JSON")


def _bench(command: argparse.ArgumentParser) -> None:
    _add_artifact(command)
    command.add_argument("--model", metavar="PKG.MOD:FACTORY", help="the eager model, for the rest")
    _add_model_options(command)
    command.add_argument(
        "--contenders",
        type=_names(CONTENDERS),
        metavar="NAMES",
        help=f"of {', '.join(CONTENDERS)}. [default: all that there is a model for]",
    )
    command.add_argument(
        "--batch", type=_numbers, metavar="N,N", help="batch sizes. [default: the example's]"
    )
    command.add_argument(
        "--rounds", type=_at_least(1), default=10, metavar="N", help="[default: 10]"
    )
    command.add_argument(
        "--seconds",
        type=float,
        default=0.3,
        metavar="S",
        help="how long each contender is measured in a round. [default: 0.3]",
    )
    command.add_argument("--threads", type=_at_least(1), metavar="N", help="of all contenders")
    command.add_argument(
        "--keep-memory",
        action="store_true",
        help="all contenders keep the memory that they free, as by jit_runtime.keep_memory()",
    )
    _add_device(command)
    command.add_argument("--json", metavar="FILE", help="write the figures")
    command.add_argument("--plot", metavar="FILE", help="draw them: .png or .svg")


def _add_artifact(command: argparse.ArgumentParser) -> None:
    command.add_argument("artifact", metavar="NET.pt", help="artifact, or any TorchScript file")


def _add_device(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--device",
        default="auto",
        metavar="DEVICE",
        help="cpu, cuda, cuda:1. [default: CUDA if there is a device, else the CPU]",
    )


def _add_model_options(command: argparse.ArgumentParser, *, needs_example: bool = False) -> None:
    command.add_argument(
        "--example",
        required=needs_example,
        metavar="PKG.MOD:NAME",
        help="inputs, or a function that returns them",
    )
    command.add_argument(
        "--args", type=_keywords, default={}, metavar="JSON", help="arguments of the factory"
    )
    command.add_argument(
        "--weights", metavar="FILE", help="state_dict to load: .pt (weights only) or .safetensors"
    )
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of random weights. [default: 0]"
    )
    command.add_argument(
        "--path", action="append", default=[], metavar="DIR", help="where the model's code lies"
    )


def _keywords(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError('not an object of keyword arguments, as {"dim": 4}')
    return value


def _names(known: tuple[str, ...]) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        found = list(dict.fromkeys(text.split(",")))
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name}: known are {', '.join(known)}")
        return found

    return names


def _numbers(text: str) -> list[int]:
    return list(dict.fromkeys(map(_at_least(1), text.split(","))))


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text}: expected a number of at least {least}")
        return int(text)

    return number
