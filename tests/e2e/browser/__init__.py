"""The review app in a real browser."""
