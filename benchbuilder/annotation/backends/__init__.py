"""Annotation backends: the review app, annotation sheets, or nobody."""
