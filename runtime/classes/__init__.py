"""What the class of a twin is made of: its metaclass, its marks, attributes and constants.

None of it compiles anything: before compilation a twin is an eager module.
"""
