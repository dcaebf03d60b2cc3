"""Which classes are modules: by every way of naming `torch.nn.Module`, near and far."""

from __future__ import annotations

import sys

import pytest
from twins import classes, codes, rewritten, twin_of

SPELLINGS = {
    "nn.Module": "from torch import nn",
    "torch.nn.Module": "import torch",
    "tnn.Module": "import torch.nn as tnn",
    "Module": "from torch.nn import Module",
    "Base": "from torch.nn import Module as Base",
    "torch.nn.modules.Module": "import torch",
    "torch.nn.modules.module.Module": "import torch.nn.modules.module",
    "Alias": "import torch.nn as nn\nAlias = nn.Module",
    "Star": "from torch.nn import *\nStar = Module",
}


@pytest.mark.parametrize("base", SPELLINGS)
def test_every_spelling_of_the_base(base: str) -> None:
    source = f"{SPELLINGS[base]}\nclass Net({base}):\n    def forward(self, x):\n        return x\n"
    assert "class Net(ScriptModule):" in rewritten(source)


def test_a_base_in_another_file_through_reexport_star_and_relative_import() -> None:
    found = classes(
        {
            "pkg/__init__.py": "from .layers import *\n",
            "pkg/layers/__init__.py": "from .block import Block\n__all__ = ['Block']\n",
            "pkg/layers/block.py": "import torch.nn as nn\nclass Block(nn.Module): pass\n",
            "pkg/net.py": "from . import Block\nclass Net(Block): pass\n",
            "app.py": "import pkg\nclass App(pkg.Block): pass\n",
        }
    )
    assert {name for name, record in found.items() if record.rewritten} == {"Block", "Net", "App"}
    assert found["Net"].bases == ("Block",)  # it is a ScriptModule through Block


def test_a_module_that_shares_its_name_with_what_its_package_exports() -> None:
    """`from ..googlenet import Net` is the module, though the package has a function googlenet."""
    found = classes(
        {
            "pkg/__init__.py": "from .googlenet import googlenet\n",
            "pkg/googlenet.py": "from torch import nn\nclass Net(nn.Module): pass\n"
            "def googlenet(): return Net()\n",
            "pkg/sub/__init__.py": "from ..googlenet import Net\nclass Other(Net): pass\n",
        }
    )
    assert found["Other"].rewritten


def test_a_layer_that_a_library_ships_keeps_its_base() -> None:
    text = rewritten("""
        from torch import nn
        class My(nn.Conv2d):
            pass
        """)
    assert "class My(nn.Conv2d, ScriptModule):" in text


def test_a_model_of_an_installed_library_is_found_without_importing_it() -> None:
    pytest.importorskip("torchvision")
    loaded = sys.modules.pop("torchvision", None)
    try:
        text = rewritten("""
            import torchvision
            class My(torchvision.models.ResNet):
                pass
            """)
        assert "class My(torchvision.models.ResNet, ScriptModule):" in text
        assert "torchvision" not in sys.modules
    finally:
        if loaded is not None:
            sys.modules["torchvision"] = loaded


def test_a_class_inside_a_function() -> None:
    found = classes("""
        from torch import nn
        def make():
            class Local(nn.Module):
                def forward(self, x):
                    return x
            return Local()
        """)
    assert found["make.<locals>.Local"].rewritten
    assert not found["make.<locals>.Local"].constructible


def test_a_name_that_only_looks_like_a_module() -> None:
    source = """
        class Module: pass
        class Net(Module):
            def forward(self, x):
                return x
        """
    assert rewritten(source).strip().startswith("class Module: pass")


def test_the_fallback_of_a_failed_import_does_not_hide_the_class() -> None:
    found = classes(
        {
            "base.py": "from torch import nn\nclass Base(nn.Module): pass\n",
            "net.py": "try:\n    from base import Base\nexcept ImportError:\n    Base = None\n"
            "class Net(Base): pass\n",
        }
    )
    assert found["Net"].rewritten


def test_a_base_that_cannot_be_found_is_reported() -> None:
    twin = twin_of(
        {"net.py": "import lightning_xyz as L\nclass Net(L.Module):\n    def forward(self): pass\n"}
    )
    [finding] = twin.diagnostics
    assert (finding.code, finding.line) == ("JT102", 2)
    assert "lightning_xyz.Module" in finding.message


def test_and_only_once_however_many_classes_have_it() -> None:
    body = "    def forward(self): pass\n"
    source = f"import lightning_xyz as L\nclass A(L.M):\n{body}class B(L.M):\n{body}"
    [finding] = twin_of({"net.py": source}).diagnostics
    assert finding.kept == ("A", "B")


def test_bases_in_a_circle_are_no_module_and_no_crash() -> None:
    found = classes(
        {
            "a.py": "from b import B\nclass A(B): pass\n",
            "b.py": "from a import A\nclass B(A): pass\n",
        }
    )
    assert found == {}


def test_a_class_of_a_twin_is_left_alone() -> None:
    source = """
        import torch
        from jit_runtime import ScriptModule
        class Net(ScriptModule):
            def forward(self, x):
                return x
        """
    assert "script_method" not in rewritten(source)


def test_torch_itself_stays_as_it_is() -> None:
    """The runtime is built on it, so it could not import the runtime."""
    twin = twin_of(
        {
            "torch/__init__.py": "from . import nn\n",
            "torch/nn/__init__.py": "from .module import Module\nclass Linear(Module): pass\n",
            "torch/nn/module.py": "class Module: pass\n",
        }
    )
    assert all(file.content is None for file in twin.files)


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("class Net(nn.Module, abc.ABC):", "class Net(ScriptModule, abc.ABC):"),
        ("class Net(nn.Module, Generic[T]):", "class Net(ScriptModule, Generic[T]):"),
        (
            "class Net(nn.Module, metaclass=Meta):",
            "class Net(ScriptModule, metaclass=script_metaclass(Meta)):",
        ),
        (
            "class Net(Mixin, nn.Module):",
            "class Net(Mixin, ScriptModule, metaclass=script_metaclass(Mixin)):",
        ),
        (
            "class Net(nn.Module, Shaped):",
            "class Net(ScriptModule, Shaped, metaclass=script_metaclass(Shaped)):",
        ),
    ],
)
def test_metaclasses_are_joined(declaration: str, expected: str) -> None:
    source = f"""
import abc
from typing import Generic, Protocol, TypeVar
from torch import nn
T = TypeVar("T")
class Meta(type): pass
class Mixin(metaclass=Meta): pass
class Shaped(Protocol): pass
{declaration}
    pass
"""
    assert expected in rewritten(source)


def test_a_class_that_stays_does_not_keep_its_subclass_back() -> None:
    found = classes("""
        from torch import nn
        class Base(nn.Module):
            def forward(self, *xs):
                return xs[0]
        class Net(Base):
            def forward(self, x):
                return x
        """)
    assert codes(found["Base"]) == ["JT101"]
    assert found["Net"].rewritten
    assert found["Net"].bases == ("Base", "ScriptModule")


@pytest.mark.parametrize(
    "binding",
    [
        "Base = wrap(nn.Module)",
        "Base = nn.Module\nBase = wrap(Base)",
        "if FLAG: Base = wrap(nn.Module)\nelse: Base = nn.Module",
    ],
)
def test_a_base_that_is_worked_out_when_the_program_runs(binding: str) -> None:
    source = f"from torch import nn\n{binding}\nclass Net(Base):\n    def forward(self, x): pass\n"
    assert rewritten(source) == source
    [finding] = twin_of({"net.py": source}).diagnostics
    assert "the base Base is worked out when the program runs" in str(finding)


def test_what_stands_in_for_a_missing_library_hides_nothing() -> None:
    text = rewritten(
        "try:\n    from torch import nn\nexcept ImportError:\n    nn = None\n"
        "class Net(nn.Module):\n    def forward(self, x): pass\n"
    )
    assert "class Net(ScriptModule):" in text


needs_room = pytest.mark.skipif(
    sys.version_info[:2] == (3, 12),
    reason="Python 3.12 limits nested calls into C; the tool then says so, in one line",
)


@pytest.mark.parametrize(
    "deep",
    [
        pytest.param("total = " + " + ".join(["1"] * 900), marks=needs_room, id="operators"),
        pytest.param(
            "if n == 0: pass\n" + "".join(f"elif n == {i}: pass\n" for i in range(700)),
            marks=needs_room,
            id="elif",
        ),
        pytest.param(
            "A0 = nn.Module\n" + "".join(f"A{i + 1} = A{i}\n" for i in range(700)), id="aliases"
        ),
    ],
)
def test_a_source_that_is_nested_deeply(deep: str) -> None:
    text = rewritten(f"from torch import nn\nA700 = nn.Module\n{deep}\nclass Net(A700): pass\n")
    assert "class Net(ScriptModule): pass" in text
