"""What `__constants__` may name, what `@constant` may read, and who shares compiled code."""

from __future__ import annotations

import enum
import io
import warnings
from typing import Any

import jit_runtime
import pytest
import torch
from jit_runtime import CompilationError, ScriptModule, constant
from torch import Tensor, nn

X = torch.arange(4.0)


class Kind(enum.Enum):
    SUM = 1
    MEAN = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@pytest.fixture(autouse=True)
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class Named(ScriptModule):
    __constants__ = ("value",)

    def __init__(self, value: Any = ...) -> None:
        super().__init__()
        if value is not ...:
            self.value = value


class TestNamesThatHoldNoConstant:
    def test_one_that_the_instance_lacks(self):
        class Lacks(Named):
            def forward(self, x: Tensor) -> Tensor:
                return self.value * x if hasattr(self, "value") else x

        assert torch.equal(jit_runtime.compile(Lacks())(X), X)
        assert torch.equal(jit_runtime.compile(Lacks(2))(X), X * 2)

    @pytest.mark.parametrize("make", [nn.Parameter, lambda tensor: tensor])
    def test_tensors(self, make):
        class Adds(Named):
            def forward(self, x: Tensor) -> Tensor:
                return x + self.value

        adds = jit_runtime.compile(Adds(make(torch.ones(1))))
        with torch.no_grad():
            adds.value += 1
        assert torch.equal(adds(X), X + 2)

    def test_modules_and_none(self):
        class Calls(Named):
            def forward(self, x: Tensor) -> Tensor:
                if self.value is not None:
                    x = self.value(x)
                return x

        for inner in (nn.Linear(4, 2), None):
            calls = Calls(inner)
            assert torch.equal(jit_runtime.compile(calls)(X), X if inner is None else inner(X))

    def test_dicts(self):
        class Looks(Named):
            def forward(self, x: Tensor) -> Tensor:
                return x * self.value["scale"]

        assert torch.equal(jit_runtime.compile(Looks({"scale": 3}))(X), X * 3)


class TestEnums:
    class Reduces(Named):
        def forward(self, x: Tensor) -> Tensor:
            if self.value == Kind.SUM:
                return x.sum()
            return x.mean()

    @pytest.mark.parametrize("kind", list(Kind))
    def test_members_compare(self, kind):
        reduces = self.Reduces(kind)
        expected = reduces(X)
        assert torch.equal(jit_runtime.compile(reduces)(X), expected)
        assert reduces.value is kind

    @pytest.mark.parametrize("constants", [(), ("value",)])
    def test_identity_with_what_is_a_number_to_torchscript_is_refused(self, constants):
        class Decides(Named):
            __constants__ = constants

            def forward(self, x: Tensor) -> Tensor:
                return x if self.value is Level.LOW else x + 1

        with pytest.raises(CompilationError, match=rf"{__file__}:\d+: `is` with Level.LOW"):
            jit_runtime.compile(Decides(Level.LOW))


class OfClass(ScriptModule):
    __constants__ = ("expansion", "names", "sizes", "table", "kind", "anchor")
    expansion = 4
    names = ("a", "b")
    sizes = [2, 3]  # noqa: RUF012
    table = {"scale": 2}  # noqa: RUF012
    kind = Kind.MEAN
    anchor = torch.ones(1)

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.expansion + len(self.names) + self.table["scale"] + self.anchor
        for size in self.sizes:
            y = y + size
        return y if self.kind == Kind.SUM else y / 2


class Derived(OfClass):
    expansion = 5


class TestClassAttributes:
    @pytest.mark.parametrize("cls", [OfClass, Derived])
    def test_are_read_of_every_instance(self, cls):
        module = cls()
        expected = module(X)
        assert torch.equal(jit_runtime.compile(module)(X), expected)
        assert module.table == {"scale": 2} and cls.table == {"scale": 2}
        with pytest.raises(AttributeError, match=r"'expansion'.*it is a constant"):
            module.expansion = 6

    def test_instances_have_their_own_once_compiled(self):
        first, second = jit_runtime.compile(OfClass()), jit_runtime.compile(OfClass())
        first.table = {"scale": 10}
        assert torch.equal(first(X), second(X) + 4)
        assert second.table == OfClass.table == {"scale": 2}

    def test_one_that_compiled_code_changes_is_refused(self):
        class Counts(ScriptModule):
            __constants__ = ("seen",)
            seen = {"calls": 0}  # noqa: RUF012

            def forward(self, x: Tensor) -> Tensor:
                self.seen["calls"] += 1
                return x

        with pytest.raises(CompilationError, match=r"Counts.seen and those of other instances"):
            jit_runtime.compile(Counts())


class Decides(ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 3))
        self.norm = nn.BatchNorm1d(2)
        self.bias = None

    def forward(self, x: Tensor) -> Tensor:
        return x + 1 if self.decided else x


def deciding(function: Any) -> Decides:
    return type("Decides", (Decides,), {"decided": constant(function)})()


class TestConstantsAndTensors:
    @pytest.mark.parametrize(
        "true",
        [
            lambda m: m.weight.shape[0] == 2 and m.weight.dim() == 2 and len(m.weight) == 2,
            lambda m: m.weight[0].size(0) == 3 and m.weight.detach().t().shape[1] == 2,
            lambda m: m.weight.dtype == torch.float32 and m.weight.device.type == "cpu",
            lambda m: m.weight is not None and m.bias is None,
            lambda m: m.norm.running_mean is not None and isinstance(m.weight, Tensor),
            lambda m: torch.linspace(0, 1, 3).tolist()[1] == 0.5,
        ],
    )
    def test_what_a_tensor_is_may_decide(self, true):
        assert torch.equal(jit_runtime.compile(deciding(true))(X), X + 1)

    @pytest.mark.parametrize(
        ("true", "how"),
        [
            (lambda m: m.weight.detach()[0, 0].item() == 1, "Tensor.item"),
            (lambda m: bool((m.norm.running_mean == 0).all()), "Tensor.__eq__"),
            (lambda m: int(m.norm.num_batches_tracked) == 0, "Tensor.__int__"),
            (lambda m: m.norm.running_mean.tolist() == [0, 0], "Tensor.tolist"),
            (lambda m: m.weight.nonzero().shape[0] == 6, "Tensor.nonzero"),
            (lambda m: torch.equal(m.weight, torch.ones(2, 3)), "torch.equal"),
            (lambda m: torch.zeros(3).copy_(m.weight.detach()[0]).tolist()[0] == 1, "Tensor.copy_"),
            (lambda m: 1.0 in m.weight, "Tensor.__contains__"),
        ],
    )
    def test_what_it_contains_may_not(self, true, how):
        module = deciding(true)
        message = rf"@constant Decides.decided .* depends on what a tensor contains, by .*{how}"
        with pytest.raises(CompilationError, match=message):
            jit_runtime.compile(module)
        assert torch.equal(module(X), X + 1)

    def test_unless_nobody_reads_the_constant(self):
        class Unread(Decides):
            @constant
            def decided(self) -> bool:
                return self.weight.sum().item() == 6

            def forward(self, x: Tensor) -> Tensor:
                if self.bias is None:
                    return x
                return x if self.decided else x + 1

        assert torch.equal(jit_runtime.compile(Unread())(X), X)

    @pytest.mark.parametrize("value", [torch.ones(1), {"a": 1}, Kind.SUM])
    def test_what_is_no_constant_of_torchscript_is_no_constant(self, value):
        with pytest.raises(
            CompilationError, match=r"Decides.decided .* no constant of TorchScript"
        ):
            jit_runtime.compile(deciding(lambda m: value))


def type_of(module: nn.Module) -> Any:
    return jit_runtime.compile(module)._c._type()


class Multiplies(Named):
    def forward(self, x: Tensor) -> Tensor:
        return x * self.value


class Chooses(ScriptModule):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode

    @constant
    def _is_linear(self) -> bool:
        return self.mode == "linear"

    def forward(self, x: Tensor) -> Tensor:
        return x if self._is_linear else x * x


class TestWhoSharesCode:
    def test_instances_whose_constants_agree(self):
        linear, same, cubic, other = map(Chooses, ("linear", "linear", "cubic", "other"))
        assert type_of(linear) == type_of(same) and type_of(cubic) == type_of(other)
        assert torch.equal(same(X), X) and torch.equal(other(X), X * X)

    def test_no_others(self):
        linear, cubic = Chooses("linear"), Chooses("cubic")
        assert type_of(linear) != type_of(cubic)
        for _ in range(3):
            assert torch.equal(linear(X), X) and torch.equal(cubic(X), X * X)

    @pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0.0, -0.0), (2, 3)])
    def test_no_others_also_where_python_calls_them_equal(self, one, other):
        modules = [Multiplies(value) for value in (one, other)]
        assert type_of(modules[0]) != type_of(modules[1])
        for module in modules:
            x = torch.ones(2, dtype=torch.int64)
            expected = x * module.value
            assert module(x).dtype == expected.dtype
            assert torch.equal(1 / module(x), 1 / expected)

    def test_a_saved_module_keeps_its_constants(self):
        buffer = io.BytesIO()
        jit_runtime.save(Multiplies(-0.0), buffer)
        buffer.seek(0)
        assert 1 / jit_runtime.load_module(buffer)(torch.ones(1)) == -float("inf")
