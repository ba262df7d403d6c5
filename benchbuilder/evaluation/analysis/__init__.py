"""What the answers of models say about the items of a benchmark, and about the models."""
