"""The proposal's listing, line by line, on the twin of the sample that holds its model."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from types import ModuleType

import jit_runtime
import pytest
import torch

pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
]

TWIN = Path(__file__).parents[1] / "golden" / "seed.py"


@pytest.fixture
def seed() -> ModuleType:
    """The twin, imported anew for each test: its types are not compiled yet."""
    spec = importlib.util.spec_from_file_location("seed", TWIN)
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch would have drop_on_export be `unused`
        spec.loader.exec_module(module)
    return module


def test_the_listing(seed, tmp_path):
    out = str(tmp_path / "out.pt")
    my_module = seed.MyModule()
    expected = my_module.eval().a_called_model_entry_point(torch.ones(2, 2))

    scripted_module = torch.jit.script(my_module)

    # this saves functions 'forward' and 'an_explicit_entry_point' and both submodules
    scripted_module.save(out)
    loaded = torch.jit.load(out)
    entry_points = {"forward", "an_explicit_entry_point", "some_function"}
    assert set(loaded._c._method_names()) == entry_points
    assert {name for name, _ in loaded.named_children()} == {"submodule1", "submodule2"}

    # This will compile this function and recursively compile anything it needs
    output = scripted_module.a_called_model_entry_point(torch.ones(2, 2))
    assert torch.equal(output, expected)

    # this is the same as before but now also includes 'a_called_model_entry_point'
    scripted_module.save(out)
    loaded = torch.jit.load(out)
    assert set(loaded._c._method_names()) == {*entry_points, "a_called_model_entry_point"}
    assert torch.equal(loaded.a_called_model_entry_point(torch.ones(2, 2)), expected)


def test_training_only_code_runs_in_python_and_is_dropped(seed, tmp_path):
    module = jit_runtime.compile(seed.MyModule())
    assert not torch.equal(module(torch.ones(2, 2)), module(torch.ones(2, 2)))  # random numbers
    jit_runtime.save(module, tmp_path / "out.pt")
    with pytest.raises(torch.jit.Error, match="training_only_code was dropped"):
        jit_runtime.load_module(tmp_path / "out.pt").train()(torch.ones(2, 2))


def test_the_debugging_function_makes_save_fail(seed, capsys, tmp_path):
    module = jit_runtime.compile(seed.MyModule(debug=True).eval())
    module(torch.ones(2, 2))
    assert capsys.readouterr().out.startswith("mean ")
    with pytest.raises(jit_runtime.SaveError, match=r"some_debugging_function.*seed.py:\d+"):
        jit_runtime.save(module, tmp_path / "out.pt")


def test_attributes_and_constants(seed):
    eager, compiled = seed.Attributes(), jit_runtime.compile(seed.Attributes())
    for _ in range(3):
        assert torch.equal(eager(torch.ones(2)), compiled(torch.ones(2)))
    assert compiled.my_float_list == [2.0] * 3 and compiled.my_table == {"calls": 3}
    assert set(compiled._concrete_type.get_constants()) == {"my_constant"}
