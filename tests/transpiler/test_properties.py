"""What holds for every source: small classes composed of parts that are hard on a rewriter."""

from __future__ import annotations

import ast
import io
import tokenize

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twins import twin_of

HEADS = [
    "from torch import nn",
    "import torch.nn as nn",
    "import os; os.environ.get('A')  # kept\nfrom torch import nn; os",
    "from torch \\\n  import nn",
    "try:\n    from torch import nn\nexcept ImportError:\n    nn = None",
]

TYPING = [
    "from typing import Final, List, Optional",
    "from typing import *",
    "import typing\nfrom typing import (\n    Final,\n    List,  # of what\n    Optional,\n)",
    "if 1: from typing import Final, List, Optional",
]

CLASS_LINES = [
    "class Net(nn.Module):",
    "class Net( nn . Module ) :  # why",
    "class Net(\n    # first\n    nn.Module,  # why\n    # last\n):",
    "class Net(nn.Identity):",
    "class Net(nn.Identity,  # why\n          metaclass=type):",
    "class Net(nn.Identity, Plain):",
]

MEMBERS = [
    "'''Doc \x0c string.'''",
    "k: Final = 3; late: Final[int] = 4;  # kept",
    "__constants__ = ('k',)",
    "__constants__ = [\n    'b',  # why\n]",
    "steps: List[int]",
    "  # kept",
    "def plain(self): return 1  # kept",
    "class Inner(nn.Module): k: Final = 3  # nested",
    "\x0c",
]

ASSIGNMENTS = [
    "self.a = 3",
    "self.a = 1; self.b = 2",
    "self.a = self.b = 0.5  # chain",
    "self.a = 1, 2",
    "self.a = (  # why\n    3\n)",
    "self.a = [\n    1,  2,\n    3, ]",
    "self.a = {'a': 1,\n  'b': 2}",
    "self.a = '''x\n  y'''",
    "self.a: Optional[int] = None",
    "self.steps = []  # type: List[int]",
    "self.a = \\\n  4",
    "self.a = 'ä' 'b'",
    "self.a: int = (n := 3)",
    "self.c = lambda: 3  # kept",
    "if flag: self.a = 1\nelse: self.a = 2.0",
    "for i in range(2): self.b = i; self.a = True",
    "int = 3; self.a = 4; self.b = int  # kept",
    "List = 3; self.a = [4]",
    "self.a = {'first': 1.5, 'second': 2.5, 'third': 3.5, 'fourth': 4.5, 'fifth': 5.5}",
]

SIGNATURES = ["x", "x, y=None", "x, y=0.5, *, z", "x,y = 3,  # why\n    z='a'", "x, *rest"]
RETURNS = ["x, self.a", "x, self.b", "x, self.k, self.a, self.steps", "(x,\n    self.a)"]


def indented(text: str, depth: int, indent: str) -> str:
    """A block below others; lines within a string or a bracket move with it."""
    lines = text.split("\n")
    return "\n".join(indent * depth + line if line.strip(" ") else line for line in lines)


@st.composite
def sources(draw: st.DrawFn) -> str:
    def pick(parts: list[str]) -> str:
        return draw(st.sampled_from(parts))

    def some(parts: list[str]) -> list[str]:
        return draw(st.lists(st.sampled_from(parts), max_size=3, unique=True))

    indent = pick(["    ", "  ", "\t"])
    gap = pick(["", "\n", "\n# between\n\n"])
    body = [
        *(indented(m, 1, indent) for m in some(MEMBERS)),
        f"{indent}def __init__(self, flag=True):  # kept",
        f"{indent * 2}super().__init__()  # kept",
        f"{indent * 2}self.a = self.b = 5",
        *(indented(a, 2, indent) for a in some(ASSIGNMENTS)),
        f"{indent}def forward(self, {pick(SIGNATURES)}):",
        f"{indent * 2}return {pick(RETURNS)}",
    ]
    head = [pick(["", "#!/usr/bin/python", "'''Doc.'''"]), pick(HEADS), pick(TYPING)]
    text = "\n".join([*head, "class Plain: pass  # kept", gap, pick(CLASS_LINES), *body])
    text += pick(["", "\n", "  # the end", "\n\n\n# kept"])
    return text.replace("\n", pick(["\n", "\n", "\r\n"]))


def twin(source: str) -> str:
    [file] = twin_of({"net.py": source}).files
    return source if file.content is None else file.content.decode()


def run(source: str) -> str:
    """What a module of the source computes, or the error that it raises."""
    namespace: dict[str, object] = {"__name__": "net"}
    exec(compile(source, "net.py", "exec"), namespace)
    arguments = {"z": 1} if "z" in source else {}
    try:
        return repr(namespace["Net"]()(torch.ones(2), **arguments))  # type: ignore[operator]
    except Exception as error:
        return repr(error)


def kept(source: str) -> list[str]:
    """The lines that say of themselves that no rewriting changes them."""
    return [line for line in source.split("\n") if "# kept" in line]


def tokens(source: str) -> list[str]:
    """The comments and literals of a source, which no rewriting takes away."""
    kinds = (tokenize.COMMENT, tokenize.STRING, tokenize.NUMBER)
    read = io.StringIO(source, newline="").readline
    return [t.string for t in tokenize.generate_tokens(read) if t.type in kinds]


def is_within(parts: list[str], whole: list[str]) -> bool:
    """Whether the parts stand in the whole, in their order."""
    rest = iter(whole)
    return all(part in rest for part in parts)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sources())
def test_every_twin(source: str) -> None:
    """It parses, is its own twin, computes the same, and keeps what it need not change."""
    text = twin(source)
    ast.parse(text)
    assert twin(text) == text
    assert run(text) == run(source)
    assert is_within(tokens(source), tokens(text))
    assert kept(text) == kept(source)
