"""What the kinds of each slot must look like."""
