"""Python that TorchScript refuses, or takes for something else, becomes Python that it takes.

One file a construct: a docstring that says what TorchScript makes of it and what is written
instead, a handler, and examples, which are documentation and test at once. A handler that is not
sure returns None, and the code stays as it is.
"""
