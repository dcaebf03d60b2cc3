"""Sessions on CUDA compute what the eager modules do."""

from __future__ import annotations

import copy
import io
import itertools
from typing import Any

import jit_runtime
import torch
from cuda_case import CudaTestCase, pair, with_graphs
from jit_runtime import Examples, Session
from torch import Tensor, nn


def images(batch: int = 2) -> Tensor:
    return torch.randn(batch, 3, 32, 32)


def tokens(batch: int = 2) -> Tensor:
    return torch.randint(100, (batch, 16))


MODELS: tuple[tuple[str, str, dict[str, Any], Any], ...] = (
    ("residual.py", "ResidualNet", {"width": 16, "depth": 3}, images),
    ("transformer.py", "LanguageModel", {"dim": 64, "depth": 2}, tokens),
)


def called(function: Any, *args: Any) -> Any:
    with torch.inference_mode():
        return function(*args)


class TestCompile(CudaTestCase):
    def test_is_on_the_device_unless_told_otherwise(self):
        _, twin = pair("residual.py", "ResidualNet", width=4, depth=1)
        session = jit_runtime.compile(twin, images(), optimize="inference")
        self.assertEqual((session.device.type, session.plan.device), ("cuda", "cuda"))
        self.assertEqual(next(twin.parameters()).device.type, "cpu", "the module stays")
        on_cpu = jit_runtime.compile(twin, images(), device="cpu", optimize="inference")
        self.assertEqual(on_cpu.device.type, "cpu")

    def test_equals_eager_at_any_batch_size(self):
        for file, name, arguments, inputs in MODELS:
            eager, twin = pair(file, name, **arguments)
            eager.cuda()
            for optimize in ("inference", "max"):
                session = jit_runtime.compile(twin, inputs(), optimize=optimize)
                for batch in (2, 5, 2, 5, 2, 5, 2, 5, 2, 5):
                    with self.subTest(name, optimize=optimize, batch=batch):
                        x = inputs(batch).cuda()
                        self.assert_same(called(session, x), called(eager, x))

    def test_precision_is_single_unless_asked(self):
        model = nn.Sequential(nn.Linear(512, 512), nn.Linear(512, 512)).eval()
        x = torch.randn(64, 512)
        exact = called(copy.deepcopy(model).double(), x.double())
        torch.backends.cuda.matmul.allow_tf32 = True
        for optimize in ("inference", "max"):
            with self.subTest(optimize):
                session = jit_runtime.compile(model, x, optimize=optimize)
                self.assertFalse(session.plan.tf32)
                self.assert_same(called(session, x.cuda()).double(), exact, 1e-5)

    def test_leaves_torchs_switches_as_they_were(self):
        _, twin = pair("residual.py", "ResidualNet", width=8, depth=1)
        for matmul, cudnn in itertools.product((False, True), repeat=2):
            with self.subTest(matmul=matmul, cudnn=cudnn):
                torch.backends.cuda.matmul.allow_tf32 = matmul
                torch.backends.cudnn.allow_tf32 = cudnn
                # Eager convolutions in TF32, torch's default, are no reason to refuse the session.
                session = jit_runtime.compile(twin, images(), optimize="inference")
                called(session, images().cuda())
                self.assertEqual(torch.backends.cuda.matmul.allow_tf32, matmul)
                self.assertEqual(torch.backends.cudnn.allow_tf32, cudnn)

    def test_a_search_leaves_them_too(self):
        _, twin = pair("residual.py", "ResidualNet", width=8, depth=1)
        session = jit_runtime.compile(twin, images(), optimize="max")
        called(session, images().cuda())
        self.assertFalse(torch.backends.cudnn.benchmark or torch.backends.cudnn.allow_tf32)

    def test_tf32_when_asked(self):
        eager, twin = pair("residual.py", "ResidualNet", width=16, depth=2)
        session = jit_runtime.compile(twin, images(4), optimize="max", dtype="tf32")
        self.assertTrue(session.plan.tf32)
        x = images(4)
        self.assert_same(called(session, x.cuda()), called(eager, x), 1e-2)

    def test_half_precision_when_asked(self):
        eager, twin = pair("residual.py", "ResidualNet", width=16, depth=2)
        x = images(4)
        expected = called(eager, x)
        for dtype in ("float16", "bfloat16"):
            with self.subTest(dtype):
                session = jit_runtime.compile(twin, x, optimize="max", dtype=dtype)
                self.assertEqual(session.plan.dtype, dtype)
                self.assert_same(called(session, x.cuda()), expected, 5e-2)

    def test_in_place_it_trains_as_eager_does(self):
        eager, twin = pair("transformer.py", "LanguageModel", dim=32, depth=1)
        eager.cuda().train()
        jit_runtime.compile(twin.train(), device="cuda")
        x = tokens(4).cuda()
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (eager, twin)]
        for step in range(5):
            losses = []
            for model, optimizer in zip((eager, twin), optimizers, strict=True):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x).flatten(0, 1), x.flatten())
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
            with self.subTest(step=step):
                self.assert_same(losses[1], losses[0], 1e-4)
        for key, value in eager.state_dict().items():
            self.assert_same(twin.state_dict()[key], value, 1e-4)


class TestMoving(CudaTestCase):
    def moved(self, session: Session, device: str) -> Session:
        """By a file."""
        file = io.BytesIO()
        session.save(file)
        file.seek(0)
        return jit_runtime.load(file, device=device)

    def test_there_and_back(self):
        for file, name, arguments, inputs in MODELS:
            eager, twin = pair(file, name, **arguments)
            x = inputs()
            expected = called(eager, x)
            session = jit_runtime.compile(twin, x, device="cpu", optimize="inference")
            for how in (self.moved, Session.to):
                with self.subTest(name, how=how.__name__):
                    on_cuda = how(session, "cuda")
                    for _ in range(4):
                        self.assert_same(called(on_cuda, x.cuda()), expected)
                    self.assertEqual(on_cuda.plan.device, "cuda")
                    back = how(on_cuda, "cpu")
                    for _ in range(4):
                        self.assert_same(called(back, x), expected)
                    self.assertEqual(back.plan.device, "cpu")

    def test_with_graphs(self):
        eager, twin = pair("residual.py", "ResidualNet", width=8, depth=2)
        x = images()
        session = with_graphs(jit_runtime.compile(twin, x, device="cuda", optimize="inference"))
        again = self.moved(session, "auto").warmup()
        self.assertTrue(again.plan.cuda_graphs)
        self.assert_same(again(x.cuda()), called(eager, x))
        self.assertGreater(again.figures["cuda_graphs"]["forward"]["replays"], 0)
        self.assertFalse(session.to("cpu").plan.cuda_graphs)
        self.assert_same(session.to("cpu")(x), called(eager, x))

    def test_state_moves_too(self):
        eager, twin = pair("recurrent.py", "StreamingTagger")
        chunk = torch.randn(5, 2, 8)
        examples = Examples(forward=chunk, reset=())
        session = jit_runtime.compile(twin, examples, device="cpu", optimize="inference")
        for target in (session.to("cuda"), with_graphs(session.to("cuda"))):
            target.reset()
            called(eager.reset)
            for _ in range(6):
                self.assert_same(called(target, chunk.cuda()), called(eager, chunk))
            target.reset()
            called(eager.reset)
            self.assert_same(called(target, chunk.cuda()), called(eager, chunk))
