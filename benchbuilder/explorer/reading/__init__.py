"""Reads builds without changing them: which there are, their steps, their rows and texts."""
