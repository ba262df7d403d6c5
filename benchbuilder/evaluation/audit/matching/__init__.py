"""Finds a benchmark in corpora: runs of characters or words that both contain, by hashes and verified by text."""
