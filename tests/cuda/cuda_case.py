"""What the tests on CUDA share: twins of the samples beside their sources, and comparisons."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from jit_runtime import Session
from torch import nn

TESTS = Path(__file__).resolve().parent.parent
SAMPLES = TESTS.parent / "samples"
TWINS = TESTS / "golden"


@unittest.skipUnless(torch.cuda.is_available(), "needs a CUDA device")
class CudaTestCase(unittest.TestCase):
    """A test on the first device, in single precision, as sessions compute unless asked."""

    def setUp(self) -> None:
        torch.manual_seed(0)
        for switches in (torch.backends.cudnn, torch.backends.cuda.matmul):
            # torch's own default lets convolutions use TF32.
            self.addCleanup(setattr, switches, "allow_tf32", switches.allow_tf32)
            switches.allow_tf32 = False

    def assert_same(self, actual: Any, expected: Any, tolerance: float = 1e-5) -> None:
        """Compare by the largest magnitude: kernels sum in other orders."""
        if isinstance(expected, torch.Tensor):
            self.assertEqual(actual.dtype, expected.dtype)
            actual, expected = actual.double().cpu(), expected.double().cpu()
            atol = tolerance * max(1.0, float(expected.abs().max()))
            torch.testing.assert_close(actual, expected, rtol=0, atol=atol)
        elif isinstance(expected, (tuple, list)):
            self.assertEqual(len(actual), len(expected))
            for got, want in zip(actual, expected, strict=True):
                self.assert_same(got, want, tolerance)
        else:
            self.assertEqual(actual, expected)


def pair(file: str, name: str, **arguments: Any) -> tuple[nn.Module, Any]:
    """A model of the samples and its twin, with the same weights, in evaluation, on the CPU."""
    eager: nn.Module = getattr(_imported(SAMPLES / file), name)(**arguments).eval()
    twin = getattr(_imported(TWINS / file), name)(**arguments).eval()
    twin.load_state_dict(eager.state_dict())
    return eager, twin


def with_graphs(session: Session) -> Session:
    """The same session with CUDA graphs."""
    plan = dataclasses.replace(session.plan, cuda_graphs=True)
    artifact = dataclasses.replace(session.artifact, plan=plan)
    return Session(artifact, session.device, session._examples)


def _imported(file: Path) -> ModuleType:
    name = f"{file.parent.name}_{file.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
