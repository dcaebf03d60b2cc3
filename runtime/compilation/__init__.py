"""A tree of modules becomes TorchScript, in place, and is saved and loaded.

`tree.py` says in which order. `declarations.py` shows TorchScript what classes and instances
declare, `compiler.py` runs its compiler, `compiled_state.py` moves the state into C++, `late.py`
compiles what is called later, and `serialization.py` has the files.
"""
