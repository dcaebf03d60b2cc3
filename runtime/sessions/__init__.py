"""Compiled modules that run: what an artifact holds, sealed in a file, called, and checked.

    plan, signature, examples, forms    how a module runs, what it takes and returns, as data
    artifact, container, sources        a file: the module with its plan, signature and checksum
    session, switches                   the artifact at work, under its plan's switches of torch
    allocator                           memory that the process keeps, between calls
    comparison, verification            the same values as the eager module, or where not

`runtime/api.py` makes sessions.
"""
