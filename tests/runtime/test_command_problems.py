"""Errors of others in a line or two: what they say, and where."""

from __future__ import annotations

import pytest
import torch
from jit_runtime.command.problems import Problem, lines_of, told_of
from jit_runtime.errors import CompilationError
from torch import nn


def raised_by(function, *arguments) -> Exception:  # type: ignore[no-untyped-def]
    with pytest.raises(Exception) as caught:
        function(*arguments)
    return caught.value


class NoSuchMethod(nn.Module):
    def forward(self, x):
        return x.no_such_method()


class Fails(nn.Module):
    def forward(self, x):
        return torch.ones(3) + x


def place_in(cls: type[nn.Module]) -> str:
    """The only line of the class's forward."""
    code = cls.forward.__code__  # type: ignore[attr-defined]
    return f" ({code.co_filename}:{code.co_firstlineno + 1})"


def test_an_error_of_compilation() -> None:
    said = lines_of(raised_by(torch.jit.script, NoSuchMethod()))
    assert "object has no attribute or method 'no_such_method'" in said
    assert said.endswith(place_in(NoSuchMethod))
    assert "\n" not in said


def test_an_error_of_compiled_code() -> None:
    said = lines_of(raised_by(torch.jit.script(Fails()), torch.ones(2)))
    assert "The size of tensor a (3) must match the size of tensor b (2)" in said
    assert said.endswith(place_in(Fails))
    assert "\n" not in said


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("one\n\n  two\nthree"), "one\n    two"),
        (CompilationError("net.py:3: no"), "net.py:3: no"),
        (KeyError("name"), "KeyError: 'name'"),
        (ValueError(), "ValueError"),
    ],
)
def test_other_errors(error: Exception, said: str) -> None:
    assert lines_of(error) == said


def test_a_problem_says_what_it_is_of() -> None:
    with pytest.raises(Problem, match=r"net.pt: ValueError: no"), told_of("net.pt"):
        raise ValueError("no")
    with pytest.raises(Problem, match=r"^said$"), told_of("net.pt"):
        raise Problem("said")
