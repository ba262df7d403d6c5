"""Tokenizers: adapters that cut text into words."""
