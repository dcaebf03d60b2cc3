"""When two values are held for equal."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pytest
import torch
from jit_runtime.sessions.comparison import Incomparable, difference, flatten, largest_deviation

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


@pytest.mark.parametrize(
    ("eager", "compiled", "tolerance", "is_equal"),
    [
        (torch.tensor([1000.0, 0.0]), torch.tensor([1000.0, 0.05]), 1e-4, True),
        (torch.tensor([1000.0, 0.0]), torch.tensor([1000.0, 0.2]), 1e-4, False),
        (ONES, ONES * 1.00005, 1e-4, True),
        (ONES.double(), ONES.double() * 1.00005, 1e-4, True),
        (ONES * 0, ONES * 1e-8, 1e-4, True),
        (ONES * 0, ONES * 1e-5, 1e-4, False),
        (torch.tensor([5]), torch.tensor([6]), 1.0, False),
        (1.0, 1.05, 0.1, True),
    ],
    ids=repr,
)
def test_a_tolerance_is_relative_to_the_largest_magnitude(eager, compiled, tolerance, is_equal):
    tolerances = dict.fromkeys(["float32", "float64"], tolerance)
    found = difference(flatten(eager, "out"), flatten(compiled, "out"), tolerances)
    assert (found is None) == is_equal


def test_what_is_beyond_a_tolerance_is_named():
    eager, compiled = flatten([ONES], "out"), flatten([ONES + torch.tensor([0, 0.5, 0])], "out")
    assert difference(eager, compiled, {"float32": 1e-4}) == (
        "out[0] differs from eager at [1] by 5.0e-01 (5.0e-01 of the largest value), "
        "the tolerance is 1e-04"
    )


def deviation(eager: object, compiled: object):
    return largest_deviation(flatten(eager, "out"), flatten(compiled, "out"))


class TestWhereTheyDifferMost:
    def test_is_an_element_of_a_leaf(self):
        eager = {"a": torch.ones(2, 3), "b": [torch.full((2, 2), 100.0)]}
        compiled = {"a": torch.ones(2, 3), "b": [torch.full((2, 2), 100.0)]}
        compiled["a"][1, 2] += 0.5
        compiled["b"][0][0, 1] += 1.0  # more, but less of what it stands beside
        worst = deviation(eager, compiled)
        assert (worst.path, worst.index, worst.absolute) == ("out['a']", (1, 2), 0.5)
        assert str(worst) == "out['a'][1, 2] by 5.0e-01 (5.0e-01 of the largest value)"

    def test_is_where_one_alone_has_nan(self):
        nan, inf = float("nan"), float("inf")
        assert deviation(torch.tensor([nan, 1, inf]), torch.tensor([nan, 1, inf])).absolute == 0
        assert deviation(ONES, torch.tensor([1.0, nan, 1.0])).index == (1,)
        assert deviation(ONES, torch.tensor([1.0, nan, 1.0])).relative == inf
        assert deviation(torch.tensor([1.0, inf]), torch.tensor([1.0, -inf])).relative == inf

    def test_is_nowhere_when_no_numbers_can_be_compared(self):
        assert deviation([1, "a", torch.empty(0), torch.tensor([3])], [1, "a", ONES, ONES]) is None

    def test_is_finite_where_it_is_too_large_for_the_dtype(self):
        most = torch.tensor([60000.0], dtype=torch.float16)
        assert deviation(most, -most).absolute == 2 * most.item()

    def test_has_no_index_in_a_scalar(self):
        assert str(deviation(torch.tensor(2.0), torch.tensor(1.0))).startswith("out by 1.0e+00")


def test_later_writes_do_not_change_what_was_flattened():
    tensor = torch.zeros(1)
    before = flatten(tensor, "out")
    tensor += 1
    assert difference(before, flatten(tensor, "out"))
