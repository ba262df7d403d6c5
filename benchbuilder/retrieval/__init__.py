"""Tokenizers and retrievers."""
