"""Checks of translations that need no speaker, what they learn from pairs, and the file that people translate in."""
