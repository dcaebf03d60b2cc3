"""What classes, functions and modules may be made of, and still compile."""

from __future__ import annotations

import copy
import enum
import io
import typing
from dataclasses import dataclass
from typing import Dict, Generic, List, NamedTuple, TypeVar, overload  # noqa: UP035

import jit_runtime
import pytest
import torch
from jit_runtime import ScriptModule, export, ignore, script_method, unused
from runtime_modules import Leaf, is_compiled_output
from torch import Tensor, nn

X = torch.randn(3, 4)
T = TypeVar("T")


def saved_and_loaded(module: nn.Module) -> torch.jit.ScriptModule:
    buffer = io.BytesIO()
    jit_runtime.save(module, buffer)
    buffer.seek(0)
    return jit_runtime.load_module(buffer)


def assert_same(module: nn.Module, *inputs: object) -> torch.jit.ScriptModule:
    """Eager, compiled, and loaded from a file give the same; return the last."""
    expected = module(*copy.deepcopy(inputs))
    compiled = jit_runtime.compile(module)
    loaded = saved_and_loaded(compiled)
    for runs in (compiled, loaded):
        torch.testing.assert_close(runs(*copy.deepcopy(inputs)), expected)
    return loaded


class Wrapper(ScriptModule):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x) + 1


class TestSubmodules:
    @pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning")
    @pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
    @pytest.mark.parametrize(
        "made",
        [torch.jit.script, lambda m: torch.jit.trace(m, X), lambda m: saved_and_loaded(m)],
        ids=["scripted", "traced", "loaded"],
    )
    def test_compiled_ones_are_kept_as_they_are(self, made):
        inner = made(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
        wrapper = Wrapper(inner)
        assert_same(wrapper, X)
        assert wrapper.inner is inner
        assert_same(Wrapper(nn.ModuleList([inner]) and nn.Sequential(inner)), X)

    def test_lists_dicts_sequences_and_none(self):
        class Held(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.list = nn.ModuleList([Leaf(), nn.ReLU()])
                self.dict = nn.ModuleDict({"one": Leaf(), "two": nn.Tanh()})
                self.sequence = nn.Sequential(nn.Sequential(nn.Linear(4, 4)), nn.ReLU())
                self.nothing = None

            def forward(self, x: Tensor) -> Tensor:
                for layer in self.list:
                    x = layer(x) % 7
                for _, layer in self.dict.items():
                    x = layer(x) % 7
                if self.nothing is not None:
                    x = self.nothing(x)
                return self.sequence(x)

        loaded = saved_and_loaded(Held())
        assert loaded(X).shape == X.shape

    def test_shared_by_two_parents_and_tied_weights(self):
        class Pair(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                shared = nn.BatchNorm1d(4)
                self.first, self.second = Wrapper(shared), Wrapper(shared)
                self.encode, self.decode = nn.Linear(4, 4), nn.Linear(4, 4)
                self.decode.weight = self.encode.weight

            def forward(self, x: Tensor) -> Tensor:
                return self.decode(self.encode(self.second(self.first(x))))

        compiled = jit_runtime.compile(Pair())
        for module in (compiled, copy.deepcopy(compiled), saved_and_loaded(compiled)):
            module.train()(X)
            first, second = module.first.inner, module.second.inner
            assert int(first.num_batches_tracked) == int(second.num_batches_tracked) == 2
            module.to(torch.float64)
            pointers = (module.encode.weight.data_ptr(), module.decode.weight.data_ptr())
            assert pointers[0] == pointers[1] and module.encode.weight.dtype == torch.float64
        assert compiled.first.inner is compiled.second.inner
        assert compiled.encode.weight is compiled.decode.weight


class TestConstructors:
    def test_inherited_and_both_spellings_of_super(self):
        class Old(ScriptModule):
            def __init__(self, scale: float) -> None:
                super(Old, self).__init__()
                self.scale = scale

            def forward(self, x: Tensor) -> Tensor:
                return x * self.scale

        class Inherits(Old):
            pass

        class New(Inherits):
            def __init__(self) -> None:
                super().__init__(3.0)

        assert_same(Inherits(2.0), X)
        assert_same(New(), X)

    def test_one_that_returns_early_or_raises(self):
        class Early(ScriptModule):
            def __init__(self, size: int) -> None:
                super().__init__()
                if size < 0:
                    raise ValueError("negative")
                self.bias = None
                if size == 0:
                    return
                self.bias = nn.Parameter(torch.ones(size))

            def forward(self, x: Tensor) -> Tensor:
                return x if self.bias is None else x + self.bias

        with pytest.raises(ValueError, match="negative"):
            Early(-1)
        assert_same(Early(0), X)
        assert_same(Early(4), X)

    def test_decorators_and_registries(self):
        registry = {}

        def register(cls: type) -> type:
            registry[cls.__name__] = cls
            return cls

        @register
        class Known(Leaf):
            pass

        assert is_compiled_output(jit_runtime.compile(registry["Known"]())(X))


class TestMethods:
    def test_entry_points_call_each_other_with_defaults(self):
        class Exports(ScriptModule):
            @torch.jit.export
            def first(self, x: Tensor, scale: float = 2.0) -> Tensor:
                return self.last(x) * scale

            def forward(self, x: Tensor) -> Tensor:
                return self.first(x) + self.last(x, 3)

            @torch.jit.export
            def last(self, x: Tensor, n: int = 1) -> Tensor:
                return x + n

        module = assert_same(Exports(), X)
        torch.testing.assert_close(module.first(X), (X + 1) * 2)

    def test_overloads_for_type_checkers(self):
        class Overloaded(ScriptModule):
            @overload
            def pick(self, x: Tensor) -> Tensor: ...

            @overload
            def pick(self, x: Tensor, index: int) -> Tensor: ...

            def pick(self, x: Tensor, index: int = 0) -> Tensor:
                return x[index]

            def forward(self, x: Tensor) -> Tensor:
                return self.pick(x) + self.pick(x, 1)

        assert_same(Overloaded(), X)

    def test_overloads_of_torch(self):
        class Dense(ScriptModule):
            @torch.jit._overload_method
            def forward(self, x: List[Tensor]) -> Tensor:  # noqa: UP006
                pass

            @torch.jit._overload_method
            def forward(self, x: Tensor) -> Tensor:  # noqa: F811
                pass

            def forward(self, x):  # noqa: F811
                xs = [x] if isinstance(x, Tensor) else x
                return torch.cat(xs, 1)

        class Uses(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.dense = Dense()

            def forward(self, x: Tensor) -> Tensor:
                return self.dense([x, x]) + self.dense(torch.cat([x, x], 1))

        assert_same(Uses(), X)

    def test_properties_that_are_declared_unused(self):
        class Named(ScriptModule):
            __jit_unused_properties__: typing.ClassVar = ["summary"]

            @property
            def summary(self):
                return [*"abc"]

            @property
            def doubled(self) -> int:
                return 2

            def forward(self, x: Tensor) -> Tensor:
                return x * self.doubled

        named = Named()
        assert_same(named, X)
        assert named.summary == ["a", "b", "c"]

    def test_call_getattr_and_extra_repr_of_the_class(self):
        class Own(ScriptModule):
            def __call__(self, x):
                return super().__call__(x) + 1

            def __getattr__(self, name):
                if name == "answer":
                    return 42
                return super().__getattr__(name)

            def extra_repr(self):
                return "my own"

            def forward(self, x: Tensor) -> Tensor:
                return x * 2

        own = jit_runtime.compile(Own())
        assert torch.equal(own(X), X * 2 + 1)
        assert own.answer == 42 and "my own" in repr(own)

    @pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:FutureWarning")
    def test_entry_points_in_all_spellings(self):
        class Legacy(ScriptModule):
            @export
            @script_method
            def first(self, x):
                return x + 1

            @script_method
            @export
            def second(self, x):
                return x + 2

            @torch.jit.export
            def third(self, x):
                return x + 3

            @torch.jit.script_method
            def fourth(self, x):
                return x + 4

            @script_method
            def forward(self, x):
                return x

        legacy = jit_runtime.compile(Legacy())
        names = {"first", "second", "third", "fourth", "forward"}
        assert set(legacy._c._method_names()) == names
        assert torch.equal(saved_and_loaded(legacy).fourth(X), X + 4)

    def test_define_is_refused_with_what_to_do(self):
        class Defines(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.define("def forward(self, x):\n    return x")

        with pytest.raises(AttributeError, match=r"'Defines' object .* under @export"):
            Defines()
        with pytest.raises(AttributeError, match="under @export"):
            jit_runtime.compile(Leaf()).define("def more(self, x):\n    return x")

    def test_generic(self):
        class Box(ScriptModule, Generic[T]):
            def forward(self, x: Tensor) -> Tensor:
                return x + 1

        assert_same(Box[int](), X)


def plain(x: Tensor) -> Tensor:
    return x + 1


@torch.jit.script
def scripted(x: Tensor) -> Tensor:
    return x + 0


@export
def exported(x: Tensor) -> Tensor:
    return x + 2


@ignore
def ignored(x: Tensor) -> Tensor:
    return x + len([*x])


@ignore(drop_on_export=True)
def dropped(x: Tensor) -> Tensor:
    return x + len([*x])


@unused
def unused_function(x: Tensor) -> Tensor:
    return x


@ignore
def called_by_nobody(*args, **kwargs):
    return lambda: (args, kwargs)


class TestFunctions:
    def test_of_each_kind(self):
        class Calls(ScriptModule):
            def forward(self, x: Tensor) -> Tensor:
                x = exported(scripted(plain(x)))
                if self.training:
                    x = dropped(x)
                if x.dim() > 5:
                    x = unused_function(x)
                return x

        loaded = assert_same(Calls().eval(), X)
        calls = jit_runtime.compile(Calls())
        assert torch.allclose(calls(X), X + 6)
        for module in (calls, loaded.eval()):
            with pytest.raises(torch.jit.Error, match="cannot be run"):
                module(torch.ones(1, 1, 1, 1, 1, 1))
        with pytest.raises(torch.jit.Error, match="dropped when this model was saved"):
            loaded.train()(X)

    def test_an_ignored_one_runs_in_python(self):
        class Calls(ScriptModule):
            def forward(self, x: Tensor) -> Tensor:
                return ignored(x)

        assert torch.allclose(jit_runtime.compile(Calls())(X), X + 3)


class Point(NamedTuple):
    x: Tensor
    scale: float


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@torch.jit.script
@dataclass
class Settings:
    scale: float
    shift: int = 1


class Counter:
    def __init__(self, start: int) -> None:
        self.count = start

    def add(self, n: int) -> int:
        self.count += n
        return self.count


class TestClasses:
    def test_of_the_user_are_script_classes(self):
        class Uses(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.color = Color.BLUE

            def forward(self, x: Tensor) -> Tensor:
                counter = Counter(1)
                counter.add(2)
                point = Point(x, 2.0)
                settings = Settings(0.5)
                if self.color == Color.BLUE:
                    x = x + counter.add(1)
                return x * point.scale * settings.scale + settings.shift

        assert_same(Uses(), X)

    def test_named_tuples_in_and_out(self):
        class Moves(ScriptModule):
            def forward(self, point: Point, table: Dict[str, Tensor]) -> Point:  # noqa: UP006
                return Point(point.x + table["by"], point.scale * 2)

        eager = Moves()(Point(X, 1.0), {"by": X})
        compiled = jit_runtime.compile(Moves())(Point(X, 1.0), {"by": X})
        assert torch.equal(compiled.x, eager.x) and compiled.scale == eager.scale == 2.0
