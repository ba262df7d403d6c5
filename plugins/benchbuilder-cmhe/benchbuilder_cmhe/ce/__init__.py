"""Concept explanation: a tree of terms, questions about its concepts, options that are near and far in it."""
