"""What the worker makes of an error: a line that says something, and the place that it means."""

from __future__ import annotations

from pathlib import Path

import pytest
from jit_runtime.errors import Finding
from jit_runtime.worker.imports import Tree
from jit_runtime.worker.place import Place, describe, of_error

WRONG_CALL = """
Arguments for call are not valid.
The following variants are available:

  aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor:
  Expected a value of type 'List[int]' for argument 'shifts' but instead found type 'Tensor'.

  aten::roll.out(Tensor self, SymInt[1] shifts, *, Tensor(a!) out) -> Tensor(a!):
  Expected another thing.

The original call is:
  File "{file}", line 10
        return torch.roll(x, by, dim)
               ~~~~~~~~~~ <--- HERE
'shift' is being compiled since it was called from 'Net.forward'
  File "{file}", line 25
        return shift(x, 1)
               ~~~~~ <--- HERE
"""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            RuntimeError(WRONG_CALL),
            "aten::roll: Expected a value of type 'List[int]' for argument 'shifts' "
            "but instead found type 'Tensor'.",
        ),
        (
            RuntimeError("\n\naten::f.t(t[] self) -> t:\nCould not match.\n:\n"),
            "aten::f: Could not match.",
        ),
        (
            RuntimeError("\nModule 'Net' has no attribute 'x' :\n  File ..."),
            "Module 'Net' has no attribute 'x'",
        ),
        (RuntimeError("f(Tensor x) -> Tensor"), "f(Tensor x) -> Tensor"),
        (ValueError("a\nb"), "ValueError: a"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (Finding("x differs"), "x differs"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_one_line_says_what_is_wrong(error: BaseException, words: str):
    assert describe(error) == words


def test_the_first_place_in_the_tree_counts(tmp_path: Path):
    file = tmp_path / "net.py"
    tree = Tree(str(tmp_path), [], [])
    error = RuntimeError(WRONG_CALL.format(file=file))
    assert of_error(error, tree) == Place(describe(error), str(file), 10)
    elsewhere = RuntimeError(WRONG_CALL.format(file="/usr/lib/torch/functional.py"))
    assert of_error(elsewhere, tree).file is None


def test_a_python_error_means_its_innermost_line_in_the_tree(tmp_path: Path):
    file = tmp_path / "net.py"
    file.write_text("import json\n\n\ndef make():\n    return json.loads('{')\n")
    names: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(ValueError) as caught:
        names["make"]()  # type: ignore[operator]
    assert of_error(caught.value, Tree(str(tmp_path), [], [])).line == 5


def test_a_syntax_error_means_the_file_that_does_not_parse(tmp_path: Path):
    file = tmp_path / "bad.py"
    with pytest.raises(SyntaxError) as caught:
        compile("x = 1\ny = = 2\n", str(file), "exec")
    place = of_error(caught.value, Tree(str(tmp_path), [], []))
    assert (place.file, place.line) == (str(file), 2)
