"""Which methods are compiled, and why."""

from __future__ import annotations

import pytest
from twins import classes, codes, rewritten


def methods(body: str) -> dict[str, str]:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    source = f"import torch\nfrom torch import nn\nclass Net(nn.Module):\n{lines}"
    return classes(source)["Net"].methods


def test_forward_and_what_it_reaches_through_self() -> None:
    found = methods("""
def forward(self, x):
    return self.norm(x)
def norm(self, x):
    return self.scale(x)
def scale(self, x):
    return x * 2
def plot(self):
    pass
""")
    assert found == {
        "forward": "entry point",
        "norm": "self.norm in forward",
        "scale": "self.scale in norm",
    }


def test_exported_methods_are_entry_points() -> None:
    found = methods("""
@torch.jit.export
def encode(self, x):
    return x
""")
    assert found == {"encode": "exported"}


@pytest.mark.parametrize("decorator", ["ignore", "unused", "ignore(drop_on_export=True)"])
def test_what_is_left_to_python_is_not_reached(decorator: str) -> None:
    found = methods(f"""
def forward(self, x):
    return self.debug(x)
@torch.jit.{decorator}
def debug(self, x):
    return self.deeper(x)
def deeper(self, x):
    return x
""")
    assert list(found) == ["forward"]


@pytest.mark.parametrize(
    ("code", "reached"),
    [
        ("if torch.jit.is_scripting():\n    self.a(x)\nelse:\n    self.b(x)", "a"),
        ("if not torch.jit.is_scripting():\n    self.b(x)\nself.a(x)", "a"),
        ("if torch.jit.is_scripting():\n    return self.a(x)\nself.b(x)", "a"),
        ("if not torch.jit.is_scripting() and x is None:\n    self.b(x)\nself.a(x)", "a"),
        ("self.a(x) if torch.jit.is_scripting() else self.b(x)", "a"),
        ("return self.a(x)\nself.b(x)", "a"),
        ("if torch.jit.is_scripting() and x is None:\n    self.a(x)\nelse:\n    self.b(x)", "a b"),
        ("if x is None:\n    return self.a(x)\nself.b(x)", "a b"),
    ],
)
def test_code_that_is_never_scripted(code: str, reached: str) -> None:
    body = "".join(f"    {line}\n" for line in code.splitlines())
    found = methods(
        f"def forward(self, x):\n{body}"
        "def a(self, x):\n    return x\ndef b(self, x):\n    return x\n"
    )
    assert sorted(found.keys() - {"forward"}) == reached.split()


def test_methods_of_bases_and_mixins_in_other_files() -> None:
    sources = {
        "mixin.py": """
            class Scale:
                def scale(self, x):
                    return x * 2
            """,
        "base.py": """
            from torch import nn
            class Base(nn.Module):
                def norm(self, x):
                    return x
            """,
        "net.py": """
            from base import Base
            from mixin import Scale
            class Net(Scale, Base):
                def forward(self, x):
                    return self.scale(self.norm(x))
            """,
    }
    assert "@script_method\n    def scale" in rewritten(sources, "mixin.py")
    assert "@script_method\n    def norm" in rewritten(sources, "base.py")
    assert "class Scale:" in rewritten(sources, "mixin.py")


def test_the_hooks_of_a_library_method_are_reached_through_it() -> None:
    found = classes("""
        from torch import nn
        class Net(nn.Conv2d):
            def _conv_forward(self, input, weight, bias):
                return input
        """)
    assert found["Net"].methods["_conv_forward"] == "self._conv_forward in forward"


def test_static_methods_properties_and_functions_are_not_marked() -> None:
    text = rewritten("""
        from torch import nn
        def double(x):
            return x * 2
        class Net(nn.Module):
            @staticmethod
            def triple(x):
                return x * 3
            @property
            def width(self):
                return 4
            def forward(self, x):
                return double(self.triple(x)) + self.width
        """)
    assert text.count("@script_method") == 1


def test_a_decorator_that_torchscript_would_forget_keeps_the_class() -> None:
    found = classes("""
        import torch
        from torch import nn
        class Net(nn.Module):
            @torch.no_grad()
            def forward(self, x):
                return x
        """)
    assert codes(found["Net"]) == ["JT103"]
    assert "@torch.no_grad() on forward" in found["Net"].diagnostics[0].message


@pytest.mark.parametrize(
    ("decorator", "definition"),
    [
        ("@register", "def register(f):\n    ALL.append(f)\n    return f"),
        (
            "@register('net')",
            "def register(name):\n    def inner(f):\n        ALL.append(f)\n        return f\n"
            "    return inner",
        ),
    ],
)
def test_a_decorator_that_returns_its_function_is_harmless(decorator: str, definition: str) -> None:
    found = classes(
        f"from torch import nn\nALL = []\n{definition}\nclass Net(nn.Module):\n"
        f"    {decorator}\n    def forward(self, x):\n        return x\n"
    )
    assert found["Net"].rewritten


def test_a_decorator_that_wraps_its_function_is_not() -> None:
    found = classes("""
        from torch import nn
        def twice(f):
            def inner(self, x):
                return f(self, f(self, x))
            return inner
        class Net(nn.Module):
            @twice
            def forward(self, x):
                return x
        """)
    assert codes(found["Net"]) == ["JT103"]
