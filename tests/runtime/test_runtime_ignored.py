"""What compiled code leaves to Python: `@ignore`, `drop_on_export`, `@unused`."""

from __future__ import annotations

import copy
import io
from typing import Tuple  # noqa: UP035

import jit_runtime
import pytest
import torch
from jit_runtime import SaveError, ScriptModule, ignore, unused
from torch import Tensor, nn

pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
]

X = torch.randn(3, 4)


def saved_by_runtime(module, file):
    jit_runtime.save(module, file)


def saved_by_method(module, file):
    module.save(str(file))


def saved_by_torch(module, file):
    torch.jit.save(module, str(file))


def saved_by_buffer(module, file):
    file.write_bytes(module.save_to_buffer())


def saved_by_torch_to_a_file_object(module, file):
    with file.open("wb") as stream:
        torch.jit.save(module, stream)


WAYS = [
    saved_by_runtime,
    saved_by_method,
    saved_by_torch,
    saved_by_buffer,
    saved_by_torch_to_a_file_object,
]


class Debugged(ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.calls = []

    @ignore
    def some_debugging_function(self, x) -> None:
        self.calls.append(x.shape)

    def helper(self, x):
        if bool(x.sum() > 0):
            self.some_debugging_function(x)
        return x

    def forward(self, x):
        self.some_debugging_function(x)
        return self.helper(x)


@ignore
def python_only(x: Tensor) -> Tensor:
    return x + 1


def calls_python(x: Tensor) -> Tensor:
    return python_only(x)


class Holder:
    def __init__(self, x: Tensor) -> None:
        self.x = x

    def total(self) -> Tensor:
        return python_only(self.x)

    @ignore
    def only_for_python(self):
        return [*"ab"]


class CallsClass(ScriptModule):
    def forward(self, x):
        return Holder(x).total()


class CallsFunction(ScriptModule):
    def forward(self, x):
        return calls_python(x)


class TestIgnored:
    @pytest.mark.parametrize("save", WAYS)
    def test_save_names_the_method_and_each_place(self, save, tmp_path):
        debugged = jit_runtime.compile(Debugged())
        with pytest.raises(SaveError, match=r"Debugged.some_debugging_function") as failure:
            save(debugged, tmp_path / "out.pt")
        line = Debugged.helper.__code__.co_firstlineno
        assert f"{__file__}:{line + 2}" in str(failure.value)
        assert f"{__file__}:{line + 6}" in str(failure.value)
        debugged(torch.ones(3, 4))
        assert debugged.calls == [(3, 4), (3, 4)]

    def test_a_child_and_a_function_are_named_too(self):
        for module in (nn.Sequential(Debugged()), Nested(Debugged())):
            with pytest.raises(SaveError, match=r"Debugged.some_debugging_function"):
                jit_runtime.save(module, io.BytesIO())
        for module in (CallsFunction(), CallsClass()):
            with pytest.raises(SaveError, match=r"python_only is left to Python.*calls it at"):
                jit_runtime.save(module, io.BytesIO())

    def test_what_is_not_reached_does_not_matter(self):
        class Unreached(Debugged):
            def forward(self, x):
                return x

        jit_runtime.save(Unreached(), io.BytesIO())

    def test_it_may_use_all_of_python(self):
        class Base(ScriptModule):
            @ignore
            def describe(self, x: Tensor) -> Tensor:
                return x + 1

        class Derived(Base):
            def __init__(self) -> None:
                super().__init__()
                self.tool = object()

            @ignore
            def describe(self, x: Tensor) -> Tensor:
                assert isinstance(self, Derived) and self.tool is not None
                return super().describe(x) + self.offset(*[1], more=1)

            def offset(self, *numbers, **named):
                return sum(numbers) + sum(named.values())

            def forward(self, x):
                return self.describe(x)

        assert torch.allclose(jit_runtime.compile(Derived())(X), X + 3)


class Nested(ScriptModule):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


class Dropped(ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.seen = 0

    @ignore(drop_on_export=True)
    def training_only_code(self, x: Tensor) -> Tensor:
        self.seen += 1
        return x * 2

    @ignore(drop_on_export=True)
    def statistics(self, x: Tensor) -> Tuple[Tensor, int]:  # noqa: UP006
        return x + len([*x]), 1

    @ignore(drop_on_export=True)
    def log(self, x) -> None:
        self.seen += 1

    def forward(self, x):
        if self.training:
            for _ in range(2):
                x = self.training_only_code(x)
            x, _ = self.statistics(x)
            self.log(x)
        return x * self.weight


class TestDroppedOnExport:
    @pytest.mark.parametrize("save", WAYS)
    @pytest.mark.parametrize("called", [False, True])
    def test_python_until_save_and_an_error_in_the_file(self, save, called, tmp_path):
        dropped = jit_runtime.compile(Dropped())
        expected = X * 4 + 3
        if called:
            assert torch.equal(dropped(X), expected)
        save(dropped, tmp_path / "out.pt")
        save(dropped, tmp_path / "again.pt")
        assert dropped.train()(X).equal(expected) and dropped.seen > 0
        for file in ("out.pt", "again.pt"):
            loaded = jit_runtime.load_module(tmp_path / file)
            assert torch.equal(loaded.eval()(X), X)
            with pytest.raises(torch.jit.Error, match=r"training_only_code was dropped when"):
                loaded.train()(X)

    def test_so_it_is_in_children(self, tmp_path):
        nested = jit_runtime.compile(Nested(Dropped()))
        for number, module in enumerate((nested, nested.inner)):
            module.save(str(tmp_path / f"{number}.pt"))
            assert torch.equal(jit_runtime.load_module(tmp_path / f"{number}.pt").eval()(X), X)
        assert torch.equal(nested(X), X * 4 + 3)

    def test_so_it_is_in_containers(self, tmp_path):
        nested = jit_runtime.compile(Nested(nn.Sequential(Dropped())))
        for number, container in enumerate((nested.inner, copy.deepcopy(nested).inner)):
            saved_by_method(container, tmp_path / f"{number}.pt")
            assert torch.equal(jit_runtime.load_module(tmp_path / f"{number}.pt").eval()(X), X)
        assert torch.equal(nested(X), X * 4 + 3)

    def test_it_may_stand_beside_one_that_is_not(self):
        class Both(Dropped, Debugged):
            def forward(self, x):
                self.log(x)
                self.some_debugging_function(x)
                return x

        both = jit_runtime.compile(Both())
        with pytest.raises(SaveError, match="some_debugging_function") as failure:
            jit_runtime.save(both, io.BytesIO())
        assert "log" not in str(failure.value)

    @pytest.mark.filterwarnings("ignore:ignore.drop_on_export:FutureWarning")
    def test_torchs_spelling_counts_as_the_proposal_meant_it(self):
        class Legacy(ScriptModule):
            @torch.jit.ignore(drop_on_export=True)
            def training_only_code(self, x):
                return x + len([*x])

            def forward(self, x):
                if self.training:
                    x = self.training_only_code(x)
                return x

        legacy = jit_runtime.compile(Legacy())
        assert torch.equal(legacy(X), X + 3)
        buffer = io.BytesIO()
        jit_runtime.save(legacy, buffer)
        buffer.seek(0)
        assert torch.equal(jit_runtime.load_module(buffer).eval()(X), X)


class TestUnused:
    def test_raises_in_memory_and_in_the_file(self):
        class Guarded(ScriptModule):
            @unused
            def memory_efficient(self, x: Tensor) -> Tensor:
                return x

            def forward(self, x):
                if self.training:
                    return self.memory_efficient(x)
                return x + 1

        assert torch.equal(Guarded()(X), X)
        guarded = jit_runtime.compile(Guarded())
        buffer = io.BytesIO()
        jit_runtime.save(guarded, buffer)
        buffer.seek(0)
        for module in (guarded, jit_runtime.load_module(buffer)):
            assert torch.equal(module.eval()(X), X + 1)
            with pytest.raises(torch.jit.Error, match="cannot be run"):
                module.train()(X)
        assert torch.equal(guarded.memory_efficient(X), X)  # in Python it is as it was
