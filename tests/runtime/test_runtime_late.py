"""A method that compilation left out is compiled when it is first called."""

from __future__ import annotations

import copy
import gc
import inspect
import weakref

import jit_runtime
import pytest
import torch
from jit_runtime import CompilationError, ScriptModule, export, ignore
from runtime_modules import is_compiled_output
from torch import Tensor, nn

X = torch.randn(3, 4)


def marked(x: Tensor) -> Tensor:
    if torch.jit.is_scripting():
        return x + 1000.0
    return x


class Submodule(ScriptModule):
    def forward(self, x):
        return x + 2

    def rarely(self, x):
        return marked(x)

    def broken(self, x):
        return x.no_such_method()


class MyModule(ScriptModule):
    """The proposal's, whose entry point is not exported here."""

    def __init__(self):
        super().__init__()
        self.submodule = Submodule()
        self.scale = 2.0
        self.notes = []

    @export
    def an_explicit_entry_point(self, x):
        return self.forward(x + 20)

    def a_called_model_entry_point(self, x, shift: float = 20.0):
        return self.needed(self.submodule.rarely(self.forward(x + shift)))

    def needed(self, x):
        return x * self.scale

    def unsupported(self, x):
        return [*self.notes, x]

    def fails_in_a_child(self, x):
        return self.needed(self.submodule.broken(x))

    def compares(self, kind: str, other: str):
        return kind is other

    def summary(self):
        return f"{len(self.notes)} notes"

    def train(self, mode: bool = True):
        self.freeze()
        return super().train(mode)

    def freeze(self):
        for parameter in self.parameters():
            parameter.requires_grad_(False)
        self.notes.append("frozen")

    def extra_repr(self):
        return self.summary()

    def __len__(self):
        return len(self.summary())

    @property
    def summed_up(self):
        return self.summary()

    @staticmethod
    def twice(x):
        return x + x

    @classmethod
    def named(cls):
        return cls.__name__

    @ignore
    def debugging(self, x: Tensor) -> Tensor:
        self.notes.extend(map(self.note, ["seen"]))
        return x

    def note(self, text):
        return f"{text} by {type(self).__name__}"

    def forward(self, x):
        return self.debugging(x) + self.submodule(x)


class Saved(MyModule):
    def forward(self, x):
        return self.submodule(x)


def methods_of(module: nn.Module) -> set[str]:
    return set(module._c._method_names())


class TestOnTheFirstCall:
    def test_it_is_compiled_with_what_it_needs_and_saved_from_then_on(self, tmp_path):
        scripted = jit_runtime.compile(Saved())
        scripted.save(str(tmp_path / "out.pt"))
        assert methods_of(jit_runtime.load_module(tmp_path / "out.pt")) == {
            "forward",
            "an_explicit_entry_point",
        }

        assert is_compiled_output(scripted.a_called_model_entry_point(X))

        scripted.save(str(tmp_path / "out.pt"))
        loaded = jit_runtime.load_module(tmp_path / "out.pt")
        assert methods_of(loaded) >= {"a_called_model_entry_point", "needed"}
        assert methods_of(loaded.submodule) == {"forward", "rarely"}
        expected = scripted.a_called_model_entry_point(X)
        assert torch.equal(loaded.a_called_model_entry_point(X), expected)

    def test_defaults_and_keywords_hold(self):
        scripted = jit_runtime.compile(Saved())
        by_keyword = scripted.a_called_model_entry_point(x=X, shift=0.0)
        assert torch.allclose(scripted.a_called_model_entry_point(X), by_keyword + 40, atol=1e-3)

    def test_it_is_there_for_all_of_the_type(self):
        first, second = jit_runtime.compile(Saved()), jit_runtime.compile(Saved())
        copied = copy.deepcopy(first)
        first.a_called_model_entry_point(X)
        for module in (second, copied, jit_runtime.compile(Saved())):
            assert "a_called_model_entry_point" in methods_of(module)
            assert is_compiled_output(module.a_called_model_entry_point(X))

    def test_so_it_is_in_children(self):
        scripted = jit_runtime.compile(Saved())
        assert is_compiled_output(scripted.submodule.rarely(X))
        wrapped = jit_runtime.compile(nn.Sequential(Saved()))
        assert is_compiled_output(wrapped[0].a_called_model_entry_point(X))

    def test_the_last_word_is_a_subclasss(self):
        class Overridden(Saved):
            def needed(self, x):
                return x * 0

        assert not jit_runtime.compile(Overridden()).a_called_model_entry_point(X).any()


def test_reading_compiles_nothing():
    class Fresh(Saved):
        pass

    scripted = jit_runtime.compile(Fresh())
    before = methods_of(scripted)
    assert {"summary", "submodule"} <= set(dir(scripted))
    assert hasattr(scripted, "summary") and callable(scripted.summary)
    assert "shift" in inspect.signature(scripted.a_called_model_entry_point).parameters
    inspect.getmembers(scripted)
    assert "compiled when called" in repr(scripted.unsupported)
    assert scripted.needed.__name__ == "needed" and methods_of(scripted) == before


class TestWhatDoesNotCompile:
    @pytest.mark.parametrize("times", [1, 2])
    @pytest.mark.parametrize(
        ("method", "arguments", "message"),
        [
            ("unsupported", (X,), r"notes"),
            ("fails_in_a_child", (X,), r"no_such_method"),
            ("compares", ("a", "b"), r"strings, are compared by identity"),
        ],
    )
    def test_gives_the_error_with_file_and_line_each_time(
        self, method, arguments, message, times, tmp_path
    ):
        scripted = jit_runtime.compile(Saved())
        for _ in range(times):
            with pytest.raises(RuntimeError, match=message) as failure:
                getattr(scripted, method)(*arguments)
            assert __file__ in str(failure.value)
        assert torch.equal(scripted(X), X + 2)
        assert is_compiled_output(scripted.a_called_model_entry_point(X))
        scripted.save(str(tmp_path / "out.pt"))
        assert method not in methods_of(jit_runtime.load_module(tmp_path / "out.pt"))

    def test_is_refused_where_it_would_differ(self):
        with pytest.raises(CompilationError, match="compared by identity"):
            jit_runtime.compile(Saved()).compares("a", "b")


class TestWhatStaysPython:
    def test_is_what_nn_module_defines_and_what_that_calls(self):
        scripted = jit_runtime.compile(MyModule())
        scripted.eval()
        assert scripted.notes == ["frozen"] and "1 notes" in repr(scripted)
        assert len(scripted) == len("1 notes") and scripted.summed_up == "1 notes"
        assert "summary" not in methods_of(scripted)

    def test_is_what_is_no_method_of_the_instance(self):
        scripted = jit_runtime.compile(MyModule())
        assert scripted.named() == "MyModule" and scripted.twice(2) == 4

    def test_is_what_an_ignored_method_calls(self):
        scripted = jit_runtime.compile(MyModule())
        scripted(X)
        assert scripted.notes == ["seen by MyModule"]
        with pytest.raises(RuntimeError, match="note"):
            scripted.note("called from outside")

    def test_is_a_method_of_a_layer_of_torch(self):
        class Conv(nn.Conv2d, ScriptModule):
            pass

        conv = jit_runtime.compile(Conv(1, 1, 1))
        with torch.no_grad():
            conv.reset_parameters()


@pytest.mark.parametrize(
    ("base", "layers"),
    [(nn.ModuleList, [nn.ReLU(), nn.Tanh()]), (nn.ModuleDict, {"a": nn.ReLU(), "b": nn.Tanh()})],
)
def test_containers_know_their_length(base, layers):
    class Container(base, ScriptModule):
        def forward(self, x: Tensor) -> Tensor:
            return x

        def late(self, x: Tensor) -> Tensor:
            return x * len(self)

    assert torch.equal(jit_runtime.compile(Container(layers)).late(X), X * 2)


def test_a_function_that_takes_the_module_is_no_method():
    def evaluate(model, x):
        return model.a_called_model_entry_point(x)

    assert is_compiled_output(evaluate(jit_runtime.compile(Saved()), X))


def test_a_compiled_module_is_freed_without_the_garbage_collector():
    gc.disable()
    try:
        scripted = jit_runtime.compile(Submodule())
        gone = weakref.ref(scripted)
        del scripted
        assert gone() is None
    finally:
        gc.enable()


def test_a_method_outlives_its_module():
    rarely = jit_runtime.compile(Submodule()).rarely
    assert is_compiled_output(rarely(X))
