"""Once compiled, a module runs compiled code and keeps its data in C++."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Tuple  # noqa: UP035  TorchScript reads the hooks' annotations as they are

import jit_runtime
import pytest
import torch
from jit_runtime import (
    CompilationError,
    ScriptModule,
    UncompiledSubmoduleWarning,
    export,
    ignore,
)
from runtime_modules import Leaf, Tree, is_compiled_output
from torch import Tensor, nn
from torch.jit.frontend import NotSupportedError

X = torch.randn(3, 4)


def doubled(module, inputs: Tuple[Tensor], output: Tensor) -> Tensor:  # noqa: UP006
    return output * 2


def shifted(module, inputs: Tuple[Tensor]) -> Tensor:  # noqa: UP006
    return inputs[0] + 1


class TestCompiledCodeRuns:
    def test_on_a_call_in_training_and_in_evaluation(self):
        tree = jit_runtime.compile(Tree())
        for mode in (True, False):
            leaf = tree.train(mode).leaf
            assert all(is_compiled_output(leaf(X)) for _ in range(3))

    def test_in_a_child_that_is_called_directly(self):
        tree = jit_runtime.compile(Tree())
        assert is_compiled_output(tree.seq[0](X))
        assert is_compiled_output(next(iter(tree.seq))(X))

    def test_in_copies_which_are_twins_and_share_nothing(self):
        tree = jit_runtime.compile(Tree()).eval()
        other = copy.deepcopy(tree)
        assert type(other) is Tree and type(other.leaf) is Leaf and type(other.seq[0]) is Leaf
        assert other.norm is other.same_norm
        assert is_compiled_output(other.leaf(X)) and torch.equal(other(X), tree(X))
        with torch.no_grad():
            other.leaf.lin.bias.add_(1)
        assert not torch.equal(other(X), tree(X))

    def test_and_copies_can_be_trained(self):
        tree = jit_runtime.compile(Tree())
        tree.weights = [tree.leaf.lin.weight]  # in Python
        tree.leaf.lin.bias.requires_grad_(False)
        other = copy.deepcopy(tree)
        other(X).sum().backward()
        assert all(p.is_leaf for p in other.parameters())
        assert other.tied.weight is other.leaf.lin.weight is other.weights[0]
        assert other.tied.weight.grad is not None and not other.leaf.lin.bias.requires_grad

    def test_in_a_shallow_copy_which_shares_children(self):
        tree = jit_runtime.compile(Tree())
        other = copy.copy(tree)
        assert other is not tree and other.leaf is tree.leaf
        assert torch.equal(other.eval()(X), tree.eval()(X))

    def test_with_hooks_that_were_there(self):
        def hooked() -> tuple[Tree, torch.utils.hooks.RemovableHandle]:
            tree = Tree().eval()
            tree.leaf.register_forward_hook(doubled)
            tree.register_forward_pre_hook(shifted)
            return tree, tree.register_forward_hook(doubled)

        tree, handle = hooked()
        jit_runtime.compile(tree)
        output = tree(X)
        assert is_compiled_output(tree.leaf(X)) and tree.leaf(X).min() > 1500
        assert torch.equal(copy.deepcopy(tree)(X), output)
        handle.remove()
        assert torch.allclose(tree(X) * 2, output)

    def test_with_hooks_that_come_later(self):
        tree = jit_runtime.compile(Tree())
        tree.register_forward_hook(lambda module, inputs, output: output * 0)
        assert tree(X).abs().max() == 0
        with pytest.raises(RuntimeError, match=r"Tree calls this Leaf .* register it before"):
            tree.leaf.register_forward_hook(doubled)

    def test_in_methods_that_are_exported_or_reached(self):
        class Two(ScriptModule):
            @export
            def encode(self, x):
                return x + (1000 if torch.jit.is_scripting() else 0)

            def forward(self, x, scale: float = 2.0):
                return self.encode(x) * scale

        two = jit_runtime.compile(Two())
        assert is_compiled_output(two.encode(X)) and is_compiled_output(two(X))
        assert torch.equal(two(X, scale=4.0), two(X) * 2)


class TestWhatTriggersIt:
    @pytest.mark.parametrize(
        "read",
        [
            torch.jit.script,
            lambda m: m._c,
            lambda m: m._concrete_type,
            lambda m: m.code,
            lambda m: m.graph,
            lambda m: torch.jit.freeze(m.eval()),
            lambda m: torch.jit.optimize_for_inference(m.eval()),
            jit_runtime.code,
            jit_runtime.graph,
        ],
    )
    @pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning")
    @pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
    def test_reading_torchs_internals(self, read):
        leaf = Leaf()
        read(leaf)
        assert is_compiled_output(leaf(X))

    def test_twice_is_as_once(self):
        leaf = jit_runtime.compile(Leaf())
        cpp = leaf._c
        assert jit_runtime.compile(leaf) is leaf and leaf._c is cpp

    def test_a_library_module_is_returned_scripted(self):
        seq = jit_runtime.compile(nn.Sequential(Leaf(), nn.ReLU()))
        assert isinstance(seq, torch.jit.ScriptModule) and is_compiled_output(seq(X))

    def test_several_threads(self):
        trees = [Tree() for _ in range(4)]
        threads = [threading.Thread(target=jit_runtime.compile, args=(t,)) for t in trees]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(is_compiled_output(tree.leaf(X)) for tree in trees)


class TestState:
    def test_names_and_order_never_change(self):
        tree = Tree()
        before = (
            list(tree.state_dict()),
            [name for name, _ in tree.named_modules()],
            [name for name, _ in tree.named_parameters()],
            [name for name, _ in tree.named_buffers()],
        )
        jit_runtime.compile(tree)
        assert before == (
            list(tree.state_dict()),
            [name for name, _ in tree.named_modules()],
            [name for name, _ in tree.named_parameters()],
            [name for name, _ in tree.named_buffers()],
        )

    def test_state_dict_hooks_and_non_persistent_buffers_of_library_modules(self):
        class Library(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("hidden", torch.ones(1), persistent=False)
                self._register_state_dict_hook(
                    lambda module, state, prefix, _: state.update({prefix + "extra": X})
                )

            def forward(self, x: Tensor) -> Tensor:
                return x * self.hidden

        class User(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.library = Library()

            def forward(self, x: Tensor) -> Tensor:
                return self.library(x)

        user = jit_runtime.compile(User())
        assert list(user.state_dict()) == ["library.extra"]
        assert list(copy.deepcopy(user).state_dict()) == ["library.extra"]

    def test_load_state_dict(self):
        tree = jit_runtime.compile(Tree())
        wanted = {name: tensor.clone() + 1 for name, tensor in tree.state_dict().items()}
        tree.load_state_dict(wanted)
        assert all(torch.equal(t, wanted[n]) for n, t in tree.state_dict().items())

    def test_shared_children_and_tied_weights_stay_so(self):
        tree = jit_runtime.compile(Tree())
        assert tree.norm is tree.same_norm
        assert tree.tied.weight is tree.leaf.lin.weight
        tree.double()(X.double())
        assert torch.equal(tree.norm.running_mean, tree.same_norm.running_mean)
        assert tree.leaf.lin.weight.dtype == torch.float64

    def test_train_and_eval_reach_every_child(self):
        tree = jit_runtime.compile(Tree()).eval()
        children = [tree.norm, tree.leaf, tree.leaf.lin, tree.seq, tree.seq[1]]
        assert not any(child._c.getattr("training") for child in children)
        assert all(child._c.getattr("training") for child in children if child.train())

    def test_assignments_reach_compiled_code_and_back(self):
        class Counter(ScriptModule):
            steps = 100  # a class attribute that the instance's hides

            def __init__(self) -> None:
                super().__init__()
                self.steps = 1

            def forward(self, x: Tensor) -> Tensor:
                self.steps += 1
                return x * self.steps

        counter = jit_runtime.compile(Counter())
        assert torch.equal(counter(torch.ones(1)), torch.full((1,), 2.0))
        counter.steps = 9
        assert torch.equal(counter(torch.ones(1)), torch.full((1,), 10.0))
        assert counter.steps == 10 and Counter.steps == 100

    def test_training_takes_the_same_steps_as_eager(self):
        eager, compiled = Tree(), Tree()
        compiled.load_state_dict(eager.state_dict())
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.01) for m in (eager, compiled)]
        jit_runtime.compile(compiled)
        for _ in range(4):
            for model, optimizer in zip((eager, compiled), optimizers, strict=True):
                optimizer.zero_grad()
                model.tied(model.norm(model.seq[1](X))).square().sum().backward()
                optimizer.step()
        for name, parameter in compiled.named_parameters():
            assert torch.allclose(parameter, eager.get_parameter(name), atol=1e-5), name

    def test_properties(self):
        class Holder(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self._n = 1

            @property
            def n(self) -> int:
                return self._n

            @n.setter
            def n(self, value: int) -> None:
                self._n = value

            def forward(self, x: Tensor) -> Tensor:
                return x * self.n

        holder = jit_runtime.compile(Holder())
        holder.n = 3
        assert holder.n == 3 and torch.equal(holder(X), X * 3)

    def test_none_and_empty_children(self):
        class Sparse(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.empty = nn.Sequential()
                self.list = nn.ModuleList()
                self.add_module("none", None)
                self.register_parameter("bias", None)

            def forward(self, x: Tensor) -> Tensor:
                if self.none is not None:
                    x = self.none(x)
                if self.bias is not None:
                    x = x + self.bias
                for child in self.list:
                    x = child(x)
                return self.empty(x)

        sparse = copy.deepcopy(jit_runtime.compile(Sparse()))
        assert sparse.none is None and sparse.bias is None and torch.equal(sparse(X), X)

    def test_pickle_is_refused_with_the_alternatives(self):
        with pytest.raises(TypeError, match=r"cannot pickle a compiled Leaf.*jit_runtime.save"):
            pickle.dumps(jit_runtime.compile(Leaf()))

    def test_children_may_be_replaced_by_their_like(self):
        tree = jit_runtime.compile(Tree())
        tree.leaf = Leaf()
        assert is_compiled_output(tree.leaf(X))
        with pytest.raises(RuntimeError, match="Cannot re-assign modules"):
            tree.norm = nn.BatchNorm1d(4)


class TestIgnoredMethods:
    def test_run_in_python_with_the_twin_as_self(self):
        class Logged(ScriptModule):
            def __init__(self) -> None:
                super().__init__()
                self.calls = 0
                self.log = [object()]

            @ignore
            def note(self, x: Tensor) -> Tensor:
                self.calls += 1
                self.log.append(type(self))
                return x

            def forward(self, x: Tensor) -> Tensor:
                return self.note(x)

        logged = jit_runtime.compile(Logged())
        other = copy.deepcopy(logged)
        logged(X)
        assert logged.calls == 1 and logged.log[-1] is Logged and other.calls == 0


class Broken(ScriptModule):
    def __init__(self) -> None:
        super().__init__()
        self.leaf = Leaf()
        self.tool = object()

    def forward(self, x: Tensor) -> Tensor:
        return self.helper(self.leaf(x))

    def helper(self, x: Tensor) -> Tensor:
        return self.tool.use(x)


class TestFailure:
    @pytest.mark.parametrize("times", [1, 2])
    def test_leaves_the_tree_eager_and_names_the_line(self, times):
        broken = Broken()
        before = dict(vars(broken))
        for _ in range(times):
            with pytest.raises(RuntimeError, match=rf'{__file__}", line \d+'):
                jit_runtime.compile(broken)
        assert vars(broken) == before
        assert not is_compiled_output(broken.leaf(X)) and type(broken.leaf.lin) is nn.Linear
        pickle.dumps(broken.leaf)

    def test_a_module_that_contains_itself(self):
        leaf = Leaf()
        leaf.children_ = nn.ModuleList([leaf])
        with pytest.raises(CompilationError, match="Leaf contains itself"):
            jit_runtime.compile(leaf)

    def test_what_is_no_module(self):
        with pytest.raises(TypeError, match="compile takes a module, not int"):
            jit_runtime.compile(3)


class Loss(nn.Module):
    """Does not compile: no *args in TorchScript."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.leaf = Leaf()

    def forward(self, *tensors):
        return sum(tensors) * self.weight


class TwinLoss(Loss, ScriptModule):
    pass


class TestSubmodulesThatDoNotCompile:
    @pytest.mark.parametrize("loss", [Loss, TwinLoss])
    def test_are_carried_where_no_compiled_method_reaches_them(self, loss):
        class Model(Leaf):
            def __init__(self) -> None:
                super().__init__()
                self.loss = loss()
                self.losses = nn.ModuleList([self.loss])

        model = Model()
        keys = list(model.state_dict())
        with pytest.warns(UncompiledSubmoduleWarning, match=f"submodule {loss.__name__} does not"):
            jit_runtime.compile(model)
        assert is_compiled_output(model(X)) and list(model.state_dict()) == keys
        assert model.losses[0] is model.loss
        assert is_compiled_output(copy.deepcopy(model)(X))

    def test_a_twin_among_them_still_runs_in_python(self):
        class Model(Leaf):
            def __init__(self) -> None:
                super().__init__()
                self.loss = TwinLoss()

        with pytest.warns(UncompiledSubmoduleWarning):
            model = jit_runtime.compile(Model())
        assert torch.equal(model.loss(X, X), X + X)

    def test_fail_where_one_does(self):
        class Model(Leaf):
            def __init__(self) -> None:
                super().__init__()
                self.loss = nn.Sequential(Loss())

            def forward(self, x: Tensor) -> Tensor:
                return self.loss(x)

        with pytest.raises(NotSupportedError, match="variable number of arguments") as failure:
            jit_runtime.compile(Model())
        assert "*tensors" in str(failure.value)


def test_modules_in_lists_stay_in_python():
    class Parent(ScriptModule):
        def __init__(self) -> None:
            super().__init__()
            self.child = Leaf()
            self.child.parent = [self]
            self.spare = {"one": Leaf()}
            self.library = nn.ReLU()
            self.library.parent = [self]

        def forward(self, x: Tensor) -> Tensor:
            return self.library(self.child(x))

    parent = jit_runtime.compile(Parent())
    assert is_compiled_output(parent(X)) and not is_compiled_output(parent.spare["one"](X))
    other = copy.deepcopy(parent)
    assert other.child.parent[0] is other and other.spare["one"] is not parent.spare["one"]
