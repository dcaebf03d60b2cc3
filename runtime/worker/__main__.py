"""The protocol: requests and answers as JSON lines over one end of a socket pair.

The first request opens a tree; each that follows names a method of `Job` and its arguments. The
answers are ``{"stage": name}`` on the way, then ``{"done": true}`` or ``{"error": {...}}``.
Standard output and error belong to user code.
"""

from __future__ import annotations

import json
import os
import queue
import resource
import signal
import socket
import sys
import threading
import warnings
from dataclasses import asdict
from typing import Any

from ..sessions.comparison import Incomparable
from .imports import Tree
from .place import of_error
from .tasks import Differs, ImportedElsewhere, Job, NeedsArguments

TASKS = ("check_class", "check_model", "run_reference")


def main(fd: int) -> None:
    """Serve the requests that come over ``fd``, until the other end closes it."""
    warnings.simplefilter("ignore")
    channel = socket.socket(fileno=fd)
    channel.set_inheritable(False)
    requests: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(channel, requests), daemon=True).start()

    tree = _open(**requests.get())
    _send(channel, {"done": True})
    while True:
        _send(channel, _serve(channel, tree, requests.get()))


def _listen(channel: socket.socket, requests: queue.Queue[dict[str, Any]]) -> None:
    """Pass requests on; when the other end is gone, end this process and all that it started."""
    with channel.makefile("r", encoding="utf-8") as lines:
        for line in lines:
            requests.put(json.loads(line))
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _open(home: str, hidden: list[str], modules: list[str], folder: str, memory: int) -> Tree:
    # The limit on data counts what is written to. One on the address space would stop builds with
    # CUDA, which reserve far more than they use. It comes after the import of torch, so that a
    # model gets the message and not torch.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    tree = Tree(home, hidden, modules)
    tree.enter()
    os.chdir(folder)
    return tree


def _serve(channel: socket.socket, tree: Tree, request: dict[str, Any]) -> dict[str, Any]:
    stage = "build"

    def tell(name: str) -> None:
        nonlocal stage
        stage = name
        _send(channel, {"stage": name})

    task = request.pop("task")
    if task not in TASKS:
        raise ValueError(f"unknown task {task}")
    try:
        getattr(Job(tree, tell), task)(**request)
    except (
        BaseException
    ) as error:  # sys.exit() and KeyboardInterrupt of user code end its task only
        return {"error": {"kind": _kind(error, stage), **asdict(of_error(error, tree))}}
    return {"done": True}


def _kind(error: BaseException, stage: str) -> str:
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return "limit"
    if isinstance(error, ImportedElsewhere):
        return "elsewhere"
    if isinstance(error, NeedsArguments):
        return "arguments"
    return "compare" if isinstance(error, (Differs, Incomparable)) else stage


def _send(channel: socket.socket, message: dict[str, Any]) -> None:
    channel.sendall(json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
