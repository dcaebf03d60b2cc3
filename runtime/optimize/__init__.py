"""How the fastest plan is found: `optimise(compiled, methods, expected, ...)`.

graphs           what rewrites ask of a graph, and put into it
observing        the sizes of tensors, when a graph runs on the example
packed_weights   weights in oneDNN's layout, which files keep as ordinary tensors
rewrites/        one rewrite of a frozen graph a file, and their order
"""
