"""Kinds and a recipe for benchmarks of medical hallucination: detection, diagnosis, explanation."""
