"""What `jit_runtime` exports; importing it imports torch."""

from .api import compile, load, save, verify
from .attribute import Attribute
from .constants import constant
from .decorators import Final, export, ignore, script_method, unused
from .errors import (
    ArtifactError,
    AttributeTypeWarning,
    CompilationError,
    SaveError,
    UncompiledSubmoduleWarning,
    VerificationError,
)
from .examples import Examples
from .metaclass import script_metaclass
from .plan import Plan
from .script_module import ScriptModule
from .serialization import code, graph, load_module
from .session import Session
from .signature import Signature
from .unwrapping import unwrap
from .verification import Verification

__all__ = [
    "ArtifactError",
    "Attribute",
    "AttributeTypeWarning",
    "CompilationError",
    "Examples",
    "Final",
    "Plan",
    "SaveError",
    "ScriptModule",
    "Session",
    "Signature",
    "UncompiledSubmoduleWarning",
    "Verification",
    "VerificationError",
    "code",
    "compile",
    "constant",
    "export",
    "graph",
    "ignore",
    "load",
    "load_module",
    "save",
    "script_metaclass",
    "script_method",
    "unused",
    "unwrap",
    "verify",
]
