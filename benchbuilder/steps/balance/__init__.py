"""Chooses whole families of questions, so that nothing but knowledge separates yes from no."""
