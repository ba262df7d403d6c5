"""The pages of the explorer, rendered by a server on this machine."""
