"""The memory that tensors on the CPU free stays with the process.

glibc hands large blocks back to the kernel when they are freed, and the next call gets them page by
page, each filled with zeros first. Models with large activations spend much of their time on that.
"""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_* of <malloc.h>
_OLDEST = 32 * 2**20
"""The most that releases of glibc before 2.35 take as the second."""


def keep_memory(limit: int = 2**30) -> bool:
    """Have this process keep the memory that tensors on the CPU free, for those of later calls.

    It is a setting of the process, for all that it runs, and changes no result. The process then
    holds what its calls needed at most, and up to `limit` free bytes at the end of its heap.

    Args:
        limit: bytes, up to 2 GiB. Single blocks that are larger are handed back.

    Returns whether the setting was made: glibc's allocator alone has it. Another one that takes
    its place (`LD_PRELOAD` of jemalloc) is not changed. Source: mallopt(3).

    Raises ValueError for a limit that is out of range.
    """
    if not 0 < limit < 2**31:
        raise ValueError(f"limit is {limit} bytes: give a number from 1 to {2**31 - 1}")
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is None or not hasattr(libc, "gnu_get_libc_version"):
        return False
    # Any of the two ends glibc's own adaption of both, so both are set.
    is_set = libc.mallopt(_MMAP_THRESHOLD, limit) or libc.mallopt(_MMAP_THRESHOLD, _OLDEST)
    return bool(is_set and libc.mallopt(_TRIM_THRESHOLD, limit))
