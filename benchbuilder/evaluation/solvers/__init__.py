"""Solvers: the steps by which a model under evaluation arrives at its answer."""
