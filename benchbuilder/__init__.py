"""benchbuilder builds misinformation benchmarks for language models from verified knowledge."""

__version__ = "0.1.0"
