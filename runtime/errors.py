"""What the runtime raises and warns of."""

from __future__ import annotations


class CompilationError(RuntimeError):
    """A module that TorchScript would compile, but whose compiled code would not do as eager does.

    Errors of TorchScript itself are passed on as torch raises them.
    """


class AttributeTypeWarning(UserWarning):
    """A declared type that the value contradicts: TorchScript's own inference is used instead."""


class UncompiledSubmoduleWarning(UserWarning):
    """A submodule that does not compile and that no compiled method reaches.

    The compiled module carries its parameters and buffers, without its code.
    """
