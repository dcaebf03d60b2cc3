"""The types that attributes get, where they come from, and which are wrapped."""

from __future__ import annotations

import pytest
from twins import classes, rewritten

IMPORTS = (
    "from typing import Dict, List, Optional, Tuple\nimport torch\nfrom torch import nn, Tensor\n"
)


def net(init: str, read: str = "a", *, parameters: str = "", body: str = "") -> str:
    """A module whose constructor runs `init` and whose forward reads `self.<read>`."""
    lines = "".join(f"        {line}\n" for line in init.splitlines())
    head = "".join(f"    {line}\n" for line in body.splitlines())
    return (
        f"{IMPORTS}class Net(nn.Module):\n{head}    def __init__(self{parameters}):\n"
        f"        super().__init__()\n{lines}    def forward(self, x):\n"
        f"        return x, self.{read}\n"
    )


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ("self.a = 3", "self.a = Attribute(3, int)"),
        ("self.a = -3.5", "self.a = Attribute(-3.5, float)"),
        ("self.a = 'x'", "self.a = Attribute('x', str)"),
        ("self.a = True", "self.a = Attribute(True, bool)"),
        ("self.a = 2j", "self.a = Attribute(2j, complex)"),
        ("self.a = [1, 2]", "self.a = Attribute([1, 2], List[int])"),
        ("self.a = 1, 'b'", "self.a = Attribute((1, 'b'), Tuple[int, str])"),
        ("self.a = {'b': [1.0]}", "self.a = Attribute({'b': [1.0]}, Dict[str, List[float]])"),
        ("self.a: List[int] = []", "self.a = Attribute([], List[int])"),
        ("self.a: 'List[int]' = []", "self.a = Attribute([], List[int])"),
        ("self.a: list[int] = []", "self.a = Attribute([], list[int])"),
        ("self.a = []  # type: List[str]", "self.a = Attribute([], List[str])  # type: List[str]"),
        ("self.a = self.b = 3", "self.a = self.b = Attribute(3, int)"),
    ],
)
def test_literals_and_annotations_in_the_constructor(init: str, expected: str) -> None:
    assert f"        {expected}\n" in rewritten(net(init))


@pytest.mark.parametrize(
    "init",
    [
        "self.a = []",  # of what?
        "self.a = None",
        "self.a = [1, 2.0]",
        "self.a = torch.zeros(3)",
        "self.a = nn.Linear(3, 3)",
        "self.a = nn.Parameter(torch.zeros(3))",
        "self.a: nn.Module = nn.Linear(3, 3)",
        "self.a: Tensor = torch.zeros(3)",
        "self.a = 3\nself.a = 'x'",  # two types
        "self.a = 2 ** 70",
        "self.a = 99999999999999999999",  # no int of TorchScript's
        "b = self.a = 3",  # b would be an Attribute
        "self.a, b = 3, 4",
        "self.register_buffer('a', None)\nself.a = 3",
    ],
)
def test_what_is_not_known_or_never_wrapped(init: str) -> None:
    assert "Attribute" not in rewritten(net(init))


def test_what_compiled_methods_do_not_read_is_not_wrapped() -> None:
    assert "Attribute" not in rewritten(net("self.a = 3\nself.b = 4", read="c"))


@pytest.mark.parametrize(
    ("body", "init", "expected"),
    [
        ("a: List[str]", "self.a = []", "Attribute([], List[str])"),
        ("a: 'Dict[str, int]'", "self.a = {}", "Attribute({}, Dict[str, int])"),
        ("__annotations__ = {'a': List[float]}", "self.a = []", "Attribute([], List[float])"),
        ("a: Optional[Tensor]", "self.a = None", "Attribute(None, Optional[Tensor])"),
        ("a: 'int | None'", "self.a = None", "Attribute(None, int | None)"),
        ("a: float", "self.a = 1", "Attribute(1, float)"),
    ],
)
def test_declarations_in_the_class(body: str, init: str, expected: str) -> None:
    assert f"self.a = {expected}\n" in rewritten(net(init, body=body))


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ("b: int", "self.a = Attribute(b, int)"),
        ("b='x'", "self.a = Attribute(b, str)"),
        ("b: float", "self.a = b"),  # may be given an int, which is another thing
        ("b=0.5", "self.a = b"),
        ("b: List[int] = None", "self.a = b"),  # None or a list: told by each instance
        ("b: 'int | tuple[int, int]'", "self.a = b"),
        ("b=0", "self.a = b"),  # may well be given 0.5
        ("b=None", "self.a = b"),
        ("b", "self.a = b"),
    ],
)
def test_constructor_parameters(parameter: str, expected: str) -> None:
    assert f"        {expected}\n" in rewritten(net("self.a = b", parameters=f", {parameter}"))


def test_a_parameter_that_is_assigned_again_says_nothing() -> None:
    assert "Attribute" not in rewritten(net("b = b * 0.5\nself.a = b", parameters=", b: int"))


def test_an_optional_that_compiled_code_assigns_is_wrapped() -> None:
    text = rewritten("""
        from typing import Optional
        from torch import nn
        class Net(nn.Module):
            def __init__(self, last: Optional[int] = None):
                super().__init__()
                self.last = last
            def forward(self, x):
                self.last = 3
                return x
        """)
    assert "self.last = Attribute(last, Optional[int])" in text


def test_what_a_subclass_reads_is_wrapped_in_the_base() -> None:
    text = rewritten("""
        from torch import nn
        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = 3
        class Net(Base):
            def forward(self, x):
                return x * self.a
        """)
    assert "self.a = Attribute(3, int)" in text


def test_nothing_is_wrapped_in_a_mixin() -> None:
    text = rewritten("""
        from torch import nn
        class Mixin:
            def __init__(self):
                super().__init__()
                self.a = 3
        class Net(Mixin, nn.Module):
            def forward(self, x):
                return x * self.a
        """)
    assert "self.a = 3\n" in text


def test_nothing_is_wrapped_where_the_program_watches_assignments() -> None:
    """Its `__setattr__` would see the wrapper, as would that of a subclass."""
    text = rewritten("""
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = 3
            def forward(self, x):
                return x * self.a
        class Watched(Net):
            def __setattr__(self, name, value):
                super().__setattr__(name, value)
        """)
    assert "Attribute" not in text


@pytest.mark.parametrize(
    ("init", "parameters", "body", "expected"),
    [
        ("self.a = [1]", ", List=0", "", "self.a = Attribute([1], list[int])"),
        ("list = List = 0\nself.a = [1]", "", "", "self.a = [1]"),
        ("self.a = 1", ", int=0", "", "self.a = 1"),
        ("self.a = []", "", "from typing import List as L\na: L[int]", "Attribute([], List[int])"),
    ],
)
def test_types_are_spelt_in_names_that_mean_them(
    init: str, parameters: str, body: str, expected: str
) -> None:
    assert f"{expected}\n" in rewritten(net(init, parameters=parameters, body=body))


def test_names_that_the_file_has_for_something_else_are_not_imported() -> None:
    """The parameter stays without a type, which compilation refuses."""
    text = rewritten("""
        from torch import nn
        class Optional: pass
        class Net(nn.Module):
            def forward(self, x, y=None, z=3):
                return x
        """)
    assert "def forward(self, x, y=None, z: int = 3):" in text
    assert "typing" not in text


def test_types_that_only_the_type_checker_sees_are_imported() -> None:
    text = rewritten("""
        from __future__ import annotations
        from typing import TYPE_CHECKING
        from torch import nn
        if TYPE_CHECKING:
            from typing import Optional
        class Net(nn.Module):
            a: Optional[int]
            def __init__(self):
                super().__init__()
                self.a = None
            def forward(self, x):
                return x, self.a
        """)
    assert "from typing import Optional, TYPE_CHECKING\n" in text
    assert "self.a = Attribute(None, Optional[int])" in text


def test_the_manifest_says_where_each_type_came_from() -> None:
    source = net("self.a = 3\nself.b = c\nself.d = []", parameters=", c: float")
    source = source.replace("return x, self.a", "return x, self.a, self.b, self.d")
    assert classes(source)["Net"].attributes == {
        "a": {"type": "int", "origin": "literal", "source": "inferred"},
        "b": {"type": "float", "origin": "annotation of parameter c", "source": "declared"},
        "d": {"type": "", "origin": "left to TorchScript", "source": "torch"},
    }


FINALS = {
    "typing.Final": "import typing\n",
    "Final": "from typing import Final\n",
    "torch.jit.Final": "",
    "F": "from torch.jit import Final as F\n",
}


@pytest.mark.parametrize("spelling", FINALS)
@pytest.mark.parametrize("annotation", ["{}[int]", "'{}[int]'", "{}"])
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
def test_final_in_every_spelling(spelling: str, annotation: str, future: str) -> None:
    body = f"scale: {annotation.format(spelling)}"
    text = rewritten(future + FINALS[spelling] + net("self.scale = 3", read="scale", body=body))
    assert '    __constants__ = ["scale"]\n' in text.replace("'", '"')
    assert "self.scale = 3\n" in text  # a constant is no attribute


def test_final_in_the_constructor() -> None:
    text = rewritten("from typing import Final\n" + net("self.a: Final[int] = 3"))
    assert '    __constants__ = ["a"]\n' in text


def test_constants_are_merged_with_those_of_the_bases() -> None:
    found = rewritten("""
        from typing import Final
        from torch import nn
        class Base(nn.Module):
            __constants__ = ['a']
        class Middle(Base):
            b: Final = 3
        class Net(Middle):
            __constants__ = ('c',)
        """)
    lines = [line.strip() for line in found.splitlines() if "__constants__" in line]
    assert lines == [
        "__constants__ = ['a']",
        "__constants__ = ['a', 'b']",
        "__constants__ = ('c', 'a', 'b')",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("['a']", "['a', 'k']"),
        ("('a',)", "('a', 'k')"),
        ("'a', 'b'", "'a', 'b', 'k'"),
        ("{'a'}", "{'a', 'k'}"),
        ("[]", "['k']"),
        ("['k', 'k']", "['k', 'k']"),
        ("[\n        'a',  # why\n    ]", "[\n        'a', 'k',  # why\n    ]"),
        ("['a'] + MORE", "['a'] + MORE"),  # the runtime adds what is Final
        ("['a']\n    __constants__ += ['b']", "['a']\n    __constants__ += ['b']"),
        ("{'a'}\n    __constants__ |= {'b'}", "{'a'}\n    __constants__ |= {'b'}"),
    ],
)
def test_constants_are_added_to_what_is_there(before: str, after: str) -> None:
    source = f"""
from typing import Final
from torch import nn
class Net(nn.Module):
    __constants__ = {before}
    k: Final = 'x'
"""
    assert f"    __constants__ = {after}\n    k: Final = 'x'\n" in rewritten(source)


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("x, y=None", "x, y: Optional[Tensor] = None"),
        ("x, y: Tensor = None", "x, y: Optional[Tensor] = None"),
        ("x, y: int = None", "x, y: Optional[int] = None"),
        ("x, y=3, z='a'", "x, y: int = 3, z: str = 'a'"),
        ("x, y: Optional[Tensor] = None", "x, y: Optional[Tensor] = None"),
        ("x, y: float = 3", "x, y: float = 3"),
    ],
)
def test_defaults_that_torchscript_would_take_for_tensors(signature: str, expected: str) -> None:
    """An untyped `y=None` is an undefined tensor to it, which silently is never None."""
    text = rewritten(
        f"{IMPORTS}class Net(nn.Module):\n    def forward(self, {signature}):\n        return x\n"
    )
    assert f"def forward(self, {expected}):" in text


def test_a_parameter_that_is_called_is_no_tensor() -> None:
    text = rewritten(
        f"{IMPORTS}class Net(nn.Module):\n    def forward(self, x, f=None):\n"
        "        return x if f is None else f(x)\n"
    )
    assert "def forward(self, x, f=None):" in text


def test_a_signature_in_a_type_comment_is_left_alone() -> None:
    source = f"""{IMPORTS}class Net(nn.Module):
    def forward(self, x, y=None):
        # type: (Tensor, Optional[Tensor]) -> Tensor
        return x
"""
    assert "def forward(self, x, y=None):" in rewritten(source)


@pytest.mark.parametrize("empty", ["[]", "{}", "list()", "dict()"])
def test_an_empty_container_that_nothing_types_is_reported(empty: str) -> None:
    [finding] = classes(net(f"self.a = {empty}"))["Net"].diagnostics
    assert (finding.code, finding.line) == ("JT201", 7)
    assert "Net.a starts empty" in finding.message
    assert "declare it in the class, for example a: " in finding.hint


def test_but_not_one_that_has_a_type_or_that_no_compiled_code_reads() -> None:
    assert classes(net("self.a: List[int] = []"))["Net"].diagnostics == ()
    assert classes(net("self.b = []"))["Net"].diagnostics == ()
