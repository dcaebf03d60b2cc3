"""What `jit_runtime` exports; importing it imports torch."""

from .attribute import Attribute
from .compilation import compile
from .constants import constant
from .decorators import Final, export, ignore, script_method, unused
from .errors import AttributeTypeWarning, CompilationError, SaveError, UncompiledSubmoduleWarning
from .metaclass import script_metaclass
from .script_module import ScriptModule
from .serialization import code, graph, load, save
from .unwrapping import unwrap

__all__ = [
    "Attribute",
    "AttributeTypeWarning",
    "CompilationError",
    "Final",
    "SaveError",
    "ScriptModule",
    "UncompiledSubmoduleWarning",
    "code",
    "compile",
    "constant",
    "export",
    "graph",
    "ignore",
    "load",
    "save",
    "script_metaclass",
    "script_method",
    "unused",
    "unwrap",
]
