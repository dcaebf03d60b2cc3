"""Library layers, abstract and generic classes, protocols, other metaclasses, names of torch's."""

from __future__ import annotations

import abc
import copy
import io
from typing import Generic, Protocol, TypeVar

import jit_runtime
import pytest
import torch
from jit_runtime import ScriptModule, constant, script_metaclass, script_method
from torch import Tensor, nn

X = torch.randn(3, 4)
T = TypeVar("T")


class Conv(nn.Conv2d, ScriptModule):
    pass


class Norm(nn.BatchNorm2d, ScriptModule):
    pass


class Chain(nn.Sequential, ScriptModule):
    pass


class Layers(nn.ModuleList, ScriptModule):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self:
            x = layer(x)
        return x


class Named(nn.ModuleDict, ScriptModule):
    def forward(self, x: Tensor) -> Tensor:
        for _, layer in self.items():
            x = layer(x)
        return x


class Attention(nn.MultiheadAttention, ScriptModule):
    pass


class Recurrent(nn.LSTM, ScriptModule):
    pass


class TestLibraryLayers:
    @pytest.mark.parametrize(
        ("make", "inputs"),
        [
            (lambda: Conv(3, 3, 3), (torch.randn(1, 3, 5, 5),)),
            (lambda: Norm(3), (torch.randn(1, 3, 5, 5),)),
            (lambda: Chain(nn.Linear(4, 4), nn.ReLU()), (X,)),
            (lambda: Layers([nn.Linear(4, 4)]), (X,)),
            (lambda: Named({"only": nn.Linear(4, 4)}), (X,)),
            (lambda: Attention(4, 2), (torch.randn(3, 1, 4),) * 3),
            (lambda: Recurrent(4, 2), (torch.randn(3, 1, 4),)),
        ],
        ids=lambda value: "" if callable(value) else "inputs",
    )
    def test_compute_the_same(self, make, inputs):
        layer = make().eval()
        expected, keys = layer(*inputs), list(layer.state_dict())
        jit_runtime.compile(layer)
        torch.testing.assert_close(layer(*inputs), expected)
        torch.testing.assert_close(copy.deepcopy(layer)(*inputs), expected)
        assert list(layer.state_dict()) == keys

    def test_containers_are_containers_still(self):
        chain = jit_runtime.compile(Chain(nn.Linear(4, 4), nn.ReLU()))
        assert len(chain) == 2 and len(list(chain)) == 2 and len(chain[:1]) == 1
        named = jit_runtime.compile(Named({"only": nn.ReLU()}))
        assert "only" in named and named["only"](X).min() >= 0


class TestKindsOfClasses:
    def test_abstract(self):
        class Abstract(ScriptModule, abc.ABC):
            @abc.abstractmethod
            def step(self, x): ...

            def forward(self, x):
                return self.step(x)

        class Concrete(Abstract):
            def step(self, x):
                return x + 1

        with pytest.raises(TypeError, match="abstract"):
            Abstract()
        assert torch.equal(jit_runtime.compile(Concrete())(X), X + 1)

    def test_generic(self):
        class Box(ScriptModule, Generic[T]):
            def forward(self, x):
                return x

        class Ints(Box[int]):
            pass

        assert torch.equal(jit_runtime.compile(Box[int]())(X), X)
        assert torch.equal(jit_runtime.compile(Ints())(X), X)
        assert isinstance(Ints(), Box) and not isinstance(nn.ReLU(), Ints)

    def test_protocol(self):
        class Encodes(Protocol):
            def encode(self, x: Tensor) -> Tensor: ...

        class Encoder(ScriptModule, Encodes):
            def encode(self, x: Tensor) -> Tensor:
                return x

            def forward(self, x: Tensor) -> Tensor:
                return self.encode(x)

        assert torch.equal(jit_runtime.compile(Encoder())(X), X)

    def test_init_subclass_with_arguments(self):
        class Registered(ScriptModule):
            tags: list[str] = []  # noqa: RUF012

            def __init_subclass__(cls, tag: str, **kwargs):
                super().__init_subclass__(**kwargs)
                cls.tags.append(tag)

        class One(Registered, tag="one"):
            def forward(self, x):
                return x

        assert One.tags == ["one"]
        jit_runtime.compile(One())

    def test_a_mixin_with_arguments_to_new(self):
        class Numbered:
            def __new__(cls, number: int):
                self = super().__new__(cls)
                self.__dict__["number"] = number
                return self

        class Both(ScriptModule, Numbered):
            def __init__(self, number: int) -> None:
                super().__init__()

            def forward(self, x):
                return x * self.number

        assert torch.equal(jit_runtime.compile(Both(2))(X), X * 2)

    def test_another_metaclass(self):
        class Meta(type):
            def __new__(mcs, name, bases, namespace, **kwargs):
                return type.__new__(mcs, name, bases, namespace)

            def __init__(cls, name, bases, namespace, flag=0):
                type.__init__(cls, name, bases, namespace)
                cls.flag = flag

            def __call__(cls, *args):
                made = super().__call__(*args)
                made.made_by = cls.__name__
                return made

        class Mixin(metaclass=Meta):
            pass

        class Both(Mixin, ScriptModule, metaclass=script_metaclass(Mixin), flag=3):
            def forward(self, x):
                return x

        assert script_metaclass(Mixin) is script_metaclass(Meta)
        assert Both.flag == 3 and Both().made_by == "Both"
        assert torch.equal(jit_runtime.compile(Both())(X), X)
        assert script_metaclass() is script_metaclass(abc.ABC) is type(ScriptModule)

    @pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:FutureWarning")
    def test_a_hand_written_legacy_script_method_is_an_entry_point(self):
        class Legacy(ScriptModule):
            @torch.jit.script_method
            def forward(self, x, scale: float = 2.0):
                return x * scale

            @torch.jit.script_method
            def encode(self, x):
                return x + (1 if torch.jit.is_scripting() else 0)

        assert torch.equal(jit_runtime.compile(Legacy()).encode(X), X + 1)

    def test_script_method_returns_the_function(self):
        def function(): ...

        assert script_method(function) is function


class TestNamesOfTorch:
    def test_methods_of_the_user_win(self):
        class Graphs(ScriptModule):
            def save(self, x):
                return x + 1

            def graph(self, x):
                return self.save(x)

            def code(self):
                return "mine"

            def define(self):
                return "mine"

            def forward(self, x):
                return self.graph(x)

        for graphs in (Graphs(), jit_runtime.compile(Graphs())):
            assert graphs.code() == graphs.define() == "mine"
            assert torch.equal(graphs(X), X + 1) and torch.equal(graphs.save(X), X + 1)
        assert "torch.add" in jit_runtime.code(graphs, "save")
        jit_runtime.save(graphs, io.BytesIO())

    def test_attributes_of_the_user_win(self):
        class Graphs(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                assert not hasattr(self, "graph")
                self.graph = nn.Linear(4, 4)
                self.register_buffer("code", torch.ones(4))
                self.save = nn.Parameter(torch.ones(4))
                self.original_name = "mine"

            def forward(self, x):
                return self.graph(x) * self.code + self.save

        graphs = Graphs()
        graphs.register_buffer("graph_for", torch.ones(1))  # after the constructor too
        expected = graphs(X)
        jit_runtime.compile(graphs)
        assert torch.allclose(graphs(X), expected)
        assert graphs.original_name == "mine" and graphs.code.shape == (4,)
        assert isinstance(graphs.save, nn.Parameter)

    def test_a_property_of_the_user_wins(self):
        class Graphs(ScriptModule):
            @property
            def graph(self) -> int:
                return 5

            def forward(self, x):
                return x * self.graph

        assert torch.equal(jit_runtime.compile(Graphs())(X), X * 5)

    def test_a_wrapper_that_passes_attributes_on(self):
        class Inner(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.save = "mine"

            def forward(self, x):
                return x

        class Wrapper(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.inner = Inner()

            def __getattr__(self, name):
                try:
                    return super().__getattr__(name)
                except AttributeError:
                    return getattr(self.inner, name)

            def forward(self, x):
                return self.inner(x)

        wrapper = Wrapper()
        assert wrapper.save == "mine"
        assert jit_runtime.compile(wrapper).save == "mine" and torch.equal(wrapper(X), X)


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = 2

    def forward(self, x: Tensor) -> Tensor:
        return x * self.heads


class Base(ScriptModule):
    __constants__ = ["power"]  # noqa: RUF012
    expansion = 4
    width: jit_runtime.Final[int]
    depth: jit_runtime.Final = 3

    def __init__(self) -> None:
        super().__init__()
        self.power = 1
        self.width = 2
        self.mode = "linear"


class Derived(Base):
    __constants__ = ["expansion"]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.plain = Plain()

    @constant
    def _is_linear(self) -> bool:
        return self.mode == "linear" and self.plain.heads > 1 and isinstance(self.plain, Plain)

    @constant
    def _missing(self) -> bool:
        return self.nowhere

    def forward(self, x: Tensor) -> Tensor:
        if self._is_linear:
            return self.plain(x) * self.power * self.expansion * self.width * self.depth
        return self.does_not_exist(x)


class TestConstants:
    def test_all_bases_and_spellings_count(self):
        derived = Derived()
        expected = derived(X)
        jit_runtime.compile(derived)
        assert torch.equal(derived(X), expected)
        constants = derived._concrete_type.get_constants()
        assert set(constants) == {"power", "expansion", "width", "depth", "_is_linear"}

    @pytest.mark.parametrize("duplicate", [lambda m: m, copy.deepcopy])
    def test_what_a_constant_read_may_not_be_assigned_to(self, duplicate):
        derived = duplicate(jit_runtime.compile(Derived()))
        assert derived._is_linear is True
        with pytest.raises(
            AttributeError, match=r"'mode'.*Derived._is_linear was computed from it"
        ):
            derived.mode = "cubic"
        with pytest.raises(AttributeError, match=r"'heads'.*Derived._is_linear was computed"):
            derived.plain.heads = 3
        with pytest.raises(AttributeError, match=r"'power'.*it is a constant"):
            derived.power = 2

    def test_until_then_it_is_evaluated_at_each_read(self):
        derived = Derived()
        derived.mode = "cubic"
        assert derived._is_linear is False

    def test_one_that_cannot_be_evaluated_matters_only_where_it_is_read(self):
        class Reads(Derived):
            def forward(self, x: Tensor) -> Tensor:
                if self._missing:
                    return x
                return x + 1

        jit_runtime.compile(Derived())
        with pytest.raises(RuntimeError, match=r"@constant Reads._missing .*nowhere"):
            jit_runtime.compile(Reads())
