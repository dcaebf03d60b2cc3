"""Modules whose constructors decide what their methods do: eager, twin and compiled twin agree."""

from __future__ import annotations

import linecache
import sys
from textwrap import indent
from types import ModuleType
from typing import Any

import jit_runtime
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from twins import classes, rewritten

HEAD = """\
from enum import Enum
import torch
from torch import nn

LIMIT = 2
try:
    import a_library_that_is_not_there
    HAS_LIBRARY = True
except ImportError:
    HAS_LIBRARY = False

class Kind(Enum):
    A = 1
    B = 2

class Config:
    def __init__(self, size, names):
        self.size = size
        self.names = names

class Net(nn.Module):
    depth = 3

    def __init__(self, mode, n, flag, items, opt, size):
        super().__init__()
        self.mode = mode
        self.n = n
        self.flag = flag
        self.items = items
        self.opt = opt
        self.kind = Kind.A if flag else Kind.B
        self.config = Config(size, items)
        if n > 1:
            self.maybe = n
        if opt:
            self.linear = nn.Linear(4, 4)

"""

DECIDED = [
    'self.mode == "a"',
    'self.mode != "b"',
    'self.mode in ("a", None)',
    'self.mode is not None and self.mode.startswith("b")',
    "isinstance(self.mode, str)",
    "self.n > 1",
    "self.n % 2 == 0",
    "self.n",
    "self.flag",
    "self.items",
    "len(self.items) > 1",
    '"a" in self.items',
    'any(item == "b" for item in self.items)',
    "self.opt is None",
    "self.opt",
    "self.kind is Kind.A",
    "self.kind == Kind.B",
    "self.config.size > 1",
    'self.config.names and self.config.names[0] == "a"',
    'hasattr(self, "maybe")',
    'hasattr(self, "maybe") and self.maybe > 2',
    'getattr(self, "maybe", 0) > 1',
    'hasattr(self, "linear") and self.linear.in_features == 4',
    "self.n > LIMIT",
    "HAS_LIBRARY",
    "self.depth > 2",
    "Net.depth == self.n",
    "mode == 'a'",
    "is_deep",
]
ASKED = ["x.dim() > 1", "x.size(0) > 2", "big"]
"""What is decided when the method is called."""


@st.composite
def conditions(draw: st.DrawFn, atoms: list[str], depth: int = 2) -> str:
    kind = draw(st.sampled_from(["atom", "not", "and", "or"] if depth else ["atom"]))
    if kind == "atom":
        return draw(st.sampled_from(atoms))
    if kind == "not":
        return f"not ({draw(conditions(atoms, depth - 1))})"
    parts = draw(st.lists(conditions(atoms, depth - 1), min_size=2, max_size=3))
    return f" {kind} ".join(f"({part})" if " " in part else part for part in parts)


@st.composite
def blocks(draw: st.DrawFn, depth: int = 2, missing: str = "self.missing(x)") -> str:
    """Statements; ``missing`` is what a branch may hold that the constructor rules out."""
    kind = draw(st.sampled_from(["step", "if", "if", "choice", "asked"] if depth else ["step"]))
    if kind == "step":
        return f"x = x * {draw(st.integers(2, 9))} + 1"
    if kind == "choice":
        return f"x = x + 1 if {draw(conditions(DECIDED))} else {missing}"
    if kind == "asked":
        test = draw(conditions([*DECIDED, *ASKED]))
        other = draw(blocks(depth - 1, "-x"))  # both branches are compiled
        return f"if {test}:\n    x = x + 1\nelse:\n{indent(other, '    ')}"
    body, orelse = draw(blocks(depth - 1, missing)), draw(blocks(depth - 1, missing))
    ends = draw(st.sampled_from(["", "\nreturn x", f"\nx = {missing}"]))
    test = draw(conditions(DECIDED))
    return f"if {test}:\n{indent(body + ends, '    ')}\nelse:\n{indent(orelse, '    ')}"


@st.composite
def sources(draw: st.DrawFn) -> str:
    body = "\n".join(draw(st.lists(blocks(), min_size=1, max_size=3)))
    lines = f"mode = self.mode\nis_deep = self.n > 1\nbig = x.size(0) > 1\n{body}\nreturn x"
    return f"{HEAD}    def forward(self, x):\n{indent(lines, ' ' * 8)}\n"


ARGUMENTS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["a", "b", "bc", None]),
        "n": st.integers(0, 4),
        "flag": st.booleans(),
        "items": st.lists(st.sampled_from(["a", "b"]), max_size=2),
        "opt": st.sampled_from([None, "yes", ""]),
        "size": st.integers(0, 2),
    }
)


def imported(text: str, name: str) -> ModuleType:
    """The source as a module, whose text TorchScript finds."""
    module = ModuleType(name)
    sys.modules[name] = module
    file = f"<{name}>"
    module.__file__ = file
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), vars(module))
    return module


def computed(module: Any, x: torch.Tensor) -> torch.Tensor | None:
    """What a module computes; None when Python cannot."""
    try:
        result: torch.Tensor = module(x)
    except (AttributeError, TypeError):
        return None
    return result


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(sources(), ARGUMENTS)
def test_what_the_constructor_decides(source: str, arguments: dict[str, Any]) -> None:
    """What Python runs compiles, and computes the same, whatever the other branches hold."""
    x = torch.randn(3, 4, dtype=torch.float64)
    expected = computed(imported(source, "source_of_net").Net(**arguments), x)
    twin = imported(rewritten(source), "twin_of_net").Net(**arguments)
    result = computed(twin, x)
    if expected is None:
        assert result is None
        assume(False)
    assert expected is not None and result is not None
    torch.testing.assert_close(result, expected)
    compiled = jit_runtime.compile(twin)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), expected)


def test_names_do_not_shadow_the_users() -> None:
    found = classes("""
        from torch import nn
        class Net(nn.Module):
            def __init__(self, mode):
                super().__init__()
                self.mode = mode
                self._mode_is_a = 3
            def forward(self, x):
                if self.mode == "a":
                    return x
                return x + 1 if self.mode == "b" else x
        class Sub(Net):
            def _mode_is_b(self):
                return 3
        """)
    assert set(found["Net"].decisions) == {"_mode_is_a_2", "_mode_is_b_2"}


def test_a_subclass_shares_what_its_base_has() -> None:
    found = classes("""
        from torch import nn
        class Base(nn.Module):
            def __init__(self, mode):
                super().__init__()
                self.mode = mode
            def forward(self, x):
                return x if self.mode == "a" else -x
        class Sub(Base):
            def forward(self, x):
                return x + 1 if self.mode == "a" or self.mode == "b" else -x
        """)
    assert set(found["Base"].decisions) == {"_mode_is_a"}
    assert set(found["Sub"].decisions) == {"_mode_is_a_or_mode_is_b"}


def test_what_a_subclass_changes_is_not_decided() -> None:
    found = classes("""
        from torch import nn
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.step = 0
            def forward(self, x):
                return x if self.step > 3 else -x
        class Sub(Base):
            def forward(self, x):
                self.step = self.step + 1
                return super().forward(x)
        """)
    assert found["Base"].decisions == {}


def test_the_manifest_says_what_was_lowered() -> None:
    found = classes("""
        from torch import nn
        EPS = 1e-5
        class Net(nn.Module):
            def __init__(self, mode):
                super().__init__()
                self.mode = mode
            def forward(self, x):
                return x + EPS if self.mode == "a" else x - EPS
        """)["Net"]
    assert found.passes == {"decisions": 1, "outside_names": 2}
