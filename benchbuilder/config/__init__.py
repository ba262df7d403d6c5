"""Finds, composes, validates and explains recipes; the only room that knows Hydra."""
