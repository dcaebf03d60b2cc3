"""Reading sources: the files of a tree, their text, and what names mean across them."""
