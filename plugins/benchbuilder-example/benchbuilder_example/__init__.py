"""Three small kinds for benchbuilder, as an example of a plugin."""
