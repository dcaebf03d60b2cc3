"""When the worker holds two values for equal."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pytest
import torch
from jit_runtime.worker.comparison import Incomparable, difference, flatten

Point = namedtuple("Point", "x y")
Mode = Enum("Mode", "SUM MEAN")


@dataclass
class Output:
    hidden: torch.Tensor
    size: int


def differs(eager: object, compiled: object) -> str | None:
    return difference(flatten(eager, "out"), flatten(compiled, "out"))


ONES = torch.ones(3)


@pytest.mark.parametrize(
    ("eager", "compiled"),
    [
        (ONES, ONES * (1 + 5e-6)),
        (torch.tensor([1000.0, 0.0]), torch.tensor([1000.0, 5e-4])),
        (torch.tensor([float("nan"), float("inf")]), torch.tensor([float("nan"), float("inf")])),
        (torch.empty(0, 3), torch.empty(0, 3)),
        (ONES.half(), ONES.half() * 1.002),
        (ONES.to_sparse(), ONES.to_sparse()),
        (torch.tensor(3), torch.tensor(3)),
        (torch.tensor(0.5), torch.tensor(0.5)),
        (torch.tensor([True]), torch.tensor([True])),
        (torch.tensor([1 + 1j]), torch.tensor([1 + 1j])),
        (float("nan"), float("nan")),
        (Point(ONES, 1), (ONES, 1)),
        ([ONES, None], (ONES, None)),
        (OrderedDict(a=[1, {"b": "c"}]), {"a": [1, {"b": "c"}]}),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (torch.float32, torch.float32),
    ],
    ids=repr,
)
def test_equal(eager: object, compiled: object):
    assert differs(eager, compiled) is None


@pytest.mark.parametrize(
    ("eager", "compiled", "words"),
    [
        (ONES, ONES * 1.0001, "out differs from eager: greatest absolute difference"),
        # Small values are not drowned by an absolute tolerance.
        (ONES * 1e-12, ONES * 2e-12, "out differs from eager"),
        (ONES.double(), ONES.double() * (1 + 1e-7), "out differs from eager"),
        (ONES, torch.tensor([1.0, 1.0, float("nan")]), "out differs from eager"),
        (ONES, torch.ones(3, 1), "out has shape [3, 1], eager has [3]"),
        (ONES, torch.ones(3, dtype=torch.int64), "dtype torch.int64, eager has torch.float32"),
        (ONES, ONES.to_sparse(), "layout torch.sparse_coo"),
        (torch.tensor(3), torch.tensor(4), "out differs from eager"),
        (torch.tensor([True]), torch.tensor([False]), "out differs from eager"),
        (ONES, None, "out is None, eager has a tensor of shape [3]"),
        (1, 1.0, "out is 1.0, eager has 1"),
        (True, 1, "out is 1, eager has True"),
        ("a", "b", "out is 'b', eager has 'a'"),
        ([ONES], [ONES, ONES], "len(out) is 2, eager has 1"),
        ([[ONES, 1]], [[ONES, 2]], "out[0][1] is 2, eager has 1"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "out.keys() is"),
        ([], None, "len(out) is missing"),
        (None, [], "out is a sequence of 0, eager has None"),
        (ONES, (ONES, None), "out is a sequence of 2, eager has a tensor of shape [3]"),
        (ONES, {"a": ONES}, "out is missing, eager has a tensor"),
        (Output(ONES, 1), Output(ONES, 2), "out.size is 2, eager has 1"),
        (Mode.SUM, Mode.MEAN, "out is 'Mode.MEAN', eager has 'Mode.SUM'"),
    ],
    ids=repr,
)
def test_different(eager: object, compiled: object, words: str):
    assert words in (differs(eager, compiled) or "nothing")


def test_what_cannot_be_compared_is_never_taken_for_equal():
    with pytest.raises(Incomparable, match=r"out\['a'\] is of type object"):
        flatten({"a": object()}, "out")


def test_later_writes_do_not_change_what_was_flattened():
    tensor = torch.zeros(1)
    before = flatten(tensor, "out")
    tensor += 1
    assert difference(before, flatten(tensor, "out"))
