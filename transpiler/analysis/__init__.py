"""Facts about the classes: which are modules, what is compiled, what that reads."""
