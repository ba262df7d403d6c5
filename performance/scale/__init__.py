"""Speed at the size of the real sources: generated files, plain ways, ours, and what relates them."""
