"""The console script `jit-runtime`: compile, run, bench, inspect, verify.

`arguments` holds the parser, which imports no torch; each command has a file, imported when it is
used, with `main(options)`. `user_code` builds models and examples, `tensor_files` reads and writes
tensors. `bench` measures contenders, each in a process of its own (`contender`), for `figures` to
show.
"""

from .cli import main

__all__ = ["main"]
