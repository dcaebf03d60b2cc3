"""CUDA graphs on a device: what the tests on the CPU cannot show of streams, memory and errors."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable
from typing import Any

import jit_runtime
import torch
from cuda_case import CudaTestCase, pair, with_graphs
from jit_runtime.cuda_graphs import CudaBackend, GraphCache
from torch import Tensor, nn


def call(cache: Callable[..., Any], *args: Any, times: int = 1) -> Any:
    with torch.inference_mode():
        for _ in range(times):
            result = cache(*args)
    return result


def plain(cache: GraphCache) -> dict[str, int]:
    """Why calls were run without a graph, warm-ups left out."""
    found = cache.statistics()["plain"]
    return {reason: count for reason, count in found.items() if reason != "warming up"}


def cached(function: Callable[..., Any], **kwargs: Any) -> GraphCache:
    return GraphCache(function, CudaBackend(), **kwargs)


class TestReplay(CudaTestCase):
    def test_of_models_equals_eager(self):
        models = (
            (pair("residual.py", "ResidualNet"), lambda n: torch.randn(n, 3, 32, 32)),
            (pair("transformer.py", "LanguageModel"), lambda n: torch.randint(100, (n, 16))),
        )
        for (eager, twin), inputs in models:
            session = jit_runtime.compile(twin, inputs(2), device="cuda", optimize="inference")
            session = with_graphs(session).warmup()
            eager.cuda()
            for batch in (2, 3, 3, 3, 3, 3, 2, 3):
                x = inputs(batch).cuda()
                self.assert_same(session(x), call(eager, x))
            found = session.figures["cuda_graphs"]["forward"]
            self.assertEqual(found["captures"], 2, found)
            self.assertEqual(found["plain"].keys(), {"warming up"})

    def test_changes_state_in_place(self):
        class Counts(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("seen", torch.zeros(1))

            def forward(self, x: Tensor) -> Tensor:
                self.seen += 1
                return x * self.seen

        session = jit_runtime.compile(Counts(), device="cuda", optimize="inference")
        session = with_graphs(session)
        x = torch.ones(1, device="cuda")
        self.assertEqual([session(x).item() for _ in range(8)], [1, 2, 3, 4, 5, 6, 7, 8])
        self.assertEqual(session.figures["cuda_graphs"]["forward"]["replays"], 5)

    def test_draws_what_eager_execution_draws(self):
        cache = cached(lambda x: x + torch.rand_like(x) * torch.rand_like(x))
        x = torch.zeros(1000, device="cuda")
        call(cache, x, times=4)
        self.assertFalse(torch.equal(call(cache, x), call(cache, x)))
        with torch.inference_mode():
            torch.manual_seed(5)
            expected = [torch.rand_like(x) * torch.rand_like(x) for _ in range(3)]
        torch.manual_seed(5)
        for values in expected:
            self.assertTrue(torch.equal(call(cache, x), values))
        self.assertGreater(cache.statistics()["replays"], 3)

    def test_static_results_are_overwritten(self):
        cache = cached(lambda x: x * 2)
        x = torch.ones(4, device="cuda")
        copied = call(cache, x, times=4)
        with torch.inference_mode():
            static = cache.run((x,), {}, copy_outputs=False)
            cache.run((x * 5,), {}, copy_outputs=False)
        self.assertEqual(static.tolist(), [10.0] * 4)
        self.assertEqual(copied.tolist(), [2.0] * 4)


class TestStreams(CudaTestCase):
    def slow(self) -> tuple[GraphCache, Tensor]:
        """A graph that runs for some time after it was launched."""
        weight = torch.randn(2048, 2048, device="cuda") / 2048**0.5

        def powers(x: Tensor) -> tuple[Tensor, Tensor]:
            y = x
            for _ in range(20):
                y = torch.tanh(y @ weight)
            return y, y.sum(0)

        return cached(powers), weight

    def test_that_take_turns_keep_their_results(self):
        cache, _ = self.slow()
        inputs = [torch.randn(2048, 2048, device="cuda") for _ in range(8)]
        expected = [call(cache._call, x) for x in inputs]
        call(cache, inputs[0], times=4)
        torch.cuda.synchronize()
        streams = [torch.cuda.Stream() for _ in range(3)]
        results = []
        for number, x in enumerate(inputs):
            with torch.cuda.stream(streams[number % 3]):
                results.append(call(cache, x))
        torch.cuda.synchronize()
        self.assert_same(results, expected)
        self.assertEqual(cache.statistics()["replays"], 9)

    def test_of_several_threads_keep_their_results(self):
        cache, _ = self.slow()
        small = [torch.randn(256 + 256 * n, 2048, device="cuda") for n in range(4)]
        expected = [call(cache._call, x) for x in small]
        torch.cuda.synchronize()
        wrong: list[Any] = []

        def work(number: int) -> None:
            try:
                with torch.cuda.stream(torch.cuda.Stream()):
                    for turn in range(40):
                        which = (number + turn) % 4
                        self.assert_same(call(cache, small[which]), expected[which])
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(cache.statistics()["captures"], 4)

    def test_within_a_capture_of_the_caller(self):
        cache = cached(lambda x: x + 1)
        x = torch.ones(4, device="cuda")
        call(cache, x, times=5)
        graph = torch.cuda.CUDAGraph()
        with torch.inference_mode(), torch.cuda.graph(graph):
            result = cache(x)
        x.fill_(5.0)
        graph.replay()
        self.assertEqual(result.tolist(), [6.0] * 4)
        self.assertEqual(plain(cache), {"a capture is under way": 1})


class TestMemory(CudaTestCase):
    def reserved(self) -> int:
        """In MiB, of what is in use."""
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return torch.cuda.memory_reserved() // 2**20

    def test_of_dropped_graphs_is_freed(self):
        start = self.reserved()
        cache = cached(lambda x: (x * 2).relu(), limit=2)
        for size in range(64, 96, 4):
            call(cache, torch.ones(size * 2**18, device="cuda"), times=5)
        found = cache.statistics()
        self.assertEqual((found["graphs"], found["evictions"]), (2, 6))
        # Each has its arguments, its results, and what lies between. All eight had thrice as much.
        self.assertLess(self.reserved() - start, 2 * 3 * 100)
        cache.clear()
        self.assertLess(self.reserved() - start, 10)


class TestWhatCannotBeCaptured(CudaTestCase):
    def test_is_foreseen_where_torch_tells(self):
        functions = {
            "a number": lambda x: x + x.sum().item(),
            "indices": lambda x: x[x > 0],
            "a copy": lambda x: x + torch.ones(4).to(x.device),
        }
        x = torch.tensor([1.0, -1.0, 2.0, 3.0], device="cuda")
        for name, function in functions.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("error")
                cache = cached(function)
                self.assert_same(call(cache, x, times=6), call(function, x))
                self.assertEqual(plain(cache), {"it makes the host wait for the device": 3})
                self.assertEqual(torch.cuda.get_sync_debug_mode(), 0)

    def test_is_run_plainly_and_leaves_no_damage(self):
        def waits(x: Tensor) -> Tensor:
            torch.cuda.synchronize()  # of which torch does not tell
            return x + 1

        cache, x = cached(waits), torch.ones(4, device="cuda")
        before = torch.cuda.current_stream()
        self.assertEqual(call(cache, x, times=6).tolist(), [2.0] * 4)
        self.assertEqual(sum(plain(cache).values()), 3)
        self.assertIn("captur", "".join(plain(cache)))
        self.assertEqual(torch.cuda.current_stream(), before)
        self.assertEqual(torch.rand(4, device="cuda").shape, (4,), "random numbers are drawn")
        self.check_memory_is_used_again()
        other = cached(lambda x: x * 3)
        self.assertEqual(call(other, x, times=6).tolist(), [3.0] * 4)
        self.assertEqual(other.statistics()["replays"], 3)

    def check_memory_is_used_again(self) -> None:
        """Also memory that another stream has used: it is freed by events, if these are watched."""
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        start = torch.cuda.memory_reserved()
        for _ in range(50):
            block = torch.empty(64 * 2**20, dtype=torch.uint8, device="cuda")
            block.record_stream(stream)
            del block
            torch.cuda.synchronize()
        self.assertLess(torch.cuda.memory_reserved() - start, 10 * 64 * 2**20)

    def test_other_reasons(self):
        x = torch.ones(4, device="cuda")
        weight = torch.ones(4, device="cuda")
        reasons = {
            "it returns memory that was there before the call": lambda x: weight[:2],
            "it changes an argument": lambda x: x.mul_(1.0) + 1,
            "it returns a tensor on cpu": lambda x: torch.ones(2),
        }
        for reason, function in reasons.items():
            with self.subTest(reason):
                cache = cached(function)
                self.assert_same(call(cache, x, times=6), call(function, x))
                self.assertEqual(plain(cache), {reason: 3})

    def test_arguments_on_the_cpu(self):
        cache = cached(lambda x: x + 1)
        self.assertEqual(call(cache, torch.ones(2), times=5).device.type, "cpu")
        self.assertEqual(plain(cache), {"an argument is on cpu": 5})
