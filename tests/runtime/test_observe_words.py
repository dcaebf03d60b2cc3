"""What the watch says of a value: its type in TorchScript's language, and nothing that it holds."""

from __future__ import annotations

import collections
import enum
import functools
import re
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jit_runtime.observe.words import LONGEST_TUPLE, MOST_ELEMENTS, element_word, word
from jit_transpile.observe.spelling import read_type, spelled
from torch import nn


class Mode(enum.IntEnum):
    A = 1


class Pair(NamedTuple):
    a: int


class Wrapped(torch.Tensor):
    pass


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "bool"),
        (1, "int"),
        (1.0, "float"),
        (1j, "complex"),
        ("a", "str"),
        (None, "None"),
        (torch.ones(1), "Tensor"),
        (nn.Parameter(torch.ones(1)), "Tensor"),
        (Wrapped([1.0]), "Tensor"),
        (torch.device("cpu"), "device"),
        (torch.float32, "dtype"),
        (torch.Size([1, 2]), "List[int]"),
        (torch.ones(2, 2).max(0), "Tuple[Tensor, Tensor]"),
        (np.float32(1), "float"),
        (np.float64(1), "float"),
        (np.int64(1), "int"),
        (np.uint8(1), "int"),
        (np.bool_(True), "bool"),
        (np.complex64(1), "complex"),
        (np.str_("a"), "str"),
        (np.timedelta64(1, "s"), "Unknown"),
        (np.ones(1), "Unknown"),
        (Mode.A, "Unknown"),
        (Text("a"), "Unknown"),
        (Pair(1), "Unknown"),
        (b"a", "Unknown"),
        ({1}, "Unknown"),
        (range(3), "Unknown"),
        (nn.Linear(1, 1), "Module"),
        (torch.relu, "Function"),
        (nn.functional.relu, "Function"),
        (nn.Linear, "Function"),
        (Mode, "Function"),
        (functools.partial(max, 1), "Function"),
        (mock.MagicMock(spec=torch.Tensor), None),
        ([mock.MagicMock(), 1], "List[int]"),
        ([mock.MagicMock()], None),
        ((1, mock.MagicMock()), None),
        ([], "List[Never]"),
        ([1, 2], "List[int]"),
        ([1, None], "List[Optional[int]]"),
        ([1, 2.0, "a"], "List[Union[float, int, str]]"),
        ([[], [1]], "List[List[int]]"),
        ((), "Tuple[()]"),
        ((1, "a"), "Tuple[int, str]"),
        (((1,), [()]), "Tuple[Tuple[int], List[Tuple[()]]]"),
        ((1,) * LONGEST_TUPLE, f"Tuple[{', '.join(['int'] * LONGEST_TUPLE)}]"),
        ((1,) * (LONGEST_TUPLE + 1), "Tuple[int, ...]"),
        ({}, "Dict[Never, Never]"),
        ({"a": [1]}, "Dict[str, List[int]]"),
        (collections.OrderedDict(a=1.0), "Dict[str, float]"),
        (collections.defaultdict(list, {1: []}), "Dict[int, List[Never]]"),
    ],
)
def test_words(value: object, expected: str | None) -> None:
    said = word(value)
    assert (said and spelled(read_type(said))) == expected


def test_what_is_endless_or_huge_takes_no_time() -> None:
    """Beyond the limits nothing is looked at."""
    endless: list[object] = []
    endless.append(endless)
    assert "Unknown" in str(word(endless))
    assert word([[1] * 5000] * 5000) == "List[List[int]]"
    assert word([[[{"a": (1, [2])}] * 300] * 300] * 300) is not None
    assert word([1] * MOST_ELEMENTS + ["a"]) == "List[int]"
    assert word([1] * (MOST_ELEMENTS - 1) + ["a"]) == "List[Union[int, str]]"


def test_the_type_of_starred_arguments() -> None:
    assert element_word((1, "a")) == "Union[int, str]"
    assert element_word(()) == "Never"


WORDS = r"Tensor|int|float|bool|str|complex|None|Never|Unknown|List|Dict|Tuple|Union"
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(),
    st.binary(),
    st.sampled_from([torch.ones(2), np.float32(3), Path("/home/user/secret"), Mode.A, Pair(4)]),
)
VALUES = st.recursive(
    LEAVES,
    lambda of: st.one_of(
        st.lists(of, max_size=4),
        st.lists(of, max_size=4).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers(), st.tuples(st.text())), of, max_size=4),
        st.dictionaries(st.text(), of, max_size=3).map(collections.OrderedDict),
    ),
    max_leaves=12,
)


@given(VALUES)
def test_only_words_of_types_are_said(value: Any) -> None:
    said = word(value)
    assert said is not None
    assert re.sub(rf"\b({WORDS})\b|[\[\], ().]", "", said) == ""
    assert spelled(read_type(said))


@given(VALUES)
def test_neither_how_many_nor_which_keys_is_said(value: Any) -> None:
    assert word([value, value]) == word([value])
    assert word({"a": value}) == word({"quite another key": value})
