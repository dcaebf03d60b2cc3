"""Every private function of torch that the runtime uses, behind a name that says what for.

TorchScript is frozen, and these have not moved since 2019; should one move, it is mended here.
"""

from __future__ import annotations

import inspect
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import torch
from torch import nn
from torch._jit_internal import (
    copy_torchscript_modifier,
    is_final,
    is_ignored_fn,
)
from torch.jit import _script
from torch.jit._state import _python_cu as _untyped_cu

# torch._C is an extension module without types for most of what is used here.
CppModule: TypeAlias = Any
ConcreteType: TypeAlias = Any
JitType: TypeAlias = Any

# Untyped modules of torch.
_recursive: Any = torch.jit._recursive
_jit_internal: Any = torch._jit_internal
_annotations: Any = torch.jit.annotations
_sources: Any = torch._sources
_frontend: Any = torch.jit.frontend
_python_cu: Any = _untyped_cu
_Module: Any = nn.Module
_parse_schema: Any = torch._C.parse_schema
_infer_type: Any = torch._C._jit_try_infer_type

_EXPORT: Any = _jit_internal.FunctionModifiers.EXPORT

RecursiveScriptModule: Any = _script.RecursiveScriptModule
ScriptMethodStub: Any = _recursive.ScriptMethodStub

__all__ = [
    "PYTHON_STATE",
    "ConcreteType",
    "CppModule",
    "JitType",
    "RecursiveScriptModule",
    "ScriptMethodStub",
    "is_final",
    "is_ignored_fn",
]

# What every module holds for nn.Module itself. TorchScript takes some of it for attributes.
PYTHON_STATE = frozenset(vars(nn.Module())) - {"training"}


def script_modules_own_names() -> list[str]:
    """The names that `torch.jit.ScriptModule` adds to those of `nn.Module`: `graph`, `save`..."""
    return [n for n in vars(torch.jit.ScriptModule) if n[:2] != "__" and n not in vars(nn.Module)]


@contextmanager
def without_deprecation_warnings() -> Iterator[None]:
    """Within, torch is silent about the deprecation of TorchScript."""
    with warnings.catch_warnings():
        for category in (FutureWarning, DeprecationWarning):
            warnings.filterwarnings("ignore", r"`torch\.jit\.", category)
        yield


def is_exported(function: object) -> bool:
    """Whether it is an entry point beside `forward` (`FunctionModifiers.EXPORT`)."""
    return bool(_jit_internal.get_torchscript_modifier(function) is _EXPORT)


def jit_type(annotation: Any) -> JitType | None:
    """TorchScript's type for an annotation; None when there is none (`ann_to_type`)."""
    try:
        return _annotations.ann_to_type(annotation, _sources.fake_range())
    except (RuntimeError, ValueError, TypeError, OSError, AssertionError):
        # ValueError: not a type of TorchScript; AssertionError: a Union with a member that is none;
        # the others: a class that does not compile.
        return None


def is_constant_value(value: object) -> bool:
    """Whether TorchScript takes the value as a constant (`_get_valid_constant`)."""
    if isinstance(value, (tuple, list)):
        return all(is_constant_value(item) for item in value)
    return isinstance(value, _recursive._constant_types)


def is_typed(value: object) -> bool:
    """Whether TorchScript infers a type for the value (`_jit_try_infer_type`)."""
    return bool(_infer_type(value).success())


def create_script_module(
    module: nn.Module, compiled: Callable[[ConcreteType, list[Any], list[Any]], None]
) -> Any:
    """Compile a module whose children are compiled already (`torch.jit.script`).

    The entry points are `forward` and what is exported. Unlike torch's `create_script_module` it
    asks nobody for the type of a script module that has none yet, and does not warn of annotations
    in `__init__`. `compiled` is told of a new type, and of the stubs of its methods and properties.
    """
    store = _recursive.concrete_type_store
    concrete_type = store.get_or_create_concrete_type(module)
    is_new = concrete_type not in store.methods_compiled
    try:
        stubs = _recursive.infer_methods_to_compile(module)
        made = _recursive.create_script_module_impl(module, concrete_type, lambda _: stubs)
    except BaseException:
        # torch would find the type half made at the next try: "Can't redefine method"
        known = store.type_store.get(type(module), [])
        known[:] = [concrete for concrete in known if concrete in store.methods_compiled]
        raise
    if is_new:
        compiled(concrete_type, stubs, _recursive.get_property_stubs(module))
    return made


def check_initialized(module: nn.Module) -> None:
    """Raise RuntimeError where no constructor has run (`check_module_initialized`)."""
    _recursive.check_module_initialized(module)


def add_method(module: nn.Module, name: str, concrete_type: ConcreteType) -> None:
    """Compile one more method, for every module of the type (`compile_unbound_method`)."""
    create_methods(concrete_type, [_recursive.make_stub_from_method(module, name)], [])


def make_stub(function: Any, name: str) -> Any:
    """Parse a method, for `create_methods`."""
    return _recursive.make_stub(function, name)


def create_methods(concrete_type: ConcreteType, methods: list[Any], properties: list[Any]) -> None:
    """Compile methods and properties from their stubs, for every module of the type."""
    _recursive.create_methods_and_properties_from_stubs(concrete_type, methods, properties)


def define_container_methods(concrete_type: ConcreteType) -> None:
    """Define what torch defines on containers of modules (`create_script_module_impl`)."""
    names = [name for name, _ in concrete_type.get_modules()]
    cls, cpp = concrete_type.py_class, empty_module(concrete_type)
    sources = []
    if issubclass(cls, (nn.ModuleList, nn.Sequential, nn.ModuleDict)):
        sources.append(f"def __len__(self):\n   return {len(names)}\n")
    if issubclass(cls, nn.ModuleDict):
        found = f"key in {names!r}" if names else "False"
        sources.append(f"def __contains__(self, key: str):\n   return {found}\n")
    for source in sources:
        cpp._define(concrete_type, source, lambda name: None)


def empty_module(concrete_type: ConcreteType) -> CppModule:
    """A module in C++ that has the type's methods and no values."""
    return torch._C._create_module_with_type(concrete_type.jit_type)


def interface_methods(annotation: Any) -> list[str]:
    """The methods of a `@torch.jit.interface`; empty for any other annotation."""
    declared = jit_type(annotation)
    if declared is None or not declared.is_interface_type():
        return []
    return list(declared.getMethodNames())


def parameter_view(cpp: CppModule) -> Any:
    """The parameters of a compiled module, as `_parameters` (`_finalize_scriptmodule`)."""
    return _script.OrderedDictWrapper(torch._C.ParameterDict(cpp))


def buffer_view(cpp: CppModule) -> Any:
    """The buffers of a compiled module, as `_buffers` (`_finalize_scriptmodule`)."""
    return _script.OrderedDictWrapper(torch._C.BufferDict(cpp))


def module_view(cpp: CppModule, children: dict[str, nn.Module]) -> Any:
    """The children of a compiled module, as `_modules` (`_finalize_scriptmodule`)."""
    return _script.OrderedModuleDict(cpp, children)


def cpp_children(cpp: CppModule) -> dict[str, CppModule]:
    """The children of a compiled module in C++."""
    return dict(torch._C.ModuleDict(cpp).items())


def wrap(cpp: CppModule, concrete_type: ConcreteType | None = None) -> Any:
    """A `RecursiveScriptModule` around a module in C++.

    With its concrete type it is a thin view for `code`, `save` and the like; without, its children
    are wrapped too (`wrap_cpp_module`).
    """
    if concrete_type is None:
        return _recursive.wrap_cpp_module(cpp)
    view = RecursiveScriptModule._construct(cpp, lambda script_module: None)
    view.__dict__["_concrete_type"] = concrete_type
    return view


def script_functions() -> dict[str, Any]:
    """Every function and method that was compiled in this process, by its qualified name."""
    functions = _python_cu.get_functions()
    return {f.qualified_name: f for f in functions}


def called_names(graph: Any) -> Iterator[str]:
    """The qualified names of the functions and methods that a graph calls."""
    for call in graph.findAllNodes("prim::CallFunction"):
        yield next(call.inputs()).type().annotation_str
    for call in graph.findAllNodes("prim::CallMethod"):
        owner = next(call.inputs()).type()
        if owner.kind() == "ClassType":
            yield f"{owner.qualified_name()}.{call.s('name')}"


def schema_of(node: Any) -> list[Any]:
    """The arguments that the operator of a node takes; none for what is no operator."""
    schema = node.schema()
    return [] if "(no schema)" in schema else list(_parse_schema(schema).arguments)


@contextmanager
def intercepted(
    before_function: Callable[[Any], None],
    module_of: Callable[[CppModule], nn.Module | None],
    stays_python: Callable[[Any], bool],
    builder: type,
) -> Iterator[None]:
    """Within, TorchScript's compiler tells us of the Python functions that it meets.

    `before_function` is called with each before it is parsed (in `make_stub`: methods and hooks;
    in `try_compile_fn`: functions). An ignored method gets what `module_of` finds as its `self`,
    where torch makes a bare module for each call (`lazy_bind`). `stays_python` tells of a function
    that torch would replace by an error whether it is called in Python nevertheless. `builder`
    makes the concrete types.
    """
    make_stub, try_compile, lazy_bind = (
        _recursive.make_stub,
        _recursive.try_compile_fn,
        _recursive.lazy_bind,
    )
    try_real_annotations = _annotations.try_real_annotations
    create_methods_of = _recursive.create_methods_and_properties_from_stubs
    overloaded = _jit_internal._get_overloaded_methods
    overloaded_names = {name.rsplit(".", 1)[-1] for name in _jit_internal._overloaded_methods}

    def checked_stub(func: Any, name: str) -> Any:
        before_function(func)
        return make_stub(func, name)

    def checked_function(fn: Any, loc: Any) -> Any:
        if isinstance(fn, (types.FunctionType, types.MethodType)) and not is_ignored_fn(fn):
            before_function(fn)
        return try_compile(fn, loc)

    def bind_to_module(concrete_type: ConcreteType, method: Any) -> Any:
        otherwise = lazy_bind(concrete_type, method)

        def bound(cpp: CppModule, *args: Any) -> Any:
            module = module_of(cpp)
            return otherwise(cpp, *args) if module is None else method(module, *args)

        bound.original_fn = method  # type: ignore[attr-defined]
        bound.__name__ = method.__name__
        copy_torchscript_modifier(method, bound)
        return bound

    def overloads(method: Any, cls: type) -> Any:
        # torch asks the class alone, and a subclass of nn.LSTM would lose its overloads
        if getattr(method, "__name__", None) not in overloaded_names:
            return None
        return next(filter(None, (overloaded(method, base) for base in cls.__mro__)), None)

    def real_annotations(fn: Any, loc: Any) -> Any:
        # of ignored functions, whose annotations torch does not evaluate when they are strings
        return try_real_annotations(with_evaluated_annotations(fn), loc)

    def one_by_one(concrete_type: ConcreteType, methods: Any, properties: Any) -> None:
        # in one batch, none finds the defaults of another: "Argument flag not provided"
        if properties or not methods:
            create_methods_of(concrete_type, [], properties)
        cpp = empty_module(concrete_type)
        for stub in methods:
            if not cpp._has_method(stub.def_.name().name):  # one before may have called it
                create_methods_of(concrete_type, [stub], [])

    should_drop = _jit_internal.should_drop

    def dropped(fn: Any) -> bool:
        return should_drop(fn) and not stays_python(getattr(fn, "original_fn", fn))

    def dropped_in_class(fn: Any) -> bool:
        # asked of the methods of script classes, which cannot call Python
        return should_drop(fn) or is_ignored_fn(fn)

    replaced = (
        (_jit_internal, "should_drop", dropped),
        (_frontend, "should_drop", dropped_in_class),
        (torch._C, "ConcreteModuleTypeBuilder", builder),
        (_recursive, "make_stub", checked_stub),
        (_recursive, "try_compile_fn", checked_function),
        (_recursive, "lazy_bind", bind_to_module),
        (_recursive, "create_methods_and_properties_from_stubs", one_by_one),
        (_jit_internal, "_get_overloaded_methods", overloads),
        (_annotations, "try_real_annotations", real_annotations),
    )
    before = [(where, name, getattr(where, name)) for where, name, _ in replaced]
    for where, name, ours in replaced:
        setattr(where, name, ours)
    try:
        yield
    finally:
        for where, name, theirs in before:
            setattr(where, name, theirs)


def with_evaluated_annotations(fn: Any) -> Any:
    """A function like this one, whose annotations are no strings (PEP 563); itself if they are not.

    Its annotations stay strings where a name in them cannot be found.
    """
    function = inspect.unwrap(getattr(fn, "__func__", fn))
    written = getattr(function, "__annotations__", {})
    if not any(isinstance(annotation, str) for annotation in written.values()):
        return fn
    try:
        evaluated = inspect.get_annotations(function, eval_str=True)
    except (NameError, AttributeError, TypeError, SyntaxError):
        return fn
    copied = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copied.__kwdefaults__ = function.__kwdefaults__
    copied.__annotations__ = evaluated
    return types.MethodType(copied, fn.__self__) if inspect.ismethod(fn) else copied


@contextmanager
def recorded_reads() -> Iterator[list[tuple[nn.Module, str]]]:
    """Within, each attribute that this thread reads of any module is added to the list.

    Modules are watched where they are, as `torch.fx` does when it traces: a proxy would not pass
    for the module in `isinstance`, `len` or `is`.
    """
    reads: list[tuple[nn.Module, str]] = []
    thread = threading.get_ident()
    before = dict(vars(nn.Module))

    def read(self: nn.Module, name: str) -> Any:
        if threading.get_ident() == thread:
            reads.append((self, name))
        return object.__getattribute__(self, name)

    _Module.__getattribute__ = read
    try:
        yield reads
    finally:
        if "__getattribute__" in before:
            _Module.__getattribute__ = before["__getattribute__"]
        else:
            del _Module.__getattribute__


def abandon_pool(device: int, pool: Any) -> None:
    """Let the CUDA allocator forget a memory pool whose capture failed (`cudagraph_trees`)."""
    # The other name is that of torch 2.6.
    end: Any = getattr(torch._C, "_cuda_endAllocateToPool", None) or getattr(
        torch._C, "_cuda_endAllocateCurrentStreamToPool", None
    )
    with suppress(RuntimeError):  # the capture got as far as that by itself
        end(device, pool)
    torch._C._cuda_releasePool(device, pool)
