"""The retriever kinds."""
