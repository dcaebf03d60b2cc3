"""The plans that are worth a try on a device. Lower precision is only tried when asked for."""

from __future__ import annotations

import os
from dataclasses import replace

import torch

from ..sessions.plan import Plan
from .rewrites import ONEDNN_CONVOLUTIONS, ONEDNN_FEW_ROWS, ONEDNN_LINEARS, SIMPLIFYING

TF32 = "tf32"
"""What is asked for like a dtype: CUDA's tensor cores, from float32 to float32."""


def candidates(device: str, dtype: str | None = None, has_onednn: bool | None = None) -> list[Plan]:
    """The plans to try, the plainest first: the frozen module as it is.

    Raises ValueError for a precision that the device does not have.
    """
    if device == "cuda":
        return _on_cuda(dtype)
    if dtype == TF32:
        raise ValueError("TF32 is CUDA's: compile with device='cuda', or ask for bfloat16")
    if dtype is not None:
        plain = Plan(dtype=dtype)
        return [
            plain,
            replace(plain, memory_format="channels_last"),
            replace(plain, memory_format="channels_last", rewrites=SIMPLIFYING),
        ]
    if has_onednn is None:
        has_onednn = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    plans = [Plan(), Plan(rewrites=SIMPLIFYING)]
    if has_onednn:
        for operators in (
            ONEDNN_CONVOLUTIONS,
            ONEDNN_LINEARS,
            ONEDNN_CONVOLUTIONS + ONEDNN_LINEARS,
            ONEDNN_CONVOLUTIONS + ONEDNN_LINEARS + ONEDNN_FEW_ROWS,
        ):
            plans.append(Plan(fusion="onednn_ops", rewrites=(*SIMPLIFYING, *operators)))
    return plans


def _on_cuda(dtype: str | None) -> list[Plan]:
    tf32 = dtype == TF32
    plain = Plan(device="cuda", dtype=None if tf32 else dtype, tf32=tf32)
    plans = [
        plain,
        replace(plain, rewrites=SIMPLIFYING),
        replace(plain, rewrites=SIMPLIFYING, cudnn_benchmark=True),
        replace(plain, rewrites=SIMPLIFYING, cudnn_benchmark=True, memory_format="channels_last"),
    ]
    return plans + [replace(plan, cuda_graphs=True) for plan in plans[1:]]


def thread_counts(current: int, processors: int | None = None) -> list[int]:
    """Other numbers of threads that may be quicker: all processors, and half of what there is."""
    processors = processors or os.cpu_count() or 1
    return sorted({processors, max(1, current // 2)} - {current})
