"""The tokenizer kinds."""
