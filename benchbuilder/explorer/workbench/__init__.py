"""Tries rules on the rows that a step gets, judges what they make, and saves them."""
