"""`compile(module)`: a tree of modules becomes TorchScript, children first, all of it or none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import nn

from ..checks.aliases import check_aliases
from ..checks.compiled_code import CompiledCodeCheck
from ..checks.frozen_writes import refuse_frozen_writes
from ..checks.numpy_meaning import record_origins, refuse_other_meaning
from ..checks.overrides import refuse_own_call, refuse_own_setattr
from ..classes.metaclass import is_twin
from ..errors import CompilationError, warn_of_uncompiled
from ..torch_internals import (
    ConcreteType,
    CppModule,
    add_method,
    check_initialized,
    create_script_module,
    interface_methods,
)
from .annotations import class_annotations
from .compiled_state import (
    adopt,
    carried_state,
    freeze_names,
    guard,
    is_compiled,
    mark_called_by,
    with_children,
)
from .compiler import compiling, lock
from .declarations import (
    Declarations,
    changed_values,
    hidden_values,
    shown_to_torch,
    untyped_empties,
)
from .late import compile_late
from .properties import left_to_python, unmentioned_properties
from .python_calls import python_calls
from .type_recipes import record_stubs

M = TypeVar("M", bound=nn.Module)


@dataclass
class Built:
    """What became of one module, before any module of the tree is changed."""

    original: nn.Module
    result: nn.Module  # a twin itself, which is compiled in place; a script module for others
    cpp: CppModule
    concrete_type: ConcreteType
    children: dict[str, nn.Module]
    constants: dict[str, Any]
    reads: dict[str, list[tuple[nn.Module, str]]]


class _CycleError(CompilationError):
    """A module is its own descendant; there is nothing to carry then."""


class Compilation:
    """One run over a tree of modules.

    Everything is built beside the modules, and `commit` then puts it in their place: a run that
    fails has changed nothing.
    """

    def __init__(self) -> None:
        self._built: dict[int, Built] = {}
        self._in_progress: list[nn.Module] = []
        self._failed: dict[int, Exception] = {}
        self._check = CompiledCodeCheck()

    def build(self, module: nn.Module, methods: list[str] | None = None) -> nn.Module:
        """Compile a module after its children, and return what stands for it in compiled code.

        `methods` are compiled beside the module's own entry points, for an interface asks for them.
        """
        if is_compiled(module):
            _add_late(module, methods or [])
            return module
        if not is_twin(module) and hasattr(module, "__prepare_scriptable__"):
            prepared: Any = module
            module = prepared.__prepare_scriptable__()
        if self.is_in_progress(module):
            raise _CycleError(
                f"{type(module).__name__} contains itself as a submodule; TorchScript has no "
                "cycles. Keep the reference to a parent in a list: self.parent = [parent]."
            )
        built = self._built.get(id(module))
        if built is None:
            self._in_progress.append(module)
            try:
                built = self._built[id(module)] = self._compile(module)
            finally:
                self._in_progress.pop()
        for name in methods or ():
            if not built.cpp._has_method(name):
                add_method(module, name, built.concrete_type)
        return built.result

    def _compile(self, module: nn.Module) -> Built:
        check_initialized(module)
        _refuse_hooks(module)
        annotations = class_annotations(type(module))
        children = {
            name: None
            if child is None
            else self._child(child, interface_methods(annotations.get(name)))
            for name, child in module._modules.items()
        }
        try:
            return self._compile_with(module, children)
        except Exception as error:
            failed = [self._failed[id(c)] for c in module.children() if id(c) in self._failed]
            if failed and _reaches_uncompiled(error):
                raise failed[0] from None
            raise

    def _child(self, child: nn.Module, methods: list[str]) -> nn.Module:
        """Compile a child. One that fails is carried: whether that matters its parent will show."""
        try:
            refuse_own_call(child)
            return self.build(child, methods)
        except _CycleError:
            raise
        except Exception as error:
            self._failed[id(child)] = error
            self._built[id(child)] = built = self._carry(child)
            return built.result

    def _carry(self, module: nn.Module) -> Built:
        """The parameters and buffers of a module that does not compile, without its code."""
        carrier = UncompiledModule()
        for kind in ("training", "_parameters", "_buffers"):
            carrier.__dict__[kind] = module.__dict__[kind]
        children = {
            name: None if child is None else self._carried(child)
            for name, child in module._modules.items()
        }
        script_module = create_script_module(with_children(carrier, children), record_stubs)
        _carry_state(module, script_module)
        return _built_from(module, script_module)

    def _carried(self, child: nn.Module) -> nn.Module:
        built = self._built.get(id(child))
        if built is None and not is_compiled(child):
            built = self._built[id(child)] = self._carry(child)
        return child if built is None else built.result

    def _compile_with(self, module: nn.Module, children: dict[str, nn.Module | None]) -> Built:
        if is_twin(module):
            declarations = Declarations(module)
            script_module = self._create(module, declarations, children)
            reads = declarations.reads
            constants = declarations.constant_values()
        else:
            script_module, reads, constants = _create_library_module(module, children), {}, {}
        built = _built_from(module, script_module, constants, reads)
        self._check.check_methods(type(module), built.cpp)
        refuse_other_meaning(module, built.cpp)
        refuse_own_setattr(module, built.cpp)
        return built

    def _create(
        self, module: nn.Module, declarations: Declarations, children: dict[str, nn.Module | None]
    ) -> Any:
        with shown_to_torch(module, declarations, children):
            try:
                return _script(module)
            except Exception as error:
                held = _UNFIT.search(str(error))
                if held is None or not declarations.leave_to_python(held["name"]):
                    reasons = _reasons(module, declarations, error)
                    if reasons:
                        raise CompilationError("\n".join([str(error), *reasons])) from error
                    raise
        return self._create(module, declarations, children)

    def pending(self, module: nn.Module) -> Built | None:
        """What was built for a module in this run; None while its turn has not come or lasts."""
        return self._built.get(id(module))

    def is_in_progress(self, module: nn.Module) -> bool:
        """Whether the module is being compiled now, so that torch must not find it compiled."""
        return any(module is other for other in self._in_progress)

    def commit(self) -> None:
        """Make every twin of the tree compiled, and tell of what was left without code.

        Raises CompilationError for what can only be told of the whole tree.
        """
        check_aliases((built.original, built.cpp) for built in self._built.values())
        frozen = self._frozen()
        for key, built in self._built.items():
            refuse_frozen_writes(built.cpp, frozen[key][1] if key in frozen else {})
        for key, error in self._failed.items():
            warn_of_uncompiled(self._built[key].original, error)
        for built in self._built.values():
            if is_twin(built.original):
                record_origins(built.original)
                adopt(built.original, built.cpp, built.concrete_type, built.children)
                built.original.__dict__.update(built.constants)
            for child in filter(is_twin, built.children.values()):
                mark_called_by(child, built.original)
        for key, (module, readers) in frozen.items():
            freeze_names(self._built[key].result if key in self._built else module, readers)

    def _frozen(self) -> dict[int, tuple[nn.Module, dict[str, str]]]:
        """By module, the attributes that constants were computed from, each with one of them."""
        found: dict[int, tuple[nn.Module, dict[str, str]]] = {}
        for built in self._built.values():
            for constant, reads in built.reads.items():
                reader = f"{type(built.original).__name__}.{constant}"
                for module, name in reads:
                    found.setdefault(id(module), (module, {}))[1][name] = reader
        return found


# An object that is no module, of a class that TorchScript compiled but whose attributes it took for
# other types than they have: most often a configuration.
_UNFIT = re.compile(r"Could not cast attribute '(?P<name>\w+)' to type __torch__\.")


def _reasons(module: nn.Module, declarations: Declarations, error: Exception) -> list[str]:
    """What is known of why the module did not compile, beyond the error itself."""
    failed = [
        f"@constant {type(module).__name__}.{name} could not be evaluated: {reason!r}"
        for name, reason in declarations.failed.items()
        if name in str(error)
    ]
    return failed + _about_empties(module, declarations.types, error)


def _about_empties(module: nn.Module, types: dict[str, Any], error: Exception) -> list[str]:
    """What to do about empty lists and dicts of the module that the error names."""
    cls = type(module).__name__
    return [
        f"{cls}.{name} is empty, so that its type cannot be inferred. Annotate it in class {cls}, "
        f"with the type of what it will hold: {annotation}"
        for name, annotation in untyped_empties(module, types).items()
        if f"'{name}'" in str(error)
    ]


def _add_late(module: Any, methods: list[str]) -> None:
    if is_twin(module):
        for name in methods:
            if not module._c._has_method(name):
                compile_late(module._concrete_type, name, module)


def _create_library_module(module: nn.Module, children: dict[str, nn.Module | None]) -> Any:
    """Script a module of a library, as torch does, with its compiled children in their places."""
    view = with_children(module, children)
    view.__dict__.update(changed_values(module))
    view.__dict__.update(hidden_values(module))
    try:
        script_module = _script(view)
    except Exception as error:
        reasons = _about_empties(module, class_annotations(type(module)), error)
        if reasons:
            raise CompilationError("\n".join([str(error), *reasons])) from error
        raise
    _carry_state(module, script_module)
    if any(True for _ in python_calls(script_module._c)):
        guard(script_module)
    return script_module


def _script(module: nn.Module) -> Any:
    """Script a module; should that fail, without the properties that its methods do not name.

    Many models have a property such as `device` that Python alone can evaluate, and that only
    Python reads. Compiled code of another module that reads it is then told that it is not there.
    """
    try:
        return create_script_module(module, record_stubs)
    except Exception:
        properties = unmentioned_properties(type(module))
        if not properties:
            raise
    with left_to_python(type(module), properties):
        return create_script_module(module, record_stubs)


def _carry_state(module: nn.Module, script_module: Any) -> None:
    for name in carried_state(module):
        script_module.__dict__[name] = module.__dict__[name].copy()


def _built_from(
    module: nn.Module,
    script_module: Any,
    constants: dict[str, Any] | None = None,
    reads: dict[str, list[tuple[nn.Module, str]]] | None = None,
) -> Built:
    return Built(
        original=module,
        result=module if is_twin(module) else script_module,
        cpp=script_module._c,
        concrete_type=script_module._concrete_type,
        children=dict(script_module._modules.items()),
        constants=constants or {},
        reads=reads or {},
    )


class UncompiledModule(nn.Module):
    """What stands in compiled code for a module that does not compile."""


def _reaches_uncompiled(error: Exception) -> bool:
    """Whether compiled code calls, or reads something of, an UncompiledModule."""
    reached = (UncompiledModule.__name__, "_forward_unimplemented")
    return any(name in str(error) for name in reached)


def _refuse_hooks(module: nn.Module) -> None:
    for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values()):
        if not hasattr(hook, "__name__"):  # an object, as of weight normalisation and pruning
            raise CompilationError(
                f"{type(module).__name__} has a forward hook, {type(hook).__name__}, which "
                "TorchScript cannot compile: make what it computes permanent, for example with "
                "torch.nn.utils.remove_weight_norm or torch.nn.utils.prune.remove"
            )
    if module._backward_hooks or module._backward_pre_hooks:
        raise CompilationError(
            f"{type(module).__name__} has backward hooks, which compiled code would not run: "
            "gradients would differ. Remove them before compilation, or hook tensors instead."
        )


_current: Compilation | None = None


def compile(module: M) -> M:
    """Compile a module and what it contains, in place, and return it. Twice is as once.

    Library modules within become what `torch.jit.script` makes of them, and a library module
    itself is returned as that. Raises CompilationError for what would compile to something else
    than eager computes, and torch's own errors; the module is then as it was, and usable.
    """
    global _current
    if not isinstance(module, nn.Module):
        if isinstance(module, torch.jit.ScriptFunction):
            return module
        raise TypeError(f"compile takes a module, not {type(module).__name__}")
    if is_compiled(module):
        return module
    with lock:
        if _current is not None:  # a module that is met while another compiles
            return _current.build(module)  # type: ignore[return-value]
        _current = Compilation()
        try:
            with compiling():
                result = _current.build(module)
            _current.commit()
        finally:
            _current = None
    return result  # type: ignore[return-value]


def torch_state(module: nn.Module, name: str) -> Any:
    """The module in C++ (`_c`) or its concrete type, for torch, which reads them: compile first.

    While the module is being compiled it has none yet: AttributeError.
    """
    with lock:
        if _current is not None:
            if _current.is_in_progress(module):
                raise AttributeError(f"{type(module).__name__} is being compiled")
            _current.build(module)
            built = _current.pending(module)
            if built is not None:
                return built.cpp if name == "_c" else built.concrete_type
        try:
            compile(module)
        except AttributeError as error:
            # Python would take it for "there is no such attribute", and lose the reason.
            raise CompilationError(f"{type(module).__name__} does not compile: {error}") from error
        return module.__dict__[name]
