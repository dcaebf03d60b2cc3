"""What `jit_runtime` exports; importing it imports torch."""

from .api import compile, load, save, verify
from .classes.attribute import Attribute
from .classes.constants import constant
from .classes.decorators import Final, export, ignore, script_method, unused
from .classes.metaclass import script_metaclass
from .classes.unwrapping import unwrap
from .compilation.serialization import code, graph, load_module
from .errors import (
    ArtifactError,
    AttributeTypeWarning,
    CompilationError,
    SaveError,
    UncompiledSubmoduleWarning,
    VerificationError,
)
from .script_module import ScriptModule
from .sessions.allocator import keep_memory
from .sessions.examples import Examples
from .sessions.plan import Plan
from .sessions.session import Session
from .sessions.signature import Signature
from .sessions.verification import Verification

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
    "keep_memory",
    "load",
    "load_module",
    "save",
    "script_metaclass",
    "script_method",
    "unused",
    "unwrap",
    "verify",
]
