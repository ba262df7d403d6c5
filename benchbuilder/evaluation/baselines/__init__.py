"""Built-in baselines, which answer items without a language model."""
