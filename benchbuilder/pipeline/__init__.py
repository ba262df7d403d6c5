"""Plans, runs, counts and stores the steps of a recipe."""
