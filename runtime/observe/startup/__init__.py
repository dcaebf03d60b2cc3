"""A folder for PYTHONPATH, which therefore holds nothing but ``sitecustomize``."""
