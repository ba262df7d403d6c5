"""Models: adapters that write what rules cannot."""
