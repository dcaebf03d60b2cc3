"""CUDA graphs: a method's kernels are recorded once for each form of its inputs, then replayed.

values    what a call is given and returns: its form, as a key, and the tensors in it
state     what the method reads and writes of its module between calls
results   static results, and copies of them
backend   the device: streams, capture, replay
cache     when to capture, replay, or call plainly
"""

from .backend import Backend, CaptureError, CudaBackend
from .cache import GraphCache
from .state import NO_STATE, MethodState, State

__all__ = [
    "NO_STATE",
    "Backend",
    "CaptureError",
    "CudaBackend",
    "GraphCache",
    "MethodState",
    "State",
]
