"""`keep_memory`: what tensors free is there for the next ones, without the kernel."""

from __future__ import annotations

import subprocess
import sys

import jit_runtime
import pytest

FAULTS = """\
import resource, sys
import torch
import jit_runtime

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        x = torch.ones(40 * 2**20, dtype=torch.uint8)  # more than glibc ever keeps by itself
        del x
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

torch.set_num_threads(1)
faults()
before = faults()
print(before, jit_runtime.keep_memory(), faults() - faults(), faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no glibc")
def test_memory_that_is_freed_is_used_again() -> None:
    command = [sys.executable, "-c", FAULTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    before, is_set, _, after = done.stdout.split()
    assert is_set == "True"
    # In pages of 4 KiB; where the kernel gives larger ones there are fewer, but some.
    assert int(before) >= 10
    assert int(after) * 10 < int(before)


@pytest.mark.parametrize("limit", [0, -1, 2**31])
def test_a_limit_that_glibc_cannot_hold_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="limit is"):
        jit_runtime.keep_memory(limit)
