"""Watches user code from inside its process, and notes which types it handles.

The package imports the standard library alone, and nothing of the package around it but in
`__main__`: each Python process that the observed command starts loads it, also those that have
nothing to do with torch.

=============  ===============================================================================
`startup`      on PYTHONPATH: its sitecustomize starts the watch
`hooks`        sys.monitoring (PEP 669), or sys.setprofile before Python 3.12
`recorder`     what a call, a return and a module's attributes say
`definitions`  which code and which classes belong to the source tree
`words`        values -> their types, in words
`__main__`     runs the function that ``jit-transpile observe --run`` names
=============  ===============================================================================
"""
