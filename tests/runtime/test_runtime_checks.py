"""What TorchScript compiles in silence to something else is refused, with file and line."""

from __future__ import annotations

import enum
import io
from typing import Optional

import jit_runtime
import pytest
import torch
from jit_runtime import CompilationError, ScriptModule, export, ignore
from torch import Tensor, nn
from torch.nn.utils import prune

X = torch.randn(3, 4)
HERE = rf"{__file__}:\d+: "


class Mode(enum.Enum):
    SUM = 1
    MEAN = 2


def reduced(x: Tensor, mode: Mode) -> Tensor:
    if mode is not Mode.SUM:
        return x.mean()
    return x.sum()


def added(x, y=None):
    if y is not None:
        return x + y
    return x


@torch.no_grad()
def detached(x: Tensor) -> Tensor:
    return x * 2


class EnumInMethod(ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.mode = Mode.SUM

    def forward(self, x: Tensor) -> Tensor:
        if self.mode is Mode.SUM:
            return x.sum()
        return x.mean()


class EnumInFunction(ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.mode = Mode.SUM

    def forward(self, x: Tensor) -> Tensor:
        return reduced(x, self.mode)


class StringByIdentity(ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.mode, self.other = "sum", "sum"

    def forward(self, x: Tensor) -> Tensor:
        return x if self.mode is self.other else x + 1


class Chooser:
    def __init__(self, mode: Mode) -> None:
        self.mode = mode

    def is_sum(self) -> bool:
        return self.mode is Mode.SUM


class EnumInClass(ScriptModule):
    def forward(self, x: Tensor) -> Tensor:
        return x if Chooser(Mode.SUM).is_sum() else x + 1


class NoneInMethod(ScriptModule):
    def forward(self, x, y=None):
        if y is not None:
            return x
        return x + 1


class NoneInFunction(ScriptModule):
    def forward(self, x):
        return added(x)


class WrappedForward(ScriptModule):
    @torch.no_grad()
    def forward(self, x):
        return x


class WrappedHelper(ScriptModule):
    def forward(self, x):
        return self.helper(x)

    @torch.no_grad()
    def helper(self, x):
        return x


class WrappedFunction(ScriptModule):
    def forward(self, x):
        return detached(x)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (EnumInMethod, HERE + "members of an Enum.*Write `==`"),
        (EnumInFunction, HERE + "members of an Enum.*Write `!=`"),
        (EnumInClass, HERE + "members of an Enum.*Write `==`"),
        (StringByIdentity, HERE + ".*or strings, are compared by identity"),
        (NoneInMethod, HERE + r"parameter 'y' of NoneInMethod.forward.*y: Optional\[Tensor\]"),
        (NoneInFunction, HERE + "parameter 'y' of added defaults to None"),
        (WrappedForward, HERE + r"WrappedForward.forward is wrapped by @torch.no_grad\(\)"),
        (WrappedHelper, HERE + r"WrappedHelper.helper is wrapped by @torch.no_grad\(\)"),
        (WrappedFunction, HERE + r"detached is wrapped by @torch.no_grad\(\)"),
    ],
)
def test_refused_at_each_try(module, message):
    made = module()
    for _ in range(2):  # TorchScript caches what it compiled
        with pytest.raises(CompilationError, match=message):
            jit_runtime.compile(made)
        made(X)


def test_markers_and_optional_parameters_pass():
    class Fine(ScriptModule):
        @export
        def forward(self, x: Tensor, y: Optional[Tensor] = None) -> Tensor:  # noqa: UP045
            if y is not None:
                x = x + y
            return nn.functional.max_pool2d(x[None, None], 1)[0, 0]

    assert torch.equal(jit_runtime.compile(Fine())(X), X)


def test_backward_hooks_of_a_module():
    linear = nn.Sequential(nn.Linear(4, 4))
    linear[0].register_full_backward_hook(lambda module, before, after: None)
    with pytest.raises(CompilationError, match="Linear has backward hooks"):
        jit_runtime.compile(linear)


def test_forward_hooks_that_are_objects():
    model = nn.Sequential(nn.Linear(4, 4))
    prune.l1_unstructured(model[0], "weight", 0.5)
    x = torch.randn(2, 4)
    with pytest.raises(
        CompilationError, match=r"Linear has a forward hook, L1Unstr.*prune\.remove"
    ):
        jit_runtime.compile(model, x, optimize="inference")
    prune.remove(model[0], "weight")
    assert torch.equal(jit_runtime.compile(model, x, optimize="inference")(x), model(x))


class Debugged(ScriptModule):
    @ignore
    def inspect(self, x: Tensor) -> Tensor:
        return x

    def forward(self, x: Tensor) -> Tensor:
        return self.inspect(x)


class TestFiles:
    def test_save_and_load(self, tmp_path, recwarn):
        model = EqualEnum().eval()
        expected = model(X)
        buffer = io.BytesIO()
        jit_runtime.save(model, buffer)
        jit_runtime.save(model, tmp_path / "model.pt", _extra_files={"note": b"hello"})
        buffer.seek(0)
        extra = {"note": ""}
        loaded = jit_runtime.load_module(
            tmp_path / "model.pt", map_location="cpu", _extra_files=extra
        )
        assert extra["note"] == b"hello"
        for module in (loaded, jit_runtime.load_module(buffer)):
            assert torch.equal(module(X), expected)
        assert not [warning for warning in recwarn if "torch.jit" in str(warning.message)]

    def test_an_ignored_method_that_is_reached_makes_save_fail(self):
        with pytest.raises(RuntimeError, match="inspect"):
            jit_runtime.save(Debugged(), io.BytesIO())

    def test_code_and_graph(self):
        model = EqualEnum()
        assert "def forward" in jit_runtime.code(model)
        assert list(jit_runtime.graph(model).nodes())
        with pytest.raises(AttributeError, match="no compiled method 'other'; it has: forward"):
            jit_runtime.code(model, "other")


class EqualEnum(ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.mode = Mode.SUM
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if self.mode == Mode.SUM:
            return helper(self.lin(x)).sum()
        return x.mean()


def helper(x: Tensor) -> Tensor:
    return x * 2
