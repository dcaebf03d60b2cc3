"""How a process tells of its calls: sys.monitoring (PEP 669), and before 3.12 sys.setprofile.

Neither changes an object of the user's, and both leave sys.settrace to coverage and debuggers. Code
from outside the tree costs nothing with sys.monitoring, which is told to pass over it.
"""

from __future__ import annotations

import atexit
import opcode
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

from .definitions import Function
from .recorder import Gone, Recorder

_TOOL = "jit-transpile"


class Watch:
    """Passes on what happens in functions of the tree, until it is stopped."""

    def __init__(self, recorder: Recorder, stop: Callable[[], None]) -> None:
        self.recorder = recorder
        self.stop = stop
        self.running = True

    def tell(
        self, what: Callable[..., None], function: Function, frame: FrameType, *values: object
    ) -> None:
        """Record one event. Whatever goes wrong, the user's code goes on."""
        if not self.running:
            return
        try:
            what(function, frame, *values)
        except RecursionError:
            return  # the user's code is about to meet it too
        except Gone:
            self.end()
        except Exception:
            self.end()
            print(f"{_TOOL}: observes no more in this process, because of", file=sys.stderr)
            traceback.print_exc()

    def end(self) -> None:
        """Watch no more."""
        if self.running:
            self.running = False
            self.stop()


def start(folder: Path) -> None:
    """Watch this process from now on, in all its threads, and those that are forked from it."""
    recorder = Recorder(folder)
    watch = _watched(recorder)
    # Modules lose their contents when the interpreter ends.
    atexit.register(watch.end)


if sys.version_info >= (3, 12):

    def _watched(recorder: Recorder) -> Watch:
        monitoring = sys.monitoring
        events = monitoring.events
        # Those of debuggers, coverage, profilers and optimisers are left to them.
        tool = next(number for number in (3, 4) if monitoring.get_tool(number) is None)
        watch = Watch(recorder, lambda: monitoring.free_tool_id(tool))

        def called(code: CodeType, _offset: int) -> object:
            function = recorder.function(code)
            if function is None:
                return monitoring.DISABLE
            watch.tell(recorder.called, function, sys._getframe(1))
            return None

        def returned(code: CodeType, _offset: int, value: object) -> object:
            function = recorder.function(code)
            if function is None:
                return monitoring.DISABLE
            watch.tell(recorder.returned, function, sys._getframe(1), value)
            return None

        def unwound(code: CodeType, _offset: int, _error: BaseException) -> None:
            function = recorder.function(code)
            if function is not None:
                watch.tell(recorder.unwound, function, sys._getframe(1))

        monitoring.use_tool_id(tool, _TOOL)
        monitoring.register_callback(tool, events.PY_START, called)
        monitoring.register_callback(tool, events.PY_RETURN, returned)
        monitoring.register_callback(tool, events.PY_UNWIND, unwound)
        monitoring.set_events(tool, events.PY_START | events.PY_RETURN | events.PY_UNWIND)
        return watch

else:
    _RETURN = opcode.opmap["RETURN_VALUE"]

    def _watched(recorder: Recorder) -> Watch:
        def unprofile() -> None:
            threading.setprofile(None)
            sys.setprofile(None)

        watch = Watch(recorder, unprofile)

        def profile(frame: FrameType, event: str, value: object) -> None:
            if event != "call" and event != "return":
                return
            function = recorder.function(frame.f_code)
            if function is None:
                return
            if event == "call":
                # A generator is called once, and resumed under the same name.
                if not function.is_generator or _starts(frame):
                    watch.tell(recorder.called, function, frame)
            elif value is None and frame.f_code.co_code[frame.f_lasti] != _RETURN:
                watch.tell(recorder.unwound, function, frame)
            else:
                watch.tell(recorder.returned, function, frame, value)

        threading.setprofile(profile)
        sys.setprofile(profile)
        return watch

    def _starts(frame: FrameType) -> bool:
        if sys.version_info >= (3, 11):
            # At its start a generator meets RESUME 0, after a yield RESUME 1.
            return frame.f_code.co_code[frame.f_lasti + 1] == 0
        return frame.f_lasti < 0
