"""What TorchScript computes as Python does, and what it does not, which is refused."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035

import jit_runtime
import pytest
import torch
from jit_runtime import CompilationError, ScriptModule
from torch import Tensor


def as_module(function: Any) -> ScriptModule:
    """A module of a class of its own, which holds the function."""

    class Holder(ScriptModule):
        forward = function

    return Holder()


def integer_division(self, a: int, b: int):
    return a // b, a % b, a / b, divmod(a, b)


def float_division(self, a: float, b: float):
    return a // b, a % b, a / b


def conversions(self, a: float, text: str):
    rounded = int(round(a)), math.floor(a), math.ceil(a)  # noqa: RUF046  a float in TorchScript
    return int(a), int(text), float(text), bool(a), rounded


def powers(self, a: int, b: float):
    return int(a**3), a**2 > 5, a**b, b**a, math.sqrt(a**2)


def slices(self, a: List[int], text: str):  # noqa: UP006
    return a[::2], a[::-1], a[4:0:-2], a[-1], a[-10:2], text[::-1], text[1:-1]


def ranges(self, start: int, stop: int, step: int):
    return [i for i in range(start, stop, step)]  # noqa: C416


def sequences(self, a: List[int], b: List[str]):  # noqa: UP006
    pairs = [(i, x) for i, x in enumerate(a, 2)]
    zipped = list(zip(a, b))  # noqa: B905
    return pairs, zipped, sorted(a), sum(a), max(a), min(a), a * 2, a == [3, 1, 2]


def sorting_is_stable(self, a: List[Tuple[int, int]]):  # noqa: UP006
    a.sort(reverse=True)
    return a, sorted(a)


def dictionaries(self, a: Dict[str, int]):  # noqa: UP006
    a["new"] = 1
    a["old"] = a.pop("old") + a.get("none", 3)
    return list(a.keys()), list(a.values()), list(a.items()), "new" in a


def aliases(self, a: List[int]):  # noqa: UP006
    b = a
    pair = (a, b)
    pair[1].append(9)
    a += [8]
    return a, b, pair, len(pair[0])


def strings(self, a: str):
    stripped = a.strip().upper().replace("B", "xx")
    formatted = "%d%%" % 3, f"{3} {a}"  # noqa: UP031
    return a.split(), a.split(","), a.find("b"), ",".join([stripped, a]), formatted


def chain(self, x: Tensor, sizes: List[int]):  # noqa: UP006
    return 0 < x.size(0) <= len(sizes), 0 < sizes[0] < x.dim()


def conditions(self, a: int, b: int, c: int):
    flag = a and b
    if flag or not c:
        return a < b < c, bool(a) or bool(b), 1 if a == 1 or b == 1 else 2
    return a is None, b in [1, 2], 1 if c else 2


def loops(self, x: Tensor, n: int):
    going = n > 0
    while going and x.sum() < 3:
        x = x + 1
        if x.sum() > 2 and n:
            going = False
    while n and x.any():
        n -= 1
    assert x.dim() == 1 and len(x), "empty"
    return x, n, x / 2**2


def step(log: List[int], value: int) -> int:  # noqa: UP006
    log.append(value)
    return value


def effects_of_conditions(self, a: int):
    log: List[int] = []  # noqa: UP006
    short = step(log, 0) > 1 and step(log, 100) > 1
    chosen = step(log, a) if step(log, a + 1) > 1 else step(log, a + 2)
    return log, short, chosen


def messages(self, a: float):
    if a > 1e9:
        raise ValueError(f"{a} is too large: " + str(a))
    assert a < 1e8, f"{a}"
    print("seen", a, str(a))
    return a


def views(self, x: Tensor):
    x = x.clone()
    row = x[0]
    row += 1
    x[:, 1] *= 2
    return x, row, x[::2], x[-1]


def new_tensors(self, a: int, b: float):
    made = torch.tensor([a, 2]), torch.tensor([b]), torch.tensor(True), torch.tensor([[a]])
    return made, torch.arange(a), torch.arange(b), torch.full((2,), a), torch.zeros(2)


def default_dtype(self, b: float):
    return torch.tensor([b]), torch.ones(2), torch.full((1,), b)


def integer_tensors(self, x: Tensor, a: int):
    return x // a, x % a, x / a, x**2, 2**x, 5 % x, x * 1.5


def no_grad(self, x: Tensor):
    with torch.no_grad():
        y = x * 2
    return y.requires_grad, (x * 3).requires_grad


def scalars_of_tensors(self, x: Tensor):
    return float(x), int(x), bool(x), x.item(), (1 if x else 2)


def optional(self, a: Optional[int]):  # noqa: UP045
    return 0 if a is None else a + 1


NUMBERS = [(7, 2), (-7, 2), (7, -2), (-7, -2)]
AGREE = [
    *((integer_division, pair) for pair in NUMBERS),
    *((float_division, (a + 0.5, float(b))) for a, b in NUMBERS),
    (conversions, (2.5, "12")),
    (conversions, (-2.5, "-3")),
    (powers, (3, 0.5)),
    (slices, ([1, 2, 3, 4, 5], "abcdef")),
    *((ranges, steps) for steps in [(5, 0, -2), (0, 5, 2), (5, 0, 1), (0, 5, -1)]),
    (sequences, ([3, 1, 2], ["a", "b"])),
    (sequences, ([3], ["a", "b"])),
    (sorting_is_stable, ([(2, 1), (1, 2), (1, 1)],)),
    (dictionaries, ({"old": 1, "z": 2, "a": 3},)),
    (aliases, ([1],)),
    (strings, (" ab, c",)),
    *((conditions, numbers) for numbers in [(0, 1, 2), (1, 2, 3), (1, 0, 2), (3, 2, 0)]),
    (effects_of_conditions, (1,)),
    (messages, (0.1,)),
    (views, (torch.ones(3, 2),)),
    (new_tensors, (3, 2.5)),
    (default_dtype, (0.1,)),
    (integer_tensors, (torch.tensor([-7, 7]), 2)),
    (no_grad, (torch.ones(1, requires_grad=True),)),
    (scalars_of_tensors, (torch.tensor(-2.5),)),
    (loops, (torch.zeros(2), 3)),
    (chain, (torch.ones(2, 2), [1, 2])),
    (optional, (None,)),
    (optional, (1,)),
]


def typed(value: Any) -> Any:
    """The value with its types: 8 is not 8.0 here."""
    if isinstance(value, Tensor):
        return "Tensor", str(value.dtype), value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [typed(item) for item in value]
    return type(value).__name__, repr(value)


@pytest.mark.parametrize(("function", "inputs"), AGREE, ids=lambda v: getattr(v, "__name__", ""))
def test_agree(function, inputs):
    eager, compiled = as_module(function), jit_runtime.compile(as_module(function))
    expected = typed(eager(*copy.deepcopy(inputs)))
    for _ in range(3):
        assert typed(compiled(*copy.deepcopy(inputs))) == expected


def test_agree_under_another_default_dtype():
    compiled = jit_runtime.compile(as_module(default_dtype))
    torch.set_default_dtype(torch.float64)
    try:
        assert typed(compiled(0.1)) == typed(as_module(default_dtype)(0.1))
    finally:
        torch.set_default_dtype(torch.float32)


def test_both_raise_the_message():
    compiled = jit_runtime.compile(as_module(messages))
    with pytest.raises(ValueError, match="is too large"):
        as_module(messages)(1e10)
    with pytest.raises(torch.jit.Error, match=r"ValueError: .*is too large"):
        compiled(1e10)


def rounded(self, x: Tensor, a: float):
    return x * round(a)


def power_of_ints(self, x: Tensor, a: int):
    return x * 2**a


def power_twice(self, a: int):
    return 2**a * 2**a


def mixed_minimum(self, a: int, b: float):
    return min(a, b)


def mixed_maximum(self, a: int, b: float):
    return max(b, a)


def float_as_key(self, a: float):
    return str(a)


def float_in_f_string(self, a: float):
    return f"layer{a}"


def tensor_in_f_string(self, x: Tensor):
    return f"{x}"


def strings_in_a_list(self, a: List[str]):  # noqa: UP006
    return "%s" % a  # noqa: UP031


def dtype_as_text(self, x: Tensor):
    return str(x.dtype) == "torch.float32"


def numbered_fields(self, a: int):
    return "{0}".format(a)  # noqa: UP030, UP032


def last_item(self, a: Dict[str, int]):  # noqa: UP006
    return a.popitem()


def value_of_or(self, a: int, b: int):
    return a or b


def value_of_and(self, a: int, b: int):
    c = a and b
    return c + 1


def value_of_or_of_lists(self, a: List[int], b: List[int]):  # noqa: UP006
    return a or b


def value_of_or_of_tensors(self, x: Tensor, y: Tensor):
    return x or y


def chained_values(self, a: int, b: int, c: int):
    return a or b or c


def chain_with_an_effect(self, a: int):
    log: List[int] = []  # noqa: UP006
    return 0 < step(log, a) < 5, log


def chain_of_random_numbers(self, a: float):
    return 0 < torch.rand(1).item() < a


def equal_expressions_under_no_grad(self, x: Tensor):
    with torch.no_grad():
        y = x * 2
    return x * 2 + y


def full_of_a_bool(self):
    return torch.full((2,), True)


REFUSED = [
    (full_of_a_bool, r"dtype=torch.bool"),
    (equal_expressions_under_no_grad, r"stands inside and outside"),
    (chain_with_an_effect, r"evaluates .step\(log, a\). twice"),
    (chain_of_random_numbers, r"evaluates .torch.rand\(1\).item\(\). twice"),
    (rounded, r"Write int\(round\(x\)\)"),
    (power_of_ints, r"Write int\(a \*\* b\)"),
    (power_twice, r"a power of ints is a float"),
    (mixed_minimum, r"Write float\(\) around the int"),
    (mixed_maximum, r"Write float\(\) around the int"),
    (float_as_key, r"str\(\): floats"),
    (float_in_f_string, r"in a formatted string"),
    (tensor_in_f_string, r"in a formatted string"),
    (strings_in_a_list, r"with `%`"),
    (dtype_as_text, r"str\(\): .* dtypes"),
    (numbered_fields, r"only `\{\}`"),
    (last_item, r"takes the first item"),
    (value_of_or, r"Write `a if a else b`"),
    (value_of_and, r"Write `a if a else b`"),
    (value_of_or_of_lists, r"Write `a if a else b`"),
    (value_of_or_of_tensors, r"Write `a if a else b`"),
    (chained_values, r"Write `a if a else b`"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED, ids=lambda v: getattr(v, "__name__", ""))
def test_refused(function, message):
    first = function.__code__.co_firstlineno
    with pytest.raises(CompilationError, match=message) as failure, warnings.catch_warnings():
        jit_runtime.compile(as_module(function))
    line = int(str(failure.value).removeprefix(f"{__file__}:").split(":")[0])
    assert first < line < first + 4


class Log(ScriptModule):
    def __init__(self, seen: List[int]) -> None:  # noqa: UP006
        super().__init__()
        self.seen = seen

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(len(x))
        return x


class TestSharedContainers:
    def test_that_compiled_code_changes_are_refused(self):
        class Shares(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.sizes = [1]
                self.log = Log(self.sizes)

            def forward(self, x: Tensor) -> Tensor:
                return self.log(x) + len(self.sizes)

        shares = Shares()
        with pytest.raises(CompilationError, match=r"Log.seen and Shares.sizes are the same list"):
            jit_runtime.compile(shares)
        assert torch.equal(shares(torch.ones(1)), torch.full((1,), 3.0))

    def test_that_nobody_changes_are_fine(self):
        class Reads(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.sizes = [1]
                self.same = self.sizes
                self.log = Log([2])

            def forward(self, x: Tensor) -> Tensor:
                return self.log(x) + self.sizes[0] + self.same[0]

        assert torch.equal(jit_runtime.compile(Reads())(torch.ones(1)), torch.full((1,), 3.0))

    def test_within_a_list_stay_shared(self):
        def nested(self, a: int):
            row = [a]
            rows = [row, row]
            rows[0].append(2)
            return rows, row

        assert jit_runtime.compile(as_module(nested))(1) == ([[1, 2], [1, 2]], [1, 2])
