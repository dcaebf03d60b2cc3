"""`python -m jit_runtime.command`, as `jit-runtime`."""

from .cli import main

if __name__ == "__main__":
    main()
