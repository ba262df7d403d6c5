"""Built-in judges of answers."""
