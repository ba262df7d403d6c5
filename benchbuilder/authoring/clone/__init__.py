"""Recipes made from other recipes: copies as text, their origin, and what is left over of it."""
