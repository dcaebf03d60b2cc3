"""TorchScript's types, and which expression, parameter or attribute has which."""
