"""Until it is compiled, a ScriptModule is an ordinary nn.Module."""

from __future__ import annotations

import copy
import io
import pickle
import sys
import types

import jit_runtime
import pytest
import torch
from jit_runtime import ScriptModule
from runtime_modules import Leaf, Tree, is_compiled_output
from torch import Tensor, nn

X = torch.randn(3, 4)


def is_eager(module: nn.Module) -> bool:
    return "_c" not in vars(module)


def test_calling_never_compiles():
    tree = Tree()
    assert not is_compiled_output(tree(X))
    assert is_eager(tree) and is_eager(tree.leaf)


def test_it_is_a_script_module_by_descent_before_and_after():
    leaf = Leaf()
    assert isinstance(leaf, torch.jit.ScriptModule)
    jit_runtime.compile(leaf)
    assert isinstance(leaf, torch.jit.ScriptModule)


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_eager_and_compile(duplicate):
    tree = Tree().eval()
    other = duplicate(tree)
    assert type(other) is Tree and is_eager(other)
    assert torch.equal(other(X), tree(X))
    assert is_compiled_output(jit_runtime.compile(other).leaf(X))


def test_torch_save_and_load_of_a_whole_module():
    file = io.BytesIO()
    torch.save(Tree(), file)
    file.seek(0)
    assert is_eager(torch.load(file, weights_only=False))


def test_a_pickle_of_the_original_class_loads_under_the_twin(monkeypatch):
    def module_with(base: type) -> types.ModuleType:
        module = types.ModuleType("a_model")
        namespace = {"__module__": "a_model", "forward": Leaf.forward}
        module.Net = types.new_class("Net", (base,), exec_body=lambda ns: ns.update(namespace))
        return module

    monkeypatch.setitem(sys.modules, "a_model", original := module_with(nn.Module))
    model = original.Net()
    model.lin = nn.Linear(4, 4)
    checkpoint = pickle.dumps(model)

    monkeypatch.setitem(sys.modules, "a_model", twin := module_with(ScriptModule))
    loaded = pickle.loads(checkpoint)
    assert type(loaded) is twin.Net
    assert torch.equal(loaded(X), model(X))
    assert is_compiled_output(jit_runtime.compile(loaded)(X))


def test_dir_and_class_show_no_names_of_torch_script_module():
    names = {"graph", "code", "save", "define", "original_name", "_c", "_concrete_type"}
    assert not names & set(dir(Leaf()))
    assert not hasattr(Leaf, "graph")
    assert repr(Leaf()).startswith("Leaf(\n  (lin): Linear(")


def test_attributes_buffers_and_children_come_and_go():
    leaf = Leaf()
    leaf.extra = nn.Linear(1, 1)
    leaf.register_buffer("state", torch.ones(1), persistent=False)
    leaf.state = torch.zeros(1)
    assert list(leaf.state_dict()) == ["lin.weight", "lin.bias", "extra.weight", "extra.bias"]
    del leaf.extra, leaf.state
    assert not hasattr(leaf, "extra") and not hasattr(leaf, "state")


def test_library_functions_that_change_a_module_work():
    class Layer(nn.Linear, ScriptModule):
        pass

    layer = Layer(4, 4)
    expected = layer(X)
    torch.nn.utils.parametrizations.weight_norm(layer)
    assert torch.allclose(layer(X), expected, atol=1e-6)
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    with pytest.warns(FutureWarning):
        torch.nn.utils.weight_norm(layer)
    torch.nn.utils.remove_weight_norm(layer)
    layer.share_memory()
    assert torch.allclose(jit_runtime.compile(layer)(X), expected, atol=1e-6)


def test_data_parallel_takes_it_for_python():
    replicate = sys.modules["torch.nn.parallel.replicate"]
    assert replicate._replicatable_module(Tree())
    assert type(Leaf()._replicate_for_data_parallel()) is Leaf


def test_a_constructor_may_call_replace_copy_wrap_share_and_delete():
    class Restless(ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            self.first = Leaf()
            self.width = self.first(torch.zeros(1, 4)).shape[1]
            self.second = copy.deepcopy(self.first)
            self.first = nn.Sequential(self.first, self.second)
            self.third = self.second
            del self.third
            self.first[0] = Leaf()
            self.out = self.forward(torch.zeros(1, 4)).shape[0]

        def forward(self, x: Tensor) -> Tensor:
            return self.second(self.first(x))

    assert is_compiled_output(jit_runtime.compile(Restless()).second(X))


def test_functional_call():
    leaf = Leaf()
    zeros = {name: torch.zeros_like(tensor) for name, tensor in leaf.named_parameters()}
    assert torch.equal(torch.func.functional_call(leaf, zeros, (X,)), torch.zeros(3, 4))
    assert torch.equal(torch.func.functional_call(leaf, ({},), X), leaf(X))
    assert is_eager(leaf)


def test_a_constructor_that_forgets_super_is_told_so():
    class Forgets(ScriptModule):
        def __init__(self) -> None:
            self.scale = 2

        def forward(self, x: Tensor) -> Tensor:
            return x * self.scale

    with pytest.raises(RuntimeError, match=r"Forgets' has not been initialized.*super"):
        jit_runtime.compile(Forgets())
