"""What is learnt of parameters that nothing declares: from calls, defaults and uses."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from file_trees import make_tree
from jit_transpile.inference.types import FLOAT, INT, TENSOR, list_of
from jit_transpile.observe.observed import Observed
from jit_transpile.pipeline import build
from jit_transpile.source.tree import scan
from twins import classes, rewritten, twin_of

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def types(source: str, cls: str, method: str = "forward") -> dict[str, str]:
    """The types of a method's parameters, by name."""
    record = classes(HEAD + dedent(source))[cls]
    return {name: entry["type"] for name, entry in record.parameters[method].items()}


def signature(source: str, function: str) -> str:
    """The line of a function's ``def`` in the twin."""
    text = rewritten(HEAD + dedent(source))
    return next(line.strip() for line in text.splitlines() if f"def {function}(" in line)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for _ in range(n):\n    x = x + 1\nreturn x", "int"),
        ("return x[:, :n]", "int"),
        ("return x.sum(n)", "Tensor"),  # one int, or a list of them: torch decides
        ("return F.dropout(x, n)", "float"),
        ("return torch.cat(n, 1)", "List[Tensor]"),
        ("return x + n['image']", "Dict[str, Tensor]"),
        ("a, b = n\nreturn a + b", "Tuple[Tensor, Tensor]"),
        ("return x if n == 'none' else x + 1", "str"),
        ("return x * n", "Tensor"),
        ("n = n if isinstance(n, (list, tuple)) else [n]\nreturn x * n[0]", "Tensor"),
        ("n = n + 1\nfor _ in range(3):\n    x = x + n\nreturn x", "Tensor"),
    ],
)
def test_uses_in_the_body(body: str, expected: str) -> None:
    lines = body.replace("\n", "\n        ")
    source = f"class Net(nn.Module):\n    def forward(self, x, n):\n        {lines}\n"
    assert types(source, "Net")["n"] == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("self.helper(x, 2)", "int"),
        ("self.helper(x, n=0.5)", "float"),
        ("self.helper(x, 2) + self.helper(x, 0.5)", "Union[int, float]"),
        ("self.helper(x, [x, x])", "List[Tensor]"),
        ("self.helper(x, (1, x))", "Tuple[int, Tensor]"),
        ("self.helper(x, x.shape)", "List[int]"),
        ("self.helper(x, x.size(0))", "int"),
        ("self.helper(x, {'a': x})", "Dict[str, Tensor]"),
        ("self.helper(x, self.width)", "int"),
        ("self.helper(x, self.lin(x))", "Tensor"),
        ("self.helper(x, x.max(1)[1])", "Tensor"),
        ("self.helper(x, None) + self.helper(x, 3)", "Optional[int]"),
    ],
)
def test_calls_of_a_method(call: str, expected: str) -> None:
    source = f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.width = 3
                self.lin = nn.Linear(4, 4)
            def helper(self, x, n):
                return x
            def forward(self, x):
                return {call}
        """
    assert types(source, "Net", "helper")["n"] == expected


def test_a_module_is_called_with_what_another_returns() -> None:
    source = """
        class Split(nn.Module):
            def forward(self, x):
                return x.chunk(2, 1), x.size(0)
        class Fuse(nn.Module):
            def forward(self, parts, count):
                return torch.cat(parts, 1) / count
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.split, self.fuse = Split(), Fuse()
            def forward(self, x):
                parts, count = self.split(x)
                return self.fuse(parts, count)
        """
    assert types(source, "Fuse") == {"parts": "List[Tensor]", "count": "int"}


def test_containers_of_modules_are_looked_into() -> None:
    source = """
        class Block(nn.Module):
            def forward(self, x, scale):
                return x * scale
        class Head(nn.Module):
            def forward(self, feats):
                return feats[0]
        class Body(nn.Module):
            def forward(self, x):
                return [x, x]
        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.blocks = nn.ModuleList([Block() for _ in range(depth)])
                self.chain = nn.Sequential(Body(), Head())
            def forward(self, x):
                for block in self.blocks:
                    x = block(x, 0.5)
                return self.chain(x)
        """
    assert types(source, "Block")["scale"] == "float"
    assert types(source, "Head")["feats"] == "List[Tensor]"


def test_a_default_of_none_that_nothing_else_tells_of_is_no_evidence() -> None:
    source = """
        def cut(x, threshold=None):
            return x if threshold is None else x[x > threshold]
        def score(x, threshold=None):
            return cut(x, threshold=threshold)
        def other(x, threshold=None):
            return cut(x, threshold=threshold)
        class Net(nn.Module):
            def forward(self, x):
                return score(x, 0.5) + other(x)
        """
    assert signature(source, "cut") == "def cut(x, threshold: Optional[float] = None):"


def test_what_one_caller_gives_tells_nothing_of_another() -> None:
    source = """
        class Scale(nn.Module):
            def forward(self, x, n):
                return x * n
        class One(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = Scale()
            def forward(self, x):
                return self.scale(x, 3)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = Scale()
            def forward(self, x, y):
                return self.scale(x, y)
        """
    assert types(source, "Net") == {"x": "Tensor", "y": "Tensor"}
    assert signature(source, "forward") == "def forward(self, x, n):"


def test_a_sequential_hands_on_results_and_shows_only_what_its_first_module_is_given() -> None:
    source = """
        class Two(nn.Module):
            def forward(self, x):
                return x, x
        class Cat(nn.Module):
            def forward(self, parts):
                return torch.cat(parts, 1)
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.chain = nn.Sequential(nn.Linear(4, 4), Two(), Cat())
            def forward(self, x):
                return self.chain(x)
        class Unordered(nn.Module):
            def __init__(self, deep):
                super().__init__()
                self.chain = nn.Sequential(*([Two(), Cat()] if deep else []))
            def forward(self, x):
                return self.chain(x)
        """
    assert types(source, "Two")["x"] == "Tensor"
    assert types(source, "Cat")["parts"] == "Tuple[Tensor, Tensor]"
    assert types(source, "Net")["x"] == "Tensor"
    assert types(source, "Unordered")["x"] == "Tensor"


def test_the_parameter_of_an_overridden_method_is_that_of_all() -> None:
    source = """
        class Base(nn.Module):
            def forward(self, x):
                return self.scale(x, 2)
            def scale(self, x, by):
                return x * by
        class Other(Base):
            def scale(self, x, by):
                return x / by
        """
    assert types(source, "Other", "scale")["by"] == "int"


def test_evidence_crosses_files() -> None:
    sources = {
        "pkg/__init__.py": "",
        "pkg/ops.py": "def window(x, size, start=0):\n    return x[:, start : start + size]\n",
        "pkg/net.py": "from torch import nn\nfrom .ops import window\n"
        "class Net(nn.Module):\n    def forward(self, x):\n        return window(x, 2)\n",
    }
    assert "def window(x, size: int, start: int = 0):" in rewritten(sources, "pkg/ops.py")


def test_a_declared_type_wins_over_what_calls_show() -> None:
    source = """
        class Net(nn.Module):
            def helper(self, x, n: float):
                return x * n
            def forward(self, x):
                return self.helper(x, 2)
        """
    assert types(source, "Net", "helper")["n"] == "float"
    assert "self.helper(x, 2.0)" in rewritten(HEAD + dedent(source))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x if mask is None else x * mask", "mask: Optional[torch.Tensor] = None"),
        ("n = mask or x.size(0)\n        return x * n", "mask: Optional[int] = None"),
        ("return x[:, :mask]", "mask: Optional[int] = None"),
    ],
)
def test_a_default_of_none_is_optional_of_what_else_is_seen(body: str, expected: str) -> None:
    source = f"class Net(nn.Module):\n    def forward(self, x, mask=None):\n        {body}\n"
    assert expected in signature(source, "forward")


def test_a_function_that_may_be_given_is_none_to_compiled_code() -> None:
    source = """
        from typing import Callable, Optional
        class Net(nn.Module):
            def forward(self, x, hook: Optional[Callable[[int], None]] = None):
                if hook is not None:
                    hook(1)
                return x
        """
    assert signature(source, "forward") == "def forward(self, x, hook: None = None):"


def test_what_contradicts_is_left_to_torch() -> None:
    source = """
        class Net(nn.Module):
            def helper(self, x, n):
                return x
            def forward(self, x):
                return self.helper(x, "a") + self.helper(x, [1])
        """
    assert signature(source, "helper") == "def helper(self, x, n):"


def test_the_manifest_says_where_types_come_from() -> None:
    record = classes(
        HEAD
        + dedent("""
        class Net(nn.Module):
            scale: float
            def __init__(self, dim):
                super().__init__()
                self.scale, self.dim = 2.0, dim
                self.kept = []
            def forward(self, x, n: int, m, k=1):
                self.kept.append(k)
                return x[:, :m] * self.scale * self.dim
        """)
    )["Net"]
    sources = {name: entry["source"] for name, entry in record.parameters["forward"].items()}
    assert sources == {"x": "torch", "n": "declared", "m": "inferred", "k": "inferred"}
    found = {name: entry["source"] for name, entry in record.attributes.items()}
    assert found == {"scale": "declared", "dim": "torch", "kept": "inferred"}


def test_attributes_that_compiled_code_fills() -> None:
    text = rewritten(
        HEAD
        + dedent("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.sizes = []
                self.last = None
                self.total = 0
                self.width = None
            def forward(self, x):
                self.sizes.append(x.size(0))
                self.last = x
                self.total = self.total + 0.5
                return x
        """)
    )
    assert "self.sizes = Attribute([], list[int])" in text
    assert "self.last = Attribute(None, Optional[torch.Tensor])" in text
    assert "self.total = Attribute(0, float)" in text
    assert "self.width = None" in text


def findings(source: str) -> list[str]:
    """What is said of the types of a source."""
    twin = twin_of({"net.py": HEAD + dedent(source)})
    found = [*twin.diagnostics, *(d for record in twin.classes for d in record.diagnostics)]
    return [f"{d.code} {d.message}" for d in found]


def test_values_that_contradict_each_other_are_told_with_both_places() -> None:
    source = """
        class Net(nn.Module):
            def helper(self, x, n):
                return x
            def forward(self, x):
                y = self.helper(x, "a")
                return y + self.helper(x, [1])
        """
    assert findings(source) == [
        "JT203 n of helper is given str at net.py:9, List[int] at net.py:10"
    ]


def test_values_that_contradict_a_declaration_are_told() -> None:
    source = """
        class Net(nn.Module):
            def helper(self, xs: torch.Tensor):
                return xs[0]
            def forward(self, x):
                return self.helper([x, x])
        """
    message = "JT202 xs of helper is declared Tensor, and given List[Tensor] at net.py:9"
    assert findings(source) == [message]


def test_a_wrong_return_type_is_put_right_and_told() -> None:
    source = """
        class Net(nn.Module):
            def forward(self, x) -> torch.Tensor:
                return x, x.size(0)
        """
    assert signature(source, "forward").endswith(") -> tuple[torch.Tensor, int]:")
    message = "JT202 forward is declared to return Tensor, and returns Tuple[Tensor, int]"
    assert findings(source) == [message]


def test_a_function_that_tells_types_apart_takes_them_all() -> None:
    source = """
        class Net(nn.Module):
            def scaled(self, x, by):
                if isinstance(by, int):
                    return x[:by]
                return x * by
            def forward(self, x):
                return self.scaled(x, 2) + self.scaled(x, x)
        """
    assert "by: Union[int, torch.Tensor]" in signature(source, "scaled")
    assert findings(source) == []


@pytest.mark.parametrize("body", ["assert False, 'not supported'", "raise NotImplementedError"])
def test_a_method_that_only_raises_says_nothing_of_what_is_returned(body: str) -> None:
    source = f"""
        class Net(nn.Module):
            def features(self, x):
                return [x, x]
            def head(self, x):
                return x
            def forward(self, x):
                return self.head(self.features(x))
        class Other(Net):
            def features(self, x):
                {body}
        """
    assert types(source, "Net", "head")["x"] == "List[Tensor]"


def test_observed_types_are_evidence_below_declared_ones(tmp_path: Path) -> None:
    source = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.kept = []
            def forward(self, xs, n, m: int):
                return self.kept
        """
    functions = {"net.Net.forward": {"xs": list_of(TENSOR), "n": FLOAT, "m": FLOAT}}
    attributes = {"net.Net": {"kept": list_of(INT)}}
    tree = make_tree(tmp_path / "src", {"net.py": HEAD + dedent(source)})
    twin = build(scan(tree, None), observed=Observed(functions, attributes))
    [record] = twin.classes
    assert record.parameters["forward"] == {
        "xs": {"type": "List[Tensor]", "source": "observed"},
        "n": {"type": "float", "source": "observed"},
        "m": {"type": "int", "source": "declared"},
    }
    assert record.attributes["kept"]["source"] == "observed"
    [file] = twin.files
    text = (file.content or b"").decode()
    assert "def forward(self, xs: list[torch.Tensor], n: float, m: int):" in text
    assert "self.kept = Attribute([], list[int])" in text


def test_what_is_always_used_is_not_none() -> None:
    source = """
        class Net(nn.Module):
            def __init__(self, bias):
                super().__init__()
                self.bias = nn.Parameter(torch.ones(1)) if bias else None
            def shifted(self, x):
                if self.bias is None:  # TorchScript prunes what this instance does not do
                    return None
                return x + self.bias
            def doubled(self, y):
                return y * 2
            def given(self, y):
                return 0 if y is None else y.dim()
            def forward(self, x):
                return self.doubled(self.shifted(x)) * self.given(self.shifted(x))
        """
    assert signature(source, "doubled") == "def doubled(self, y):"
    assert signature(source, "given") == "def given(self, y: Optional[torch.Tensor]):"


def test_what_a_declared_type_rules_out_returns_nothing() -> None:
    source = """
        class Net(nn.Module):
            def helper(self, x, sizes: list[int]):
                if isinstance(sizes, torch.Tensor):
                    return sizes, x
                return x * len(sizes)
            def forward(self, x):
                return self.helper(x, [1]) + 1
        """
    assert signature(source, "helper") == "def helper(self, x, sizes: list[int]):"
