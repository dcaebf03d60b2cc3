"""Concrete types are recorded as they are made, so that they can be made again for a trial.

TorchScript cannot take a method back: one that fails to compile stays on its type, half made, is
said to be redefined at the next try, and spoils every later save. So what is compiled late is
compiled on a copy of the types first. This uses private parts of torch, as `torch_internals` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ..torch_internals import ConcreteType, create_methods, define_container_methods

_Builder: Any = torch._C.ConcreteModuleTypeBuilder


@dataclass
class Recipe:
    """How a concrete type came about."""

    py_class: type
    calls: list[tuple[str, tuple[Any, ...]]]  # of the builder
    methods: list[Any] = field(default_factory=list)  # stubs of the entry points
    properties: list[Any] = field(default_factory=list)


# Concrete types live as long as the process, for torch keeps them.
_recipes: dict[ConcreteType, Recipe] = {}


class RecordedBuilder(_Builder):  # type: ignore[misc]
    """torch's builder of concrete types, which takes down what it is told."""

    def __init__(self, py_class: type) -> None:
        super().__init__(py_class)
        self._recipe = Recipe(py_class, [])

    def build(self) -> ConcreteType:
        """As `ConcreteModuleTypeBuilder.build`."""
        concrete_type = super().build()
        _recipes[concrete_type] = self._recipe
        return concrete_type


def _recorded(name: str) -> Callable[..., Any]:
    def call(self: RecordedBuilder, *args: Any) -> Any:
        self._recipe.calls.append((name, args))
        return getattr(_Builder, name)(self, *args)

    return call


for _name in dir(_Builder):
    if _name.startswith(("add_", "set_")):
        setattr(RecordedBuilder, _name, _recorded(_name))


def record_stubs(concrete_type: ConcreteType, methods: list[Any], properties: list[Any]) -> None:
    """Remember what is compiled for a type that was made here."""
    recipe = _recipes.get(concrete_type)
    if recipe is not None:
        recipe.methods += methods
        recipe.properties += properties


class TrialTypes:
    """Copies of concrete types with all below them, which nothing else refers to."""

    def __init__(self) -> None:
        self._copies: dict[ConcreteType, ConcreteType] = {}

    def copy_of(self, concrete_type: ConcreteType) -> ConcreteType:
        """The copy, its entry points compiled; of types made elsewhere the type itself."""
        recipe = _recipes.get(concrete_type)
        if recipe is None:
            return concrete_type
        if concrete_type not in self._copies:
            builder = _Builder(recipe.py_class)
            for name, args in recipe.calls:
                if name == "add_module":
                    args = (args[0], self.copy_of(args[1]))
                getattr(builder, name)(*args)
            copy = self._copies[concrete_type] = builder.build()
            define_container_methods(copy)
            create_methods(copy, recipe.methods, recipe.properties)
        return self._copies[concrete_type]

    def __iter__(self) -> Iterator[ConcreteType]:
        return iter(self._copies.values())
