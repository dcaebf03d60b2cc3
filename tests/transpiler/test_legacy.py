"""Sources that use the legacy API already are carried over to the runtime's spelling."""

from __future__ import annotations

import pytest
from twins import classes, rewritten

LEGACY = """
    from typing import List
    import torch
    from torch import nn

    class Old(torch.jit.ScriptModule):
        __constants__ = ['n']
        ys = torch.jit.Attribute([], List[str])

        def __init__(self):
            super(Old, self).__init__()
            self.n = 3
            self.xs = torch.jit.Attribute([], List[int])

        @torch.jit.script_method
        def helper(self, x):
            return x * self.n

        @torch.jit.script_method
        def forward(self, x):
            self.xs.append(3)
            return x

    class New(nn.Module):
        def __init__(self):
            super().__init__()
            self.old = Old()

        def forward(self, x):
            return self.old(x)
"""


@pytest.mark.parametrize(
    "expected",
    [
        "class Old(ScriptModule):",
        "    ys = Attribute([], List[str])\n",
        "        self.xs = Attribute([], List[int])\n",
        "    @export\n    @script_method\n    def helper(self, x):",  # an entry point, as it was
        "    @script_method\n    def forward(self, x):\n        self.xs",
        "class New(ScriptModule):",
    ],
)
def test_each_spelling(expected: str) -> None:
    text = rewritten(LEGACY)
    assert expected in text
    assert "torch.jit" not in text


def test_hand_written_script_methods_are_entry_points() -> None:
    assert classes(LEGACY)["Old"].methods == {"forward": "entry point", "helper": "exported"}


def test_the_type_that_the_source_gives_an_attribute() -> None:
    found = classes(LEGACY)["Old"].attributes["xs"]
    assert found == {"type": "List[int]", "origin": "Attribute", "source": "declared"}


def test_names_that_were_imported_from_torch_keep_their_meaning() -> None:
    text = rewritten("""
        from torch.jit import ScriptModule, script_method
        class Old(ScriptModule):
            @script_method
            def forward(self, x):
                return x
        """)
    assert "class Old(jit_runtime.ScriptModule):" in text
    assert "@jit_runtime.script_method\n" in text


def test_an_attribute_that_the_source_wraps_is_not_wrapped_again() -> None:
    text = rewritten("""
        from typing import List
        import torch
        from torch import nn
        class Net(nn.Module):
            xs: List[int]
            def __init__(self):
                super().__init__()
                self.xs = torch.jit.Attribute([], List[int])
            def forward(self, x):
                return self.xs
        """)
    assert text.count("Attribute(") == 1
