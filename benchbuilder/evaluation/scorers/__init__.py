"""Built-in scorers of answers."""
