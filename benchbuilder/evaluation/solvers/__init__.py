"""The kinds of the slot `solver`: in what phases a model under evaluation comes to its answer."""
