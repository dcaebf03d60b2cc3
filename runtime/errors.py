"""What the runtime raises and warns of."""

from __future__ import annotations

import warnings


class Finding(Exception):
    """What a check itself found out: its text says all."""


class CompilationError(RuntimeError):
    """A module that TorchScript would compile, but whose compiled code would not do as eager does.

    Errors of TorchScript itself are passed on as torch raises them.
    """


class VerificationError(CompilationError):
    """A compiled module whose results differ from those of the eager one."""


class ArtifactError(RuntimeError):
    """A file that is no artifact, or one that cannot be used here. Nothing of it was executed."""


class MissingArtifactError(ArtifactError):
    """There is no such file."""


class ForeignFileError(ArtifactError):
    """A file of another kind."""


class DamagedArtifactError(ArtifactError):
    """A file that is cut off, or was altered after it was written."""


class NewerArtifactError(ArtifactError):
    """A file that a newer version wrote, in a way that this one does not know."""


class SaveError(RuntimeError):
    """A compiled module that cannot be saved, for its code calls Python."""


class AttributeTypeWarning(UserWarning):
    """A declared type that the value contradicts: TorchScript's own inference is used instead."""


class UncompiledSubmoduleWarning(UserWarning):
    """A submodule that does not compile and that no compiled method reaches.

    The compiled module carries its parameters and buffers, without its code.
    """


def warn_of_uncompiled(module: object, error: Exception) -> None:
    """Tell that a submodule is carried without code, and why it does not compile."""
    reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    warnings.warn(
        f"submodule {type(module).__name__} does not compile, and no compiled method calls it: its "
        f"parameters and buffers are kept, its code is not ({reason.strip()})",
        UncompiledSubmoduleWarning,
        stacklevel=3,
    )
