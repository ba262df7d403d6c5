"""Builds over the machines of a Ray cluster: the executor kind `ray`, and ``run=ray``."""
