"""The log of errata, and what its decisions make of items."""
