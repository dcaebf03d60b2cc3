"""`Attribute(value, type)` records a TorchScript type for one instance."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

import jit_runtime
import pytest
import torch
from jit_runtime import Attribute, AttributeTypeWarning, CompilationError, Final, ScriptModule
from torch import Tensor, nn


class Holder(ScriptModule):
    def __init__(self, value: Any, type: Any) -> None:
        self.early = Attribute(1, float)
        super().__init__()
        self.value = Attribute(value, type)

    def forward(self):
        return self.value


def torchscript_type(module: Holder) -> str:
    return str(jit_runtime.compile(module).forward.schema.returns[0].type)


def test_the_value_is_stored_as_it_is():
    values = [1]
    holder = Holder(values, List[int])  # noqa: UP006
    assert holder.value is values and holder.early == 1


@pytest.mark.parametrize(
    ("value", "type", "expected"),
    [
        (3, float, "float"),
        ([], List[int], "List[int]"),  # noqa: UP006
        ([], list[int], "List[int]"),
        ({}, Dict[str, Tensor], "Dict[str, Tensor]"),  # noqa: UP006
        (None, Optional[Tensor], "Optional[Tensor]"),  # noqa: UP045
        (3, int | None, "Optional[int]"),
        ((1, 2), Tuple[int, float], "Tuple[int, float]"),  # noqa: UP006
    ],
)
def test_the_type_is_torchscripts(value, type, expected):
    assert torchscript_type(Holder(value, type)) == expected


def test_ints_under_float_are_converted_at_compilation_only():
    holder = Holder([1, 2], List[float])  # noqa: UP006
    assert [type(v) for v in holder.value] == [int, int]
    jit_runtime.compile(holder)
    assert [type(v) for v in holder.value] == [float, float]
    assert type(holder.early) is float


def test_types_belong_to_instances():
    ints, floats = Holder([], list[int]), Holder([], list[float])
    assert torchscript_type(ints) == "List[int]"
    assert torchscript_type(floats) == "List[float]"


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_the_type(duplicate):
    assert torchscript_type(duplicate(Holder([], list[int]))) == "List[int]"


def test_deleting_the_attribute_drops_the_type():
    holder = Holder(3, float)
    del holder.value
    holder.value = 3
    assert torchscript_type(holder) == "int"


@pytest.mark.parametrize(("value", "type"), [(3.5, int), (True, int), (2, bool), (None, int)])
def test_a_type_that_the_value_contradicts_is_not_used(value, type):
    class Fresh(Holder):
        pass

    with pytest.warns(AttributeTypeWarning, match=r"Fresh.value is declared .* but holds") as told:
        holder = jit_runtime.compile(Fresh(value, type))
        jit_runtime.compile(Fresh(value, type))
    assert holder.value is value or holder.value == value
    assert len(told) == 1


def test_parameters_buffers_and_submodules_ignore_it():
    class Odd(ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            self.weight = Attribute(nn.Parameter(torch.ones(1)), int)
            self.child = Attribute(nn.Identity(), int)
            self.register_buffer("state", torch.ones(1))
            self.state = Attribute(torch.ones(1), int)

        def forward(self, x: Tensor) -> Tensor:
            return self.child(x) * self.weight * self.state

    odd = jit_runtime.compile(Odd())
    assert list(odd.state_dict()) == ["weight", "state"]
    assert torch.equal(odd(torch.ones(1)), torch.ones(1))


@pytest.mark.parametrize("kind", [Attribute, torch.jit.Attribute])
def test_in_a_class_body_it_is_an_attribute_of_each_instance(kind):
    class Shared(ScriptModule):
        steps = kind(3, float)

        def forward(self, x: Tensor) -> Tensor:
            self.steps += 1
            return x * self.steps

    first, second = Shared(), Shared()
    assert first.steps == 3 and Shared.steps == 3
    jit_runtime.compile(first)(torch.ones(1))
    assert first.steps == 4.0 and second.steps == 3 and Shared.steps == 3
    assert torch.equal(jit_runtime.compile(second)(torch.ones(1)), torch.tensor([4.0]))


def test_annotations_of_all_bases_count_as_strings_too():
    class Base(ScriptModule):
        names: List[int]  # noqa: UP006

    class Derived(Base):
        scale: float
        hook: CallableOnlyForTypeCheckers  # noqa: F821

        def __init__(self) -> None:
            super().__init__()
            self.names = []
            self.scale = 2
            self.hook = print

        def forward(self, x: Tensor) -> Tensor:
            return x * self.scale + len(self.names)

    derived = jit_runtime.compile(Derived())
    assert derived.names == [] and type(derived.scale) is float


def test_an_annotation_that_torchscript_does_not_know_leaves_the_rest_alone():
    class Configured(ScriptModule):
        config: dict

        def __init__(self) -> None:
            super().__init__()
            self.config = {"scale": 2}

        def forward(self, x: Tensor) -> Tensor:
            return x * self.config["scale"]

    assert torch.equal(jit_runtime.compile(Configured())(torch.ones(1)), torch.full((1,), 2.0))


class TestEmptyContainers:
    @pytest.mark.parametrize(
        ("value", "annotation"),
        [([], r"kept: List\[Tensor\]"), ({}, r"kept: Dict\[str, Tensor\]")],
    )
    @pytest.mark.parametrize("base", [ScriptModule, nn.Module])
    def test_one_that_compiled_code_uses_needs_an_annotation(self, base, value, annotation):
        class Untyped(base):
            def __init__(self) -> None:
                super().__init__()
                self.kept = value

            def forward(self, x: Tensor) -> Tensor:
                return x + len(self.kept)

        message = rf"(?s){__file__}.*Untyped.kept is empty.*in class Untyped.*{annotation}"
        with pytest.raises(CompilationError, match=message):
            jit_runtime.compile(Untyped())

    def test_one_that_only_python_uses_does_not(self):
        class Logged(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.log, self.table = [], {}

            def forward(self, x: Tensor) -> Tensor:
                return x

        logged = jit_runtime.compile(Logged())
        logged.log.append(logged(torch.ones(1)))
        assert len(logged.log) == 1


class TestClassAnnotationsThatContradict:
    def test_are_an_error_that_shows_both(self):
        class Scaled(ScriptModule):
            other: int
            scale: Optional[int]  # noqa: UP045

            def __init__(self) -> None:
                super().__init__()
                self.scale = 2.5

            def forward(self, x: Tensor) -> Tensor:
                return x

        class Derived(Scaled):
            pass

        line = TestClassAnnotationsThatContradict.test_are_an_error_that_shows_both
        line = line.__code__.co_firstlineno + 3
        message = rf"{__file__}:{line}: .*Scaled.scale is annotated Optional\[int\] but holds 2.5"
        for cls in (Scaled, Derived):
            with pytest.raises(CompilationError, match=message):
                jit_runtime.compile(cls())

    def test_yield_to_a_type_that_is_recorded(self):
        class Recorded(ScriptModule):
            scale: int

            def __init__(self) -> None:
                super().__init__()
                self.scale = Attribute(2.5, float)

            def forward(self):
                return self.scale

        assert torchscript_type(Recorded()) == "float"


@pytest.mark.parametrize("annotation", [Final, Final[Any], "Final"])
@pytest.mark.parametrize("make", [torch.ones, nn.Identity, lambda n: nn.Parameter(torch.ones(n))])
def test_final_is_an_error_on_tensors_and_modules(annotation, make):
    class Fixed(ScriptModule):
        __annotations__ = {"kept": annotation}

        def __init__(self) -> None:
            super().__init__()
            self.kept = make(1)

        def forward(self, x: Tensor) -> Tensor:
            return x

    with pytest.raises(CompilationError, match=r"Fixed.kept is Final .* Remove Final"):
        jit_runtime.compile(Fixed())


def test_constants_are_inherited_and_overridden():
    class Base(ScriptModule):
        scale: Final[int] = 2
        shift: Final = 1

        def forward(self, x: Tensor) -> Tensor:
            return x * self.scale + self.shift

    class Derived(Base):
        scale: Final[int] = 3

    assert jit_runtime.compile(Base())(torch.ones(1)) == 3
    assert jit_runtime.compile(Derived())(torch.ones(1)) == 4


@pytest.mark.parametrize(
    ("value", "type", "expected"),
    [
        ([1, 2], List[float], [1.0, 2.0]),  # noqa: UP006
        ((1, 2), List[float], [1.0, 2.0]),  # noqa: UP006
        ((1, 2), List[int], [1, 2]),  # noqa: UP006
        ((1, 2), Tuple[float, int], (1.0, 2)),  # noqa: UP006
        (1, Optional[float], 1.0),  # noqa: UP045
        ((1, 2), Optional[List[float]], [1.0, 2.0]),  # noqa: UP006, UP045
        ({"a": 1}, Dict[str, float], {"a": 1.0}),  # noqa: UP006
        ({"a": (1, 2)}, Dict[str, List[float]], {"a": [1.0, 2.0]}),  # noqa: UP006
        ([(1, 2), (3, 4)], List[Tuple[float, int]], [(1.0, 2), (3.0, 4)]),  # noqa: UP006
        (((1,), (2,)), List[List[float]], [[1.0], [2.0]]),  # noqa: UP006
        (1, Union[int, float], 1),  # noqa: UP007
        (1, Union[str, float], 1.0),  # noqa: UP007
    ],
)
@pytest.mark.parametrize("how", ["recorded", "annotated"])
def test_values_take_the_declared_type_however_deep(value, type, expected, how):
    class Declared(ScriptModule):
        __annotations__ = {} if how == "recorded" else {"value": type}

        def __init__(self) -> None:
            super().__init__()
            self.value = Attribute(value, type) if how == "recorded" else value

        def forward(self):
            return self.value

    compiled = jit_runtime.compile(Declared())
    # 1.0 equals 1, but is written otherwise
    assert repr(compiled()) == repr(compiled.value) == repr(expected)


class Caches(ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.last = Attribute(None, Optional[Tensor])  # noqa: UP045

    def forward(self, x: Tensor) -> Tensor:
        last = self.last
        y = x if last is None else x + last
        self.last = x
        return y


def saved_and_loaded(module: nn.Module) -> torch.jit.ScriptModule:
    buffer = io.BytesIO()
    jit_runtime.save(module, buffer)
    buffer.seek(0)
    return jit_runtime.load_module(buffer)


class TestStateThatIsNoneAtFirst:
    @pytest.mark.parametrize("make", [lambda m: m, jit_runtime.compile])
    def test_is_written_by_both_sides(self, make):
        caches, one, two = make(Caches()), torch.ones(2), torch.full((2,), 2.0)
        assert caches.last is None
        assert [caches(x).tolist() for x in (one, two, one)] == [[1, 1], [3, 3], [3, 3]]
        assert torch.equal(caches.last, one)
        caches.last = None
        assert caches.last is None and torch.equal(caches(two), two)
        caches.last = one
        assert torch.equal(caches(two), two + one)
        assert list(caches.state_dict()) == []

    @pytest.mark.parametrize("state", [None, torch.ones(2)])
    @pytest.mark.parametrize("duplicate", [saved_and_loaded, copy.deepcopy])
    def test_is_kept_by_copies_and_files(self, state, duplicate):
        compiled = jit_runtime.compile(Caches())
        compiled.last = state
        copied, x = duplicate(compiled), torch.full((2,), 3.0)
        assert (copied.last is None) == (state is None)
        expected = compiled(x)
        for _ in range(3):
            assert torch.equal(copied(x), expected)
            copied.last = state
        copied.last = x
        compiled.last = None
        assert torch.equal(copied.last, x)

    def test_is_found_when_it_was_set_before_compilation(self):
        caches = Caches()
        caches(torch.ones(2))
        assert torch.equal(jit_runtime.compile(caches)(torch.ones(2)), torch.full((2,), 2.0))


class Config:
    def __init__(self, size):
        self.size = size


class Configured(ScriptModule):
    def __init__(self):
        super().__init__()
        self.config = Config(2)
        self.others = Config([3])

    @jit_runtime.constant
    def _config_size(self):
        return self.config.size

    def forward(self, x):
        return x * self._config_size


class Reading(Configured):
    def forward(self, x):
        return x * self.config.size


class TestObjects:
    """TorchScript compiles their classes, and takes what their constructors get for tensors."""

    def test_what_compiled_code_does_not_read_stays_python(self):
        compiled = jit_runtime.compile(Configured())
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
        assert compiled.config.size == 2

    def test_what_it_reads_is_an_error(self):
        with pytest.raises(RuntimeError, match="no attribute 'config'"):
            jit_runtime.compile(Reading())
