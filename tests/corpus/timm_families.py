"""The smallest model of each family of timm: of each of its modules with registered models.

    python timm_families.py > timm_families.json

Every model is built without memory, on the meta device, and its parameters are counted; of equal
ones the first by name is taken. A model whose constructor reads values of tensors cannot be built
there and is left out, unless its family has no other. That takes some minutes, so the list is kept
as data; renew it when timm changes.
"""

from __future__ import annotations

import json
import sys
import warnings

import timm
import torch


def parameters(name: str) -> int | None:
    """How many a model has; None when it cannot be built on the meta device."""
    try:
        with torch.device("meta"):
            model = timm.create_model(name)
    except (RuntimeError, NotImplementedError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None
    return sum(parameter.numel() for parameter in model.parameters())


def smallest(family: str) -> str | None:
    """The model of a family with the fewest parameters; None when it has no models."""
    names = timm.list_models(module=family)
    counted = {name: count for name in names if (count := parameters(name)) is not None}
    return min(counted or names, key=lambda name: (counted.get(name, 0), name), default=None)


def main() -> None:
    warnings.simplefilter("ignore")
    chosen = {family: smallest(family) for family in timm.list_modules()}
    families = {family: name for family, name in chosen.items() if name}
    print(json.dumps({"timm": timm.__version__, "families": families}, indent=2))


if __name__ == "__main__":
    main()
