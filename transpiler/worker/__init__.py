"""The worker step: build the twin's modules, compile them, compare them with the source's.

The only step that runs user code, and it does so in child processes (`jit_runtime.worker`).
"""

from .check import check_twin
from .report import WorkerReport

__all__ = ["WorkerReport", "check_twin"]
