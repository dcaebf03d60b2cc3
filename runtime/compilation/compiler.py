"""TorchScript's compiler at work: for one thread at a time, and it tells us of what it meets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..checks.compiled_code import check_function
from ..classes.decorators import is_dropped_on_export
from ..torch_internals import intercepted, without_deprecation_warnings
from .source_map import point_at_source
from .twins import twin_of
from .type_recipes import RecordedBuilder

# Compilation patches torch and the modules at work.
lock = threading.RLock()


@contextmanager
def compiling() -> Iterator[None]:
    """Within, this thread alone compiles, and what it compiles is checked and recorded.

    An error that leaves it names the source's place, where the code is a twin's.
    """
    with (
        lock,
        without_deprecation_warnings(),
        intercepted(check_function, twin_of, is_dropped_on_export, RecordedBuilder),
    ):
        try:
            yield
        except Exception as error:
            point_at_source(error)
            raise
