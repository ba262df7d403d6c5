"""The doors between our votes and other tools: pure functions from votes to their formats, and back."""
