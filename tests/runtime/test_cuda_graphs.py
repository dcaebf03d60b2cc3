"""When a call is captured and replayed, and what is never captured: on the CPU."""

import copy
import dataclasses
import threading
from typing import Any, NamedTuple

import jit_runtime
import pytest
import torch
from graph_recorder import RecordingBackend
from jit_runtime import Examples, Session
from jit_runtime.compilation.freezing import freeze
from jit_runtime.cuda_graphs import GraphCache, MethodState
from jit_runtime.torch_internals import without_deprecation_warnings
from sessions import Counts, image, net
from torch import Tensor, nn


def rows(count: int = 2, start: float = 0.0) -> Tensor:
    return torch.arange(start, start + 3 * count, dtype=torch.float32).reshape(count, 3)


def call(cache: GraphCache, *args: Any, times: int = 1, **kwargs: Any) -> Any:
    """Call without gradients, as a session does; the result of the last call."""
    with torch.inference_mode():
        for _ in range(times):
            result = cache(*args, **kwargs)
    return result


def cached(function: Any, **kwargs: Any) -> GraphCache:
    return GraphCache(function, RecordingBackend(), **kwargs)


def reasons(cache: GraphCache) -> dict[str, int]:
    return {key: n for key, n in cache.statistics()["plain"].items() if key != "warming up"}


class TestReplay:
    def test_is_from_the_fourth_call_of_a_form_on(self):
        ran = []

        def double(x: Tensor) -> Tensor:
            ran.append(x.shape)
            return x * 2

        cache = cached(double)
        for start in range(6):
            assert torch.equal(call(cache, rows(2, start)), rows(2, start) * 2)
        assert len(ran) == 4, "three calls as they are, one that is captured, no more"
        assert cache.statistics() == {
            "captures": 1,
            "replays": 3,
            "evictions": 0,
            "graphs": 1,
            "plain": {"warming up": 3},
        }

    def test_results_are_copies_unless_asked_not_to(self):
        cache = cached(lambda x: x + 1, warmup=1)
        call(cache, rows())
        first, second = call(cache, rows()), call(cache, rows(2, 10))
        assert torch.equal(first, rows() + 1) and torch.equal(second, rows(2, 10) + 1)
        with torch.inference_mode():
            static = cache.run((rows(),), {}, copy_outputs=False)
            kept = static.clone()
            again = cache.run((rows(2, 10),), {}, copy_outputs=False)
        assert again is static and not torch.equal(static, kept)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ((rows(2),), (rows(3),)),
            ((rows(2),), (rows(2).double(),)),
            ((rows(3),), (rows(3).t(),)),
            ((rows(), 1), (rows(), 2)),
            ((rows(), 1), (rows(), True)),
            ((rows(), 1), (rows(), 1.0)),
            ((rows(), 0.0), (rows(), -0.0)),
            ((rows(), "a"), (rows(), None)),
            ((rows(), (1, 2)), (rows(), [1, 2])),
            ((rows(), {"a": 1}), (rows(), {"b": 1})),
        ],
        ids=str,
    )
    def test_each_form_of_arguments_has_its_graph(self, first: Any, second: Any):
        cache = cached(lambda x, *rest: (x + 1, *rest), warmup=1)
        for args in (first, second) * 3:
            result = call(cache, *args)
            assert torch.equal(result[0], args[0] + 1)
            assert list(map(repr, result[1:])) == list(map(repr, args[1:]))
        assert cache.statistics()["captures"] == 2

    def test_equal_forms_share_one(self):
        cache = cached(lambda x, scale: x * scale, warmup=1)
        for scale in (float("nan"), float("nan"), float("nan")):
            call(cache, rows(), scale=scale)
        assert cache.statistics()["captures"] == 1

    def test_arguments_in_containers(self):
        cache = cached(lambda xs, more: xs[0] + xs[1] * more["scale"], warmup=1)
        for start in range(3):
            xs, scale = [rows(2, start), rows()], torch.tensor(float(start))
            expected = xs[0] + xs[1] * scale
            assert torch.equal(call(cache, xs, more={"scale": scale}), expected)
        assert cache.statistics()["replays"] == 2

    def test_strides_are_kept(self):
        cache = cached(lambda x: x.contiguous().t(), warmup=1)
        for _ in range(3):
            result = call(cache, rows(4)[:, ::2])
            assert result.stride() == (1, 2) and torch.equal(result, rows(4)[:, ::2].t())
        assert cache.statistics()["replays"] == 2

    def test_within_no_grad_results_are_normal_tensors(self):
        cache = cached(lambda x: x * 1, warmup=1)
        call(cache, rows(), times=3)
        with torch.no_grad():
            plain, _, replayed = (cache(rows()) for _ in range(3))
        assert not plain.is_inference() and not replayed.is_inference()


class Pair(NamedTuple):
    left: Tensor
    right: Tensor


class TestResults:
    def test_keep_their_containers_and_other_values(self):
        def many(x: Tensor) -> Any:
            return {"pair": Pair(x + 1, x + 2), "list": [x * 2, (x.shape[0], "two", None)]}

        cache = cached(many, warmup=1)
        call(cache, rows(), times=2)
        result = call(cache, rows(2, 5))
        assert isinstance(result["pair"], Pair)
        assert torch.equal(result["pair"].right, rows(2, 7))
        assert torch.equal(result["list"][0], rows(2, 5) * 2)
        assert result["list"][1] == (2, "two", None)
        assert cache.statistics()["replays"] == 2

    def test_that_share_memory_share_it_in_copies(self):
        def halves(x: Tensor) -> Any:
            made = x * 2
            return made, made[0], made.view(torch.int32)[1:], made.new_empty(0)

        cache = cached(halves, warmup=1)
        call(cache, rows(), times=2)
        with torch.no_grad():
            for _ in range(3):
                whole, first, bits, empty = cache(rows())
        assert torch.equal(whole, rows() * 2) and torch.equal(bits, whole.view(torch.int32)[1:])
        first.fill_(-1.0)
        assert torch.equal(whole[0], torch.full((3,), -1.0)) and whole[1, 0] == 6
        assert empty.shape == (0,)
        assert torch.equal(call(cache, rows())[0], rows() * 2), "the static ones are as they were"


class Stateful(nn.Module):
    """Changes a buffer in place, or what `how` says."""

    history: list[Tensor]

    def __init__(self, how: str = "in place") -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))
        self.times = 0
        self.scale = 1.0
        self.history = [torch.zeros(3)]
        self.in_place = how == "in place"
        self.rebinds = how == "rebinds"
        self.counts = how == "counts"
        self.appends = how == "appends"
        self.toggles = how == "toggles"

    def forward(self, x: Tensor) -> Tensor:
        if self.in_place:
            self.seen += x[0]
        if self.rebinds:
            self.seen = self.seen + x[0]
        if self.counts:
            self.times += 1
        if self.appends:
            self.history.append(x[0])
        if self.toggles:
            self.scale = -self.scale
        total = torch.stack(self.history).sum(0)
        return x * self.scale + self.seen + self.times + total

    @torch.jit.export
    def rescale(self, scale: float) -> None:
        self.scale = scale

    @torch.jit.export
    def renew(self) -> None:
        self.seen = torch.zeros(3)


def stateful(how: str = "in place") -> tuple[Stateful, Any, GraphCache]:
    """An eager module, the compiled one, and a cache of its `forward`."""
    module = Stateful(how).eval()
    frozen = freeze(jit_runtime.compile(copy.deepcopy(module)), ["rescale", "renew"])
    return module, frozen, cached(frozen, state=MethodState(frozen))


class TestState:
    def test_that_changes_in_place_changes_in_replays(self):
        eager, frozen, cache = stateful()
        for start in range(8):
            assert torch.equal(call(cache, rows(2, start)), eager(rows(2, start)))
        assert torch.equal(frozen.seen, eager.seen)
        assert cache.statistics()["replays"] == 5

    @pytest.mark.parametrize("how", ["rebinds", "counts", "appends", "toggles"])
    def test_that_is_assigned_to_is_not_captured(self, how: str):
        eager, _, cache = stateful(how)
        for start in range(12):  # what toggles comes to the same state again
            assert torch.equal(call(cache, rows(2, start)), eager(rows(2, start)))
        assert cache.statistics()["captures"] == 0

    def test_that_other_methods_assign_is_part_of_the_key(self):
        eager, frozen, cache = stateful()
        for module in (eager, frozen):
            module.rescale(1.0)
        for start in range(16):
            for module in (eager, frozen):
                if start % 5 == 0:
                    module.rescale(float(start))
                if start == 7:
                    module.renew()
            assert torch.equal(call(cache, rows(2, start)), eager(rows(2, start)))
        assert cache.statistics()["captures"] >= 2

    def test_given_as_an_argument_is_not_captured(self):
        eager, frozen, cache = stateful()
        for _ in range(5):
            assert torch.equal(call(cache, frozen.seen[None]), eager(eager.seen[None]))
        assert reasons(cache) == {"an argument is memory of the module": 5}

    def test_on_another_device_is_not_captured(self):
        class Elsewhere(MethodState):
            def key(self, tensors: list[Tensor]) -> str:
                tensors.append(torch.zeros(3, device="meta"))
                return "key"

        _, frozen, _ = stateful()
        cache = cached(lambda x: x + 1, state=Elsewhere(frozen))
        assert torch.equal(call(cache, rows(), times=5), rows() + 1)
        assert reasons(cache) == {"an attribute of its module is on meta": 5}

    def test_of_frozen_modules_is_none(self):
        frozen = freeze(jit_runtime.compile(nn.Linear(3, 2).eval()), [])
        assert MethodState(frozen).key([]) == ()


class Asks(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 10:
            return x + 1
        return x - 1


class CallsPython(nn.Module):
    @torch.jit.ignore
    def python(self, x: Tensor) -> Tensor:
        return x + 1

    def forward(self, x: Tensor) -> Tensor:
        return self.python(x)


with without_deprecation_warnings():

    @torch.jit.interface
    class Adds(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            pass


class AddsOne(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class CallsInterface(nn.Module):
    adds: Adds

    def __init__(self) -> None:
        super().__init__()
        self.adds = AddsOne()

    def forward(self, x: Tensor) -> Tensor:
        return self.adds.forward(x)


WEIGHT = rows()


class TestPlainCalls:
    @pytest.mark.parametrize(
        ("function", "reason"),
        [
            (lambda x: x, "it returns memory that was there before the call"),
            (lambda x: (x + 1, x[0]), "it returns memory that was there before the call"),
            (lambda x: WEIGHT[:1], "it returns memory that was there before the call"),
            (lambda x: x.mul_(2) + 1, "it changes an argument"),
            (lambda x: x[0].fill_(1.0) + 1, "it changes an argument"),
            (lambda x: x + torch.rand(3), "it draws random numbers on the host"),
            (lambda x: x + x.sum().item(), "it makes the host wait for the device"),
            (jit_runtime.compile(Asks()), "it makes the host wait for the device"),
            (lambda x: {x + 1}, "it returns a value of type set"),
            (lambda x: x.to_sparse(), "it returns a tensor that is sparse or quantized"),
            (
                lambda x: torch.complex(x, x).conj(),
                "it returns a tensor that is yet to be conjugated or negated",
            ),
        ],
    )
    def test_what_a_replay_would_get_wrong(self, function: Any, reason: str):
        cache = cached(function)
        for start in range(7):
            given, expected = rows(2, start), rows(2, start)
            torch.manual_seed(start)
            with torch.inference_mode():
                wanted = function(expected)
            torch.manual_seed(start)
            assert _equal(call(cache, given), wanted)
            assert torch.equal(given, expected), "what a call does to its arguments is done"
        assert reasons(cache) == {reason: 4}
        assert cache.statistics()["graphs"] == 0

    def test_a_capture_that_fails_is_not_tried_again(self):
        backend = RecordingBackend(sees_reads=False)
        ran = []

        def read(x: Tensor) -> Tensor:
            ran.append(x)
            return x + x.sum().item()

        cache = GraphCache(read, backend)
        call(cache, rows(), times=7)
        assert reasons(cache) == {"operation not permitted when stream is capturing": 4}
        assert len(ran) == 8

    @pytest.mark.parametrize(
        ("module", "reason"),
        [
            (CallsPython(), "it calls Python, which a replay would not"),
            (CallsInterface(), "it calls a method of an interface, which a replay would not"),
        ],
        ids=["python", "interface"],
    )
    def test_code_that_cannot_be_seen(self, module: nn.Module, reason: str):
        compiled = jit_runtime.compile(module.eval())
        cache = cached(compiled, state=MethodState(compiled))
        assert torch.equal(call(cache, rows(), times=5), rows() + 1)
        assert reasons(cache) == {reason: 5}

    def test_gradients_and_autocast(self):
        cache = cached(lambda x: x @ x.t(), warmup=1)
        given = rows().requires_grad_()
        for _ in range(3):
            cache(given).sum().backward()
        assert given.grad is not None
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            assert [cache(rows()).dtype for _ in range(3)] == [torch.bfloat16] * 3
        assert reasons(cache) == {"gradients are enabled": 3, "autocast is enabled": 3}
        with torch.no_grad():
            assert [cache(given).requires_grad for _ in range(3)] == [False] * 3
        assert cache.statistics()["captures"] == 1

    @pytest.mark.parametrize(
        ("argument", "reason"),
        [
            (torch.zeros(3, device="meta"), "an argument is on meta"),
            (rows().to_sparse(), "a tensor that is sparse or quantized"),
            (object(), "a value of type object"),
        ],
        ids=["device", "sparse", "object"],
    )
    def test_arguments_of_other_kinds(self, argument: Any, reason: str):
        cache = cached(lambda x: repr(type(x)))
        assert call(cache, argument, times=4) == repr(type(argument))
        assert reasons(cache) == {reason: 4}

    def test_when_there_is_no_memory_for_a_graph(self, monkeypatch: pytest.MonkeyPatch):
        def full(*args: Any, **kwargs: Any) -> Tensor:
            raise torch.OutOfMemoryError("out of memory\nTried to allocate much")

        cache = cached(lambda x: x + 1)
        monkeypatch.setattr(torch, "empty_strided", full)
        assert torch.equal(call(cache, rows(), times=5), rows() + 1)
        assert reasons(cache) == {"out of memory": 2}

    def test_arguments_that_overlap_themselves(self):
        cache = cached(lambda x: x + 1, warmup=1)
        assert torch.equal(call(cache, rows(1).expand(4, 3), times=3), rows(1).expand(4, 3) + 1)
        assert reasons(cache) == {"an argument overlaps itself": 2}

    def test_a_call_within_another_capture(self):
        backend = RecordingBackend()
        inner = GraphCache(lambda x: x + 1, backend, warmup=1)
        outer = GraphCache(lambda x: inner(x) * 2, backend, warmup=2)
        for start in range(4):
            assert torch.equal(call(outer, rows(2, start)), (rows(2, start) + 1) * 2)
        assert reasons(inner) == {"a capture is under way": 1}

    def test_errors_of_the_call_are_the_callers(self):
        def refuse(x: Tensor) -> Tensor:
            raise ValueError("no")

        cache = cached(refuse, warmup=1)
        for _ in range(4):
            with pytest.raises(ValueError, match="no"):
                call(cache, rows())
        assert cache.statistics()["captures"] == 0


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, (tuple, set)):
        return all(map(_equal, left, right))
    return torch.equal(left.to_dense(), right.to_dense())


class TestBounds:
    def test_the_graph_that_was_not_used_for_longest_goes(self):
        backend = RecordingBackend()
        cache = GraphCache(lambda x: x + 1, backend, warmup=1, limit=2)
        for count in (1, 2, 1, 3):  # 3 takes the place of 2
            call(cache, rows(count), times=2)
        assert [graph.is_reset for graph in backend.graphs] == [False, True, False]
        assert cache.statistics()["graphs"] == 2 and cache.statistics()["evictions"] == 1
        assert torch.equal(call(cache, rows(2), times=3), rows(2) + 1), "it may come back"
        assert cache.statistics()["captures"] == 4

    def test_clear_frees_all(self):
        backend = RecordingBackend()
        cache = GraphCache(lambda x: x + 1, backend, warmup=1)
        call(cache, rows(), times=3)
        cache.clear()
        assert all(graph.is_reset for graph in backend.graphs)
        assert torch.equal(call(cache, rows(), times=3), rows() + 1)

    def test_are_at_least_one(self):
        with pytest.raises(ValueError, match="at least 1"):
            cached(lambda x: x, limit=0)


class TestThreads:
    def test_each_gets_its_own_results(self):
        cache = cached(lambda x: (x * 2).cumsum(0), limit=2)
        wrong: list[int] = []

        def work(number: int) -> None:
            for turn in range(60):
                given = rows(1 + (number + turn) % 3, number * 100 + turn)
                if not torch.equal(call(cache, given), (given * 2).cumsum(0)):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = cache.statistics()
        assert not wrong and found["replays"] > 0 and found["graphs"] <= 2
        assert found["replays"] + sum(found["plain"].values()) == 240


@pytest.fixture
def cpu_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions on the CPU have graphs."""
    monkeypatch.setattr(
        "jit_runtime.sessions.session.CudaBackend", lambda device: RecordingBackend()
    )


def with_graphs(module: nn.Module, example: object) -> Session:
    session = jit_runtime.compile(module, example, optimize="inference")
    plan = dataclasses.replace(session.plan, cuda_graphs=True)
    return Session(dataclasses.replace(session.artifact, plan=plan), examples=session._examples)


@pytest.mark.usefixtures("cpu_graphs")
class TestSessions:
    def test_every_method_has_graphs(self):
        model, x = net(), image()
        session = with_graphs(model, Examples(forward=x, encode=x)).warmup()
        found = session.figures["cuda_graphs"]
        assert [found[name]["captures"] for name in ("forward", "encode")] == [1, 1]
        assert "cuda_graphs" not in session.artifact.figures
        model.eval()
        for batch in (2, 5, 2, 5, 5, 5):
            with torch.no_grad():
                expected = model(image(batch), factor=2.0)["out"]
            torch.testing.assert_close(session(image(batch), factor=2.0)["out"], expected)
            torch.testing.assert_close(session.encode(image(batch)), model.encode(image(batch)))
        assert session.figures["cuda_graphs"]["encode"]["captures"] == 2

    def test_a_warm_up_leaves_what_a_module_remembers(self):
        session = with_graphs(Counts(), torch.zeros(1)).warmup()
        assert [session(torch.zeros(1)).item() for _ in range(6)] == [1, 4, 9, 16, 25, 36]

    def test_results_may_be_the_graphs_own(self):
        session = with_graphs(net(), image()).warmup()
        kept = session(image())["out"]
        session.copy_outputs = False
        static = session(image())["out"]
        session(image() * 2)
        assert torch.equal(kept, session(image())["out"])
        assert static is session(image())["out"]
