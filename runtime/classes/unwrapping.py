"""`unwrap(value)`: an Optional that is known not to be None."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import torch

T = TypeVar("T")

if TYPE_CHECKING:

    def unwrap(value: T | None) -> T:
        """The value itself, whose type then leaves None out.

        Raises AssertionError in eager code, and RuntimeError once compiled, when it is None.
        Source: `torch.jit._unwrap_optional`.
        """
else:
    # TorchScript knows this very function as `aten::_unwrap_optional`.
    unwrap = torch.jit._unwrap_optional
