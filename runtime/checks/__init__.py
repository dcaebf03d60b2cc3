"""What TorchScript compiles in silence and runs otherwise than Python does, refused.

`compiled_code.py` is asked by the compiler about each function and graph; a kind of difference is a
file of its own.
"""
