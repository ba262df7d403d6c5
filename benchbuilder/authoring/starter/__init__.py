"""Recipes for a language that no recipe is in: a few sentences to write, and no rule."""
