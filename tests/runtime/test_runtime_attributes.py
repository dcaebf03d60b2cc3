"""`Attribute(value, type)` records a TorchScript type for one instance."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035

import jit_runtime
import pytest
import torch
from jit_runtime import Attribute, AttributeTypeWarning, ScriptModule
from torch import Tensor, nn


class Holder(ScriptModule):
    def __init__(self, value: Any, type: Any) -> None:
        self.early = Attribute(1, float)
        super().__init__()
        self.value = Attribute(value, type)

    def forward(self):
        return self.value


def torchscript_type(module: Holder) -> str:
    return str(jit_runtime.compile(module).forward.schema.returns[0].type)


def test_the_value_is_stored_as_it_is():
    values = [1]
    holder = Holder(values, List[int])  # noqa: UP006
    assert holder.value is values and holder.early == 1


@pytest.mark.parametrize(
    ("value", "type", "expected"),
    [
        (3, float, "float"),
        ([], List[int], "List[int]"),  # noqa: UP006
        ([], list[int], "List[int]"),
        ({}, Dict[str, Tensor], "Dict[str, Tensor]"),  # noqa: UP006
        (None, Optional[Tensor], "Optional[Tensor]"),  # noqa: UP045
        (3, int | None, "Optional[int]"),
        ((1, 2), Tuple[int, float], "Tuple[int, float]"),  # noqa: UP006
    ],
)
def test_the_type_is_torchscripts(value, type, expected):
    assert torchscript_type(Holder(value, type)) == expected


def test_ints_under_float_are_converted_at_compilation_only():
    holder = Holder([1, 2], List[float])  # noqa: UP006
    assert [type(v) for v in holder.value] == [int, int]
    jit_runtime.compile(holder)
    assert [type(v) for v in holder.value] == [float, float]
    assert type(holder.early) is float


def test_types_belong_to_instances():
    ints, floats = Holder([], list[int]), Holder([], list[float])
    assert torchscript_type(ints) == "List[int]"
    assert torchscript_type(floats) == "List[float]"


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_the_type(duplicate):
    assert torchscript_type(duplicate(Holder([], list[int]))) == "List[int]"


def test_deleting_the_attribute_drops_the_type():
    holder = Holder(3, float)
    del holder.value
    holder.value = 3
    assert torchscript_type(holder) == "int"


@pytest.mark.parametrize(("value", "type"), [(3.5, int), (True, int), (2, bool), (None, int)])
def test_a_type_that_the_value_contradicts_is_not_used(value, type):
    class Fresh(Holder):
        pass

    with pytest.warns(AttributeTypeWarning, match=r"Fresh.value is declared .* but holds") as told:
        holder = jit_runtime.compile(Fresh(value, type))
        jit_runtime.compile(Fresh(value, type))
    assert holder.value is value or holder.value == value
    assert len(told) == 1


def test_parameters_buffers_and_submodules_ignore_it():
    class Odd(ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            self.weight = Attribute(nn.Parameter(torch.ones(1)), int)
            self.child = Attribute(nn.Identity(), int)
            self.register_buffer("state", torch.ones(1))
            self.state = Attribute(torch.ones(1), int)

        def forward(self, x: Tensor) -> Tensor:
            return self.child(x) * self.weight * self.state

    odd = jit_runtime.compile(Odd())
    assert list(odd.state_dict()) == ["weight", "state"]
    assert torch.equal(odd(torch.ones(1)), torch.ones(1))


@pytest.mark.parametrize("kind", [Attribute, torch.jit.Attribute])
def test_in_a_class_body_it_is_an_attribute_of_each_instance(kind):
    class Shared(ScriptModule):
        steps = kind(3, float)

        def forward(self, x: Tensor) -> Tensor:
            self.steps += 1
            return x * self.steps

    first, second = Shared(), Shared()
    assert first.steps == 3 and Shared.steps == 3
    jit_runtime.compile(first)(torch.ones(1))
    assert first.steps == 4.0 and second.steps == 3 and Shared.steps == 3


def test_annotations_of_all_bases_count_as_strings_too():
    class Base(ScriptModule):
        names: List[int]  # noqa: UP006

    class Derived(Base):
        scale: float
        hook: CallableOnlyForTypeCheckers  # noqa: F821

        def __init__(self) -> None:
            super().__init__()
            self.names = []
            self.scale = 2
            self.hook = print

        def forward(self, x: Tensor) -> Tensor:
            return x * self.scale + len(self.names)

    derived = jit_runtime.compile(Derived())
    assert derived.names == [] and type(derived.scale) is float


def test_an_annotation_that_torchscript_does_not_know_leaves_the_rest_alone():
    class Configured(ScriptModule):
        config: dict

        def __init__(self) -> None:
            super().__init__()
            self.config = {"scale": 2}

        def forward(self, x: Tensor) -> Tensor:
            return x * self.config["scale"]

    assert torch.equal(jit_runtime.compile(Configured())(torch.ones(1)), torch.full((1,), 2.0))
