"""Exchanges the answers of two facts: what bars a pair, and which pairs are made."""
