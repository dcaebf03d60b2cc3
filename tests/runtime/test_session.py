"""A session runs what it was compiled from, and leaves that as it was."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from collections.abc import Callable

import jit_runtime
import pytest
import torch
from jit_runtime import (
    ArtifactError,
    CompilationError,
    Examples,
    Plan,
    ScriptModule,
    Session,
    VerificationError,
    export,
    ignore,
)
from jit_runtime.compilation.compiled_state import is_compiled
from jit_runtime.sessions.forms import TensorForm
from sessions import Counts, Net, image, net
from torch import Tensor, nn

X = image()


@pytest.fixture(scope="module")
def model() -> Net:
    return net()


@pytest.fixture(scope="module")
def session(model: Net) -> Session:
    return jit_runtime.compile(model, Examples(forward=X, encode=X), optimize="inference")


def assert_same(actual: object, expected: object) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


class TestCompile:
    def test_runs_every_exported_method_in_evaluation(self, session: Session, model: Net):
        eager = copy.deepcopy(model).eval()
        for batch in (2, 5, 2):
            x = image(batch)
            with torch.no_grad():
                assert_same(session(x, factor=3.0), eager(x, factor=3.0))
                assert_same(session.encode(x), eager.encode(x))
                assert_same(session.method("encode")(x), eager.encode(x))

    def test_leaves_the_module_as_it_was(self):
        model = net()
        state = {key: value.clone() for key, value in model.state_dict().items()}
        kept = (type(model), model.conv, model.conv.weight, dict(vars(model.norm)))
        session = jit_runtime.compile(model, X, optimize="inference")
        session(X)
        assert model.training and model.drop.training and not is_compiled(model)
        assert (type(model), model.conv, model.conv.weight, dict(vars(model.norm))) == kept
        assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
        model(X)["out"].sum().backward()
        assert model.conv.weight.grad is not None

    def test_takes_a_compiled_module_too(self, model: Net):
        compiled = jit_runtime.compile(copy.deepcopy(model))
        session = jit_runtime.compile(compiled, X, optimize="inference")
        assert_same(session(X), jit_runtime.compile(model, X, optimize="inference")(X))
        assert compiled.training and compiled.conv.weight.requires_grad
        scripted = jit_runtime.compile(nn.Sequential(nn.Linear(3, 3), nn.Dropout()))
        assert not torch.equal(scripted(torch.ones(9, 3)), scripted(torch.ones(9, 3)))
        frozen = jit_runtime.compile(scripted, torch.ones(9, 3), optimize="inference")
        assert torch.equal(frozen(torch.ones(9, 3)), frozen(torch.ones(9, 3)))

    def test_what_a_module_remembers_begins_where_it_was(self):
        model = Counts()
        model(torch.zeros(1))
        session = jit_runtime.compile(model, torch.zeros(1), optimize="inference").warmup()
        assert model.times == 1
        assert [session(torch.zeros(1)).item() for _ in range(2)] == [4, 9]

    def test_without_an_example_nothing_is_compared(self, model: Net):
        session = jit_runtime.compile(model, optimize="inference")
        assert "check" not in session.figures
        assert session.signature.methods["forward"].example is None
        with pytest.raises(ValueError, match="compiled without an example: give one"):
            session.warmup()
        assert session.warmup(X) is session

    @pytest.mark.parametrize(
        ("wanted", "error", "words"),
        [
            ({"optimize": "fast"}, ValueError, r'"none", "inference" or "max", not \'fast\''),
            ({"dtype": "bfloat16"}, ValueError, "dtype is for sessions"),
            ({"optimize": "max"}, ValueError, "tries plans on an example"),
            ({"optimize": "inference", "example": 3}, TypeError, "an example is a tensor, a tuple"),
            (
                {"optimize": "inference", "device": "meta"},
                ValueError,
                "CPU or on CUDA, not on meta",
            ),
            (
                {"optimize": "inference", "example": Examples(plot=())},
                ValueError,
                r"an example for Net\.plot, which is not exported: mark it with @export",
            ),
        ],
        ids=str,
    )
    def test_what_it_cannot_do_it_says(self, model, wanted, error, words):
        with pytest.raises(error, match=words):
            jit_runtime.compile(model, **wanted)

    def test_hooks_of_the_module_itself_would_be_lost(self):
        model = net()
        model.register_forward_hook(lambda module, inputs, output: output)
        with pytest.raises(CompilationError, match="Net has forward hooks, which a session would"):
            jit_runtime.compile(model, X, optimize="inference")

    def test_overloads_cannot_be_called_from_without(self):
        with pytest.raises(CompilationError, match=r"LSTM\.forward has overloads"):
            jit_runtime.compile(nn.LSTM(3, 3), torch.ones(2, 2, 3), optimize="inference")


class Wrong(nn.Module):
    """Not what it was when it is compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if torch.jit.is_scripting():
            return x, self.lin(x) * 1.01
        return x, self.lin(x)


class TestVerification:
    def test_is_in_the_figures(self, session: Session):
        check = session.figures["check"]
        assert check["ok"] and check["worst"]["relative"] < 1e-5
        assert check["batch_sizes"] == {"forward": [2, 3], "encode": [2, 3]}

    @pytest.mark.parametrize("optimize", ["none", "inference"])
    def test_a_difference_is_an_error_that_says_where(self, optimize: str):
        module = Wrong()
        with pytest.raises(VerificationError, match=r"Wrong compiled: output\[1\] differs .*1e-04"):
            jit_runtime.compile(module, torch.randn(2, 3), optimize=optimize)
        assert not is_compiled(module)
        jit_runtime.compile(module, torch.randn(2, 3), optimize=optimize, verify=False)

    def test_in_place_it_compares_the_state_too(self):
        class Forgets(Counts):
            def forward(self, x: Tensor) -> Tensor:
                if not torch.jit.is_scripting():
                    self.seen += 1
                return x * 1

        model = Forgets()
        with pytest.raises(VerificationError, match=r"after calls, state_dict\['seen'\] differs"):
            jit_runtime.compile(model, torch.ones(1))
        assert jit_runtime.compile(Counts(), torch.ones(1)).times == 0

    def test_in_place_dropout_may_draw_other_numbers(self):
        model = jit_runtime.compile(net(), Examples(forward=X, encode=X))
        assert model.training and is_compiled(model)

    def test_in_place_what_dropout_hides_is_compared_in_evaluation(self):
        model = nn.Sequential(nn.Dropout(0.5), Wrong())
        with pytest.raises(VerificationError, match=r"output\[1\] differs"):
            jit_runtime.compile(model, torch.randn(2, 3))

    def test_on_its_own(self, session: Session, model: Net):
        found = jit_runtime.verify(session, model, X)
        assert found.ok and str(found).startswith("equal in 3 calls of forward at batch sizes 2 an")
        other = net()
        with torch.no_grad():
            other.head.bias[1] += 0.5
        found = jit_runtime.verify(session, other, X, calls=1)
        assert not found.ok and found.worst.path == "output['out']" and found.worst.index[1] == 1
        assert jit_runtime.verify(session, other, X, tolerance=10.0).ok
        with pytest.raises(ValueError, match="nothing is compared without an example"):
            jit_runtime.verify(session, other, Examples())
        assert model.training and other.training
        assert jit_runtime.verify(jit_runtime.compile(copy.deepcopy(model)), model, X).ok


class Encoder(ScriptModule):
    """No `forward`."""

    @export
    def encode(self, x: Tensor) -> Tensor:
        return x * 2


class Names(ScriptModule):
    """Methods with names that sessions and torch's modules have for themselves."""

    def forward(self, x: Tensor) -> Tensor:
        return x

    @export
    def to(self, x: Tensor) -> Tensor:
        return x + 1

    @export
    def plan(self, x: Tensor) -> Tensor:
        return x + 2

    @export
    def half(self, x: Tensor) -> Tensor:
        return x + 3


def test_methods_with_names_of_the_sessions_own():
    examples = Examples(forward=X, to=X, plan=X, half=X)
    session = jit_runtime.compile(Names(), examples, optimize="inference")
    for number, name in enumerate(("to", "plan", "half"), start=1):
        assert torch.equal(session.method(name)(X), X + number)
    assert session.to("cpu") is session and session.plan == Plan()


def test_examples_stay_as_they_were():
    class Clears(ScriptModule):
        def forward(self, x: Tensor) -> Tensor:
            return x.zero_().sum(1)

    x = torch.ones(2, 3)
    session = jit_runtime.compile(Clears(), x, optimize="max")
    assert torch.equal(x, torch.ones(2, 3))
    assert not session(x).any()


class TestSession:
    def test_of_a_module_without_forward(self):
        session = jit_runtime.compile(Encoder(), Examples(encode=X), optimize="inference")
        assert torch.equal(session.warmup().encode(X), X * 2)
        with pytest.raises(AttributeError, match=r"encode; cpu, frozen> has no method 'forward'"):
            session(X)

    def test_tells_what_it_is(self, session: Session):
        assert repr(session) == "<Session of Net on cpu: forward, encode; cpu, frozen>"
        assert session.plan == Plan() and session.device == torch.device("cpu")
        forward = session.signature.methods["forward"]
        assert [a.name for a in forward.arguments] == ["x", "factor"]
        assert forward.example == {"x": TensorForm("float32", (2, 3, 6, 6))}
        assert forward.output["out"] == TensorForm("float32", (2, 2))
        assert forward.varies_in_batch
        assert list(session.artifact.sources) == ["sessions.py"]
        assert "encode" in dir(session)

    def test_other_methods_are_missing_clearly(self, session: Session):
        for name in ("plot", "conv"):
            with pytest.raises(AttributeError, match=f"has no method '{name}': mark it with @exp"):
                getattr(session, name)
        with pytest.raises(AttributeError, match="has no method 'plot'"):
            session.method("plot")

    def test_results_have_no_gradients(self, session: Session):
        output = session(X.clone().requires_grad_())["out"]
        assert output.is_inference() and not output.requires_grad

    def test_a_warm_up_makes_the_executor_optimise_the_session_itself(self, model: Net):
        session = jit_runtime.compile(model, X, optimize="inference", verify=False)
        session.warmup()
        assert session.module.get_debug_state().execution_plans

    def test_a_plan_holds_during_calls_alone(self, session: Session):
        class Threads(ScriptModule):
            @ignore
            def threads(self) -> int:
                return torch.get_num_threads()

            def forward(self, x: Tensor) -> Tensor:
                return x + self.threads()

        before = torch.get_num_threads()
        made = jit_runtime.compile(Threads(), optimize="inference")
        for threads in (1, 3, None):
            artifact = dataclasses.replace(made.artifact, plan=Plan(threads=threads))
            found = Session(artifact)(torch.zeros(1)).item()
            assert found == (threads or before) and torch.get_num_threads() == before

    def test_several_threads_may_call(self, session: Session):
        expected = [session(image(batch))["out"] for batch in range(1, 5)]
        wrong: list[int] = []

        def call(batch: int) -> None:
            for _ in range(20):
                if not torch.allclose(session(image(batch))["out"], expected[batch - 1]):
                    wrong.append(batch)

        threads = [threading.Thread(target=call, args=(batch,)) for batch in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong

    def test_on_its_own_device_it_stays(self, session: Session):
        assert session.to("cpu") is session

    def test_a_graph_for_one_kind_of_device_cannot_leave_it(self, session: Session):
        plan = Plan(fusion="onednn_ops")
        bound = Session(dataclasses.replace(session.artifact, plan=plan))
        with pytest.raises(ArtifactError, match=r"<Session of Net .* which run on the cpu alone"):
            bound.to("cuda")
        with pytest.raises(ArtifactError, match="a plan's device cannot be 'meta'"):
            session.to("meta")

    @pytest.mark.parametrize(
        "copied", [Session.copy, copy.deepcopy, lambda session: pickle.loads(pickle.dumps(session))]
    )
    def test_copies_have_state_of_their_own(self, copied: Callable[[Session], Session]):
        session = jit_runtime.compile(Counts(), torch.zeros(1), optimize="inference")
        other = copied(session)
        assert [other(torch.zeros(1)).item() for _ in range(2)] == [1, 4]
        assert session(torch.zeros(1)).item() == 1
        assert copied(other)(torch.zeros(1)).item() == 9
