"""Built-in baselines: what answers items without being a language model."""
