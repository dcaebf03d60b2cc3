"""NumPy's scalars and arrays kept as attributes compile as Python's numbers and lists."""

from __future__ import annotations

import copy
import sys
from typing import Any, Final, List, Tuple  # noqa: UP035

import jit_runtime
import pytest
import torch
from jit_runtime import Attribute, CompilationError, ScriptModule, constant
from torch import Tensor, nn

np = pytest.importorskip("numpy")

X = torch.arange(4.0)


class Holder(ScriptModule):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Scales(Holder):
    def forward(self, x: Tensor) -> Tensor:
        return x * self.value


class ScalesByFirst(Holder):
    def forward(self, x: Tensor) -> Tensor:
        return x * self.value[0] + len(self.value)


@pytest.mark.parametrize(
    ("cls", "value", "kind"),
    [
        (Scales, np.float64(0.5), float),
        (Scales, np.float32(0.5), float),
        (Scales, np.int64(2), int),
        (Scales, np.int32(2), int),
        (ScalesByFirst, [np.float64(0.5)], list),
        (ScalesByFirst, (np.float64(0.5), np.int64(2)), tuple),
        (ScalesByFirst, {0: np.int64(2)}, dict),
        (ScalesByFirst, np.array([1.5, 2.5]), list),
        (ScalesByFirst, np.array([3, 4]), list),
    ],
)
@pytest.mark.parametrize("constants", [(), ("value",)])
def test_values_compile_and_stay_as_they_are_until_then(cls, value, kind, constants):
    class Named(cls):
        __constants__ = constants

    named = Named(value)
    expected = named(X)
    assert named.value is value
    assert torch.equal(jit_runtime.compile(named)(X), expected)
    assert named(X).dtype == expected.dtype
    assert type(named.value) is kind


def test_what_a_numpy_bool_decides_is_pruned():
    class Decides(Holder):
        __constants__ = ("value",)

        @constant
        def _is_large(self):
            return np.float64(3) > 2

        def forward(self, x: Tensor) -> Tensor:
            if self.value:
                return x + 1
            if not self._is_large:
                return self.does_not_exist(x)
            return x

    for flag in (np.True_, np.False_):
        decides = Decides(flag)
        expected = decides(X)
        jit_runtime.compile(decides)
        assert torch.equal(decides(X), expected)
        assert decides._concrete_type.get_constants() == {"value": bool(flag), "_is_large": True}


def test_declared_types_take_them():
    class Declared(ScriptModule):
        scale: Final[float]
        sizes: List[float]  # noqa: UP006

        def __init__(self) -> None:
            super().__init__()
            self.scale = np.int64(2)
            self.sizes = np.array([1, 2])
            self.pair = Attribute((np.float32(2), np.int64(3)), Tuple[float, int])  # noqa: UP006
            self.empty = np.array([])
            self.name = np.str_("abc")

        def forward(self, x: Tensor) -> Tensor:
            x = x * self.scale * self.sizes[1] * self.pair[0] * self.pair[1] + len(self.name)
            return x + len(self.empty)

    declared = Declared()
    expected = declared(X)
    assert torch.equal(jit_runtime.compile(declared)(X), expected)
    assert declared.sizes == [1.0, 2.0] and declared.empty == []
    assert str(declared._concrete_type.get_attributes()["empty"][0]) == "List[float]"


def test_layers_of_torch_take_them():
    sizes = np.array([4, 2])
    layers = nn.Sequential(nn.Linear(sizes[0], sizes[1]), nn.LayerNorm(sizes[1], np.float64(0.1)))
    expected = layers(X)
    assert torch.equal(jit_runtime.compile(layers)(X), expected)
    assert type(layers[0].out_features) is np.int64


def test_nothing_needs_numpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert torch.equal(jit_runtime.compile(Scales(2))(X), X * 2)


def test_they_may_be_assigned_once_compiled():
    scales = jit_runtime.compile(Scales(np.int64(2)))
    scales.value = np.int64(3)
    assert torch.equal(scales(X), X * 3)


class TestWhatWouldMeanSomethingElse:
    """Each of these compiles without a word when the value is Python's."""

    @pytest.mark.parametrize("constants", [(), ("value",)])
    @pytest.mark.parametrize("value", [np.array([1.0, 2.0]), np.array([1, 2])])
    def test_arithmetic_of_an_array_is_refused(self, value, constants):
        class Doubles(Holder):
            __constants__ = constants

            def forward(self, x: Tensor) -> Tensor:
                twice = self.value * 2
                return x + twice[1]

        doubles = Doubles(value)
        with pytest.raises(CompilationError, match=rf"{__file__}:\d+: self.value is a NumPy array"):
            jit_runtime.compile(doubles)
        assert torch.equal(doubles(X), X + 2 * value[1])

    def test_also_where_a_function_does_it(self):
        class Calls(Holder):
            def forward(self, x: Tensor) -> Tensor:
                return x + len(joined(self.value))

        with pytest.raises(CompilationError, match=rf"{__file__}:\d+: self.value is a NumPy array"):
            jit_runtime.compile(Calls(np.array([1.0])))

    @pytest.mark.parametrize("made", [lambda m: m, jit_runtime.compile])
    def test_also_where_a_parent_reads_it(self, made):
        class Parent(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.child = made(Scales(np.float64(2)))

            def forward(self, x: Tensor) -> Tensor:
                return self.child(x) + torch.tensor(self.child.value)

        with pytest.raises(CompilationError, match=r"self.value is NumPy's, .* another dtype"):
            jit_runtime.compile(Parent())

    @pytest.mark.parametrize("duplicate", [lambda m: m, copy.deepcopy])
    def test_also_in_a_method_that_is_compiled_later(self, duplicate):
        class Later(ScalesByFirst):
            def doubled(self, x: Tensor) -> Tensor:
                return x + (self.value * 2)[1]

        later = duplicate(jit_runtime.compile(Later(np.array([1.0, 2.0]))))
        with pytest.raises(CompilationError, match=r"self.value is a NumPy array"):
            later.doubled(X)

    def test_the_truth_of_an_array_is_refused(self):
        class Tests(Holder):
            def forward(self, x: Tensor) -> Tensor:
                return x if self.value else x + 1

        with pytest.raises(CompilationError, match=r"self.value is a NumPy array"):
            jit_runtime.compile(Tests(np.array([0.0])))

    def test_returning_an_array_is_refused(self):
        class Returns(Holder):
            def forward(self):
                return self.value

        with pytest.raises(CompilationError, match=r"self.value is a NumPy array"):
            jit_runtime.compile(Returns(np.array([0.0])))

    @pytest.mark.parametrize("value", [np.float64(2), np.int32(2), np.array([2.0])])
    def test_a_tensor_of_another_dtype_is_refused(self, value):
        class Makes(Holder):
            def forward(self):
                return torch.tensor(self.value)

        class GivesDtype(Holder):
            def forward(self):
                return torch.tensor(self.value, dtype=torch.float32)

        with pytest.raises(CompilationError, match=r"self.value is NumPy's, .* another dtype"):
            jit_runtime.compile(Makes(value))
        assert torch.equal(jit_runtime.compile(GivesDtype(value))(), GivesDtype(value)())

    @pytest.mark.parametrize("constants", [(), ("value",)])
    def test_a_numpy_bool_is_a_float_to_tensors(self, constants):
        class Masks(Scales):
            __constants__ = constants

        x = torch.arange(3)
        assert Masks(np.True_)(x).dtype == torch.float32
        with pytest.raises(CompilationError, match=r"self.value is a NumPy bool"):
            jit_runtime.compile(Masks(np.True_))

    def test_a_numpy_int_is_no_int(self):
        class Asks(Holder):
            def forward(self, x: Tensor) -> Tensor:
                return x + 1 if isinstance(self.value, int) else x

        with pytest.raises(CompilationError, match=rf"{__file__}:\d+: .* of type int in compiled"):
            jit_runtime.compile(Asks(np.int64(1)))

    def test_a_constant_array_is_refused(self):
        class Computes(Holder):
            @constant
            def _sizes(self) -> Any:
                return self.value * 2

            def forward(self, x: Tensor) -> Tensor:
                return x + len(self._sizes + self._sizes)

        with pytest.raises(CompilationError, match=r"_sizes .* is a ndarray, which is no constant"):
            jit_runtime.compile(Computes(np.array([1])))

    @pytest.mark.parametrize("value", [np.uint8(200), np.float16(0.1), np.ones((2, 2))])
    def test_what_computes_otherwise_is_left_to_torch(self, value):
        with pytest.raises(RuntimeError, match=r"no attribute 'value'.*numpy"):
            jit_runtime.compile(Scales(value))


def joined(values: List[float]) -> List[float]:  # noqa: UP006
    return values + values
