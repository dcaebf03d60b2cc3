"""From facts to text: what is changed in a file, as data, and the change itself."""
