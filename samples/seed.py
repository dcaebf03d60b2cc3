"""The model with which PyTorch proposed `torch.jit.script(module)` in 2019, made runnable.

What to look at in the twin:

- `forward` and the method under `@torch.jit.export` are entry points: they get `@script_method`.
- `some_function` gets it too, because `forward` calls it. `describe` does not: nobody calls it.
- `a_called_model_entry_point` is not compiled with the module, but when it is first called on the
  compiled module. From then on it is saved too.
- `some_debugging_function` and `training_only_code` stay Python. The first one makes saving fail
  where compiled code calls it, as it does with `debug=True`; the second is dropped from the file.
- In `Attributes`, what cannot be inferred from a value is declared, and declarations become
  `Attribute(value, type)`. What is `Final` becomes a constant.
"""

from typing import Dict, List

import torch
from torch import Tensor, nn
from torch.jit import Final


class Submodule(nn.Module):
    def forward(self, x):
        return x + 2


class MyModule(nn.Module):
    debug: Final[bool]

    def __init__(self, debug: bool = False):
        super().__init__()
        self.debug = debug
        self.submodule1 = Submodule()
        self.submodule2 = torch.jit.script(Submodule())

    @torch.jit.ignore
    def some_debugging_function(self, x) -> None:
        # The proposal starts pdb here, which would wait for an answer.
        print("mean", x.mean().item())

    @torch.jit.ignore(drop_on_export=True)
    def training_only_code(self, x):
        import numpy

        return x + torch.from_numpy(numpy.random.randn(*x.shape)).to(x.dtype)

    @torch.jit.export
    def an_explicit_entry_point(self, x):
        return self.forward(x + 20)

    def a_called_model_entry_point(self, x):
        return self.forward(x + 20)

    def some_function(self, y):
        return y + 25

    def describe(self):
        return f"{type(self).__name__} with {len(list(self.children()))} children"

    def forward(self, x):
        # submodule1 is compiled with this module.
        x = x + self.submodule1(x)

        # submodule2 is already a ScriptModule.
        x = x + self.submodule2(x)

        # This compiles some_function.
        x = x + self.some_function(x)

        if self.training:
            x = x + self.training_only_code(x)

        # A module whose compiled code has this line cannot be saved.
        if self.debug:
            self.some_debugging_function(x)
        return x


class Attributes(nn.Module):
    my_float_list: List[float]
    my_table: Dict[str, int]
    my_constant: Final[int]

    def __init__(self):
        super().__init__()
        self.my_int_list = [2]  # the type can be inferred since it has elements
        self.my_float_list = []  # it cannot, and is given by the class
        self.my_table = {}
        self.my_int = 2
        self.my_constant = 2

    def forward(self, x: Tensor) -> Tensor:
        self.my_float_list.append(float(self.my_int))
        self.my_table["calls"] = len(self.my_float_list)
        return x * self.my_constant + self.my_int_list[0] + self.my_table["calls"]


def example():
    return torch.ones(2, 2)
