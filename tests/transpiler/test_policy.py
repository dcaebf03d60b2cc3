"""Rules from outside the code, for sources that cannot be changed."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from file_trees import make_tree
from jit_transpile import transpile
from jit_transpile.config import Policy
from jit_transpile.diagnostics import UsageError
from twins import classes, rewritten

SOURCE = """
    import torch
    from torch import nn

    def helper(x):
        return x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 2

        @torch.jit.export
        def encode(self, x):
            return x

        def debug(self, x):
            return (lambda y: y)(x)

        def forward(self, x):
            return self.debug(helper(x)) * self.scale
"""


def test_an_exported_method_is_an_entry_point() -> None:
    policy = Policy(export=("net.Net.debug",))
    source = SOURCE.replace("(lambda y: y)(x)", "x").replace("self.debug(helper(x))", "helper(x)")
    assert "    @export\n    @script_method\n    def debug(self, x):" in rewritten(
        source, policy=policy
    )
    found = classes(source, policy)["Net"]
    assert found.methods["debug"] == "exported by export net.Net.debug"
    assert found.policy == {"debug": "export net.Net.debug"}


def test_an_ignored_method_is_left_to_python() -> None:
    policy = Policy(ignore=("net.Net.debug",))
    assert "    @ignore\n    def debug(self, x):" in rewritten(SOURCE, policy=policy)
    assert classes(SOURCE, policy)["Net"].rewritten  # the lambda no longer matters


def test_an_unused_function() -> None:
    assert "@unused\ndef helper(x):" in rewritten(SOURCE, policy=Policy(unused=("net.helper",)))


def test_a_rule_beats_the_decorator_in_the_source() -> None:
    text = rewritten(SOURCE, policy=Policy(ignore=("net.Net.encode", "net.Net.debug")))
    assert "    @ignore\n    def encode(self, x):" in text
    assert "@torch.jit.export" not in text


def test_a_class_stands_for_its_methods_and_an_asterisk_for_anything() -> None:
    for pattern in ("net.Net", "net.*"):
        text = rewritten(SOURCE, policy=Policy(unused=(pattern,)))
        assert text.count("@unused\n    def") == 3
        assert "@unused\n    def __init__" not in text


def test_the_more_literal_rule_decides() -> None:
    policy = Policy(ignore=("net.Net.*",), export=("net.Net.encode",))
    assert classes(SOURCE, policy)["Net"].policy["encode"] == "export net.Net.encode"


def test_two_rules_that_contradict_each_other() -> None:
    policy = Policy(ignore=("net.Net.encode",), export=("net.Net.encode",))
    with pytest.raises(UsageError, match=r"export net\.Net\.encode and ignore net\.Net\.encode"):
        rewritten(SOURCE, policy=policy)


def test_a_constant() -> None:
    policy = Policy(constants=("net.*.scale",), ignore=("net.Net.debug",))
    text = rewritten(SOURCE, policy=policy)
    assert '    __constants__ = ["scale"]\n' in text
    assert "self.scale = 2\n" in text


def test_a_name_that_means_nothing_is_an_error_with_the_nearest_names() -> None:
    with pytest.raises(UsageError, match=r"Net\.encod matches nothing .* net\.Net\.encode"):
        rewritten(SOURCE, policy=Policy(export=("net.Net.encod",)))
    with pytest.raises(UsageError, match=r"constants net\.Net\.scal matches nothing"):
        rewritten(SOURCE, policy=Policy(constants=("net.Net.scal",)))


def test_from_the_command_line_and_the_configuration(tmp_path: Path) -> None:
    src = make_tree(
        tmp_path / "src",
        {
            "net.py": dedent(SOURCE),
            "pyproject.toml": '[tool.jit-transpile]\nignore = ["net.Net.debug"]\n',
        },
    )
    twin = transpile(src, tmp_path / "out", compile=False, unused=["net.helper"])
    text = (tmp_path / "out" / "net.py").read_text()
    assert "@ignore\n    def debug" in text
    assert "@unused\ndef helper" in text
    assert twin.classes[0].policy == {"debug": "ignore net.Net.debug"}


def test_a_base_from_a_library_that_is_not_installed() -> None:
    source = """
        import lightning_xyz as L
        class Net(L.LightningModule):
            def forward(self, x):
                return x
        """
    text = rewritten(source, policy=Policy(module_bases=("lightning_xyz.LightningModule",)))
    assert "class Net(L.LightningModule, ScriptModule):" in text
