"""Text templates, data only: what the transpiler prints and writes around what it generates."""
