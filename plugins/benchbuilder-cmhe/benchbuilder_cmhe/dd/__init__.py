"""Diagnosis: cases, names of diseases, codes of a hierarchical classification."""
