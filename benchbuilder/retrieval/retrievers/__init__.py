"""Retrievers: adapters that rank the passages of a knowledge base."""
