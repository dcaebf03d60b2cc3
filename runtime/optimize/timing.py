"""How long calls take, measured in turns.

What else the machine does slows all contenders alike when they take turns, and the quicker quarter
of the calls of each says more of it than the mean does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from statistics import quantiles
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

_FEWEST, _MOST = 5, 100


def interleaved(
    contenders: Mapping[K, Callable[[], object]],
    budget: float = 0.5,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[K, float]:
    """The lower quartile of each contender's calls, in seconds.

    They are called in turns, at least five times each, until the budget in seconds for each is
    used up. Each has been called before, so that it is ready.
    """
    times: dict[K, list[float]] = {key: [] for key in contenders}
    start = clock()
    for number in range(_MOST):
        if number >= _FEWEST and clock() - start > budget * len(contenders):
            break
        for key, call in contenders.items():
            before = clock()
            call()
            times[key].append(clock() - before)
    return {key: quantiles(taken, n=4)[0] for key, taken in times.items()}
