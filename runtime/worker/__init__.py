"""The worker's child process: it imports a tree, builds its models, compiles and compares them.

Run as ``python -m jit_runtime.worker FD``, where FD is one end of a socket pair. User code runs
here and nowhere else, so whatever it does (prints, exits, crashes, hangs) ends in this process.

==============  ==============================================================================
`__main__`      the protocol: JSON lines over FD, one answer to each request
`tasks`         what can be asked for: check a class, run the source's model, check the twin's
`imports`       the path: the twin wins over every other copy of the same package
`place`         the file and the line that an error means
`operators`     a program of its own: the table of what torch's operators expect and return
`stubs`         how that table writes signatures
==============  ==============================================================================
"""
