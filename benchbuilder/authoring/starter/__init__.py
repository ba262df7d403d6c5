"""Recipes for a language that no recipe is in: eight sentences to write, and no rule."""
