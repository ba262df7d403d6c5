"""What YAML may say: the base classes of specs, and the recipe itself."""
