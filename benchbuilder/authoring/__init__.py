"""What a recipe author works with: clones, word lists, dry runs, traces, differences, sweeps."""
