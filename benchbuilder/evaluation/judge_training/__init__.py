"""Trains judges on rated answers, validates them on held-out items and models, and stores them."""
