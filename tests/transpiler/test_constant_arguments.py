"""What is compiled of a function to which all calls in compiled code give the same literal."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from textwrap import dedent, indent
from types import ModuleType

import jit_runtime
import pytest
import torch
from twins import rewritten

HEAD = """
    import torch
    from torch import nn
    """

NETS = """
    import torch
    from torch import nn

    class Attention(nn.Module):
        def forward(self, x, mask=None, weights=True, kind="sum"):
            if weights and mask is None:
                return x, x.softmax(-1)
            return x if mask is None else x + mask

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = Attention()
        def forward(self, x):
            return CALLS
    """


def twin(calls: str) -> str:
    return rewritten(NETS.replace("CALLS", calls))


def net(body: str) -> str:
    """The twin of a file with a ``Net``, whose methods are these."""
    return rewritten(dedent(HEAD) + "\nclass Net(nn.Module):\n" + indent(dedent(body), " " * 4))


def imported(text: str, folder: Path) -> ModuleType:
    path = folder / f"net_{abs(hash(text))}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("net", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "calls",
    [
        "self.attention(x, None, False)",
        "self.attention(x, weights=False) + self.attention(x, None, False)",
        "self.attention(x, x, weights=False)",
    ],
)
def test_one_branch_is_compiled(calls: str) -> None:
    text = twin(calls)
    assert "if not torch.jit.is_scripting() and (weights and mask is None):" in text or (
        "if not torch.jit.is_scripting() and weights and mask is None:" in text
    )
    assert '"forward is compiled for weights=False alone"' in text


@pytest.mark.parametrize(
    "calls",
    [
        "self.attention(x)[0] + self.attention(x, weights=False)",  # both are asked for
        "self.attention(x, weights=x.dim() > 3)",
        "self.attention(x, **{'weights': False})",
        "self.attention(*[x, None, False])",
    ],
)
def test_both_branches_are_compiled(calls: str) -> None:
    assert "is_scripting" not in twin(calls)


def test_a_branch_that_nothing_is_wrong_with_stays() -> None:
    text = twin("self.attention(x, kind='mean')[0]").replace("x, x.softmax(-1)", "x.softmax(-1)")
    assert "kind ==" not in text


RETURNS = """
    import torch
    from torch import nn

    class Stack(nn.Module):
        def forward(self, x, states=False):
            if not states:
                return x
            return x, [x]

    class Net(nn.Module):
        def __init__(self, depth=0):
            super().__init__()
            self.stack = Stack()
            if depth > 0:
                self.head = nn.Linear(depth, depth)
        def run(self, x, twice=False):
            return self.head(self.head(x)) if twice else self.head(x)
        def forward(self, x):
            return self.run(STACK)
    """


def test_what_follows_a_branch_that_returns_is_not_run_either() -> None:
    text = rewritten(RETURNS.replace("STACK", "self.stack(x)"))
    assert "if torch.jit.is_scripting() or not states:" in text
    text = rewritten(RETURNS.replace("STACK", "self.stack(x, states=True)[0]"))
    assert "if not torch.jit.is_scripting() and not states:" in text


def test_a_name_holds_one_module() -> None:
    text = rewritten("""
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.ReLU(), nn.Tanh()])
            def run(self, x, last=None):
                if last is None:
                    blocks = self.blocks
                else:
                    blocks = self.blocks[:last + 1]
                for block in blocks:
                    x = block(x)
                return x
            def forward(self, x):
                return self.run(x)
        """)
    assert "if torch.jit.is_scripting() or last is None:" in text


def test_what_both_branches_lack_decides_nothing() -> None:
    assert "compiled for twice" not in rewritten(RETURNS.replace("STACK", "self.stack(x)"))


def test_a_declared_union_gives_way_to_what_is_returned() -> None:
    declared = NETS.replace('kind="sum"):', 'kind="sum") -> "torch.Tensor | tuple":')
    declared = declared.replace("| tuple", "| tuple[torch.Tensor, torch.Tensor]")
    text = rewritten(declared.replace("CALLS", "self.attention(x, weights=False) + 1"))
    assert ") -> torch.Tensor:" in text


def test_compiled_code_raises_for_anything_else(tmp_path: Path) -> None:
    module = imported(twin("self.attention(x, weights=False) + 1"), tmp_path)
    x = torch.randn(2, 3)
    eager = imported(dedent(NETS.replace("CALLS", "0")), tmp_path).Attention()
    net = module.Net()
    torch.testing.assert_close(net.attention(x), eager(x))  # as a twin that is not compiled
    compiled = jit_runtime.compile(net)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), x + 1)
    with pytest.raises(torch.jit.Error, match="forward is compiled for weights=False alone"):
        compiled.attention(x)


@pytest.mark.parametrize(
    ("condition", "is_decided"),
    [
        ("flag and self.count(x)", True),
        ("self.count(x) and flag", False),
        ("x.dim() > 1 and len(x) > 1 and flag", True),
        ("x.add_(1).dim() > 1 and flag", False),
        ("(y := x.dim()) and flag", False),
    ],
)
def test_what_python_evaluates_first_must_be_without_effect(
    condition: str, is_decided: bool
) -> None:
    text = net(f"""
        def count(self, x):
            self.n = self.n + 1
            return self.n > 0
        def run(self, x, flag=False):
            if {condition}:
                return x, x
            return x
        def forward(self, x):
            return self.run(x)
        """)
    assert ("is_scripting" in text) is is_decided


RUN = """
    def run(self, x, DECLARED=VALUE):
        if CONDITION:
            return x, x
        return x
    def forward(self, x):
        return self.run(x)
    """


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        ("False", "p"),
        ("False", "p == 1"),
        ("1", "p == 0"),
        ("0", "p"),
        ("-1", "p != -1"),
        ("None", "p is not None"),
        ("None", "p"),
        ("''", "p"),
        ("'a'", "p in ('b', 'c')"),
        ("'a'", "'b' == p"),
        (r"'a\\b\n\'\"c'", "p == 'b'"),
    ],
)
def test_literals_of_all_kinds(value: str, condition: str, tmp_path: Path) -> None:
    run = RUN.replace("DECLARED", "p").replace("VALUE", value).replace("CONDITION", condition)
    module = imported(net(run), tmp_path)
    x = torch.randn(2, 3)
    torch.testing.assert_close(jit_runtime.compile(module.Net())(x), x)


def test_what_does_not_decide_may_be_anything() -> None:
    text = net("""
        def run(self, x, flag=False, kind="a"):
            if flag and kind == "b":
                return x, x
            return x
        def forward(self, x):
            return self.run(x)
        """)
    assert "compiled for kind='a' alone" in text
    assert "compiled for flag" not in text


@pytest.mark.parametrize("mark", ["@torch.jit.export", "@torch.jit.script_method"])
def test_what_is_called_from_outside_stays_whole(mark: str) -> None:
    run = RUN.replace("DECLARED", "p").replace("VALUE", "False").replace("CONDITION", "p")
    assert "is_scripting" in net(run)
    assert "is_scripting" not in net(f"    {mark}{run}")


def test_an_ignored_method_that_compiled_code_calls_counts() -> None:
    text = """
        def run(self, x, flag=False):
            return (x, x) if flag else x
        @torch.jit.ignore
        def show(self, x) -> torch.Tensor:
            return self.run(x, True)[1]
        def forward(self, x):
            return self.run(x)
        """
    assert "is_scripting" in net(text)
    assert "is_scripting" not in net(text.replace("return self.run(x)\n", "return self.show(x)\n"))


def test_the_declared_type_stays_where_torch_has_no_name() -> None:
    text = net("""
        def run(self, x, flag=False) -> "torch.Tensor | tuple[torch.Tensor, torch.Tensor]":
            return (x, x) if flag else x
        def other(self, torch):
            return torch
        def forward(self, x):
            return self.run(x)
        """)
    assert "tuple[torch.Tensor, torch.Tensor]" in text


def test_a_container_gives_the_defaults() -> None:
    made = (
        "self.attention = Attention()\n            self.all = nn.Sequential(nn.ReLU(), Attention())"
    )
    calls = NETS.replace("CALLS", "self.all(x) + self.attention(x, weights=False)")
    assert "is_scripting" not in rewritten(calls.replace("self.attention = Attention()", made))


def test_of_several_conditions_as_many_as_it_takes() -> None:
    text = net("""
        def run(self, x, kind="b", twice=False):
            if kind == "a":
                return {"x": x}
            elif kind == "b":
                return x * 2 if twice else x
            return x, x
        def forward(self, x):
            return self.run(x)
        """)
    assert 'if not torch.jit.is_scripting() and kind == "a":' in text
    assert 'elif torch.jit.is_scripting() or kind == "b":' in text
    assert "if twice" in text


def test_a_loop_may_not_run_at_all() -> None:
    text = net("""
        def run(self, x, n: int, flag=True):
            for i in range(n):
                if flag:
                    return x
            return x, x
        def forward(self, x):
            return self.run(x, 2)
        """)
    assert "is_scripting" not in text


def test_arguments_are_handed_on() -> None:
    text = rewritten("""
        import torch
        from torch import nn

        mode = False

        def inner(x, flag):
            y = x + 1
            if flag:
                return x, y
            return y

        def other(x, flag=mode):
            y = x + 1
            return (x, y) if flag else y

        class Net(nn.Module):
            def run(self, x, flag=False, mode=True):
                return inner(x, flag), other(x), mode
            def forward(self, x):
                return self.run(x)
        """)
    assert "if not torch.jit.is_scripting() and flag:" in text
    assert "return (x, y) if flag else y" in text  # its default is a name, and not run's


def test_what_a_function_is_called_with_from_outside_may_be_anything() -> None:
    text = net("""
        def run(self, x, flag):
            return (x, x) if flag else x
        def forward(self, x, flag=False):
            return self.run(x, flag), self.run(x, False)
        """)
    assert "is_scripting" not in text


def test_a_name_is_given_what_is_returned() -> None:
    text = net("""
        def run(self, x, kind="pair"):
            if kind == "all":
                out = {"x": x}
            elif kind == "pair":
                out = x, x
            else:
                raise ValueError(kind)
            return out
        def forward(self, x):
            return self.run(x)
        """)
    assert 'if not torch.jit.is_scripting() and kind == "all":' in text
    assert 'elif kind == "pair":' in text


STACK = """
    import torch
    from torch import nn

    class Layer(nn.Module):
        def forward(self, x, mask=None, weights=False):
            if mask is not None:
                x = x * mask
            if weights:
                return x, x.softmax(-1)
            return x

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Layer(), Layer()])
        def forward(self, x, mask=None, weights=False):
            kept = []
            for layer in self.layers:
                if weights:
                    x, found = layer(x, mask, weights)
                    kept.append(found)
                else:
                    x = layer(x, mask, weights=weights)
            return (x, kept) if weights else x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stack = Stack()
        def forward(self, x):
            return self.stack(x) + self.stack(x, mask=x)
    """


def test_layers_that_hand_each_other_what_they_return(tmp_path: Path) -> None:
    module, source = imported(rewritten(STACK), tmp_path), imported(dedent(STACK), tmp_path)
    x = torch.randn(2, 3)
    compiled = jit_runtime.compile(module.Net())
    torch.testing.assert_close(compiled(x), source.Net()(x))
    eager, expected = (m.Stack()(x, weights=True)[1] for m in (module, source))
    torch.testing.assert_close(eager, expected)


def test_functions_of_files_without_modules() -> None:
    ops = """
        def attend(x, weights=False):
            y = x * 2
            return (y, y.softmax(-1)) if weights else y
        """
    net = """
        from torch import nn
        from .ops import attend as attention

        class Net(nn.Module):
            def forward(self, x):
                return attention(x)
        """
    files = {"pkg/__init__.py": "", "pkg/ops.py": ops, "pkg/net.py": net}
    assert "if not torch.jit.is_scripting() and weights" in rewritten(files, "pkg/ops.py")
    calls_other = files | {
        "pkg/other.py": "from .ops import attend\n\ndef f(x):\n    return attend(x, True)\n"
    }
    calls_other["pkg/net.py"] = net.replace("attention(x)", "attention(x), f(x)").replace(
        "from .ops", "from .other import f\n        from .ops"
    )
    assert "is_scripting" not in rewritten(calls_other, "pkg/ops.py")
