"""``python -m jit_transpile``."""

from .cli import main

main(prog_name="jit-transpile")
