"""The audit: whether the answer of a question can be told from its text alone."""
