"""What `group_families` knows of all candidates at once, as columns of numbers."""
