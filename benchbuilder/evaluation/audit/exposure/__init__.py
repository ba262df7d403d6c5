"""Tests whether a model has seen the benchmark: it is asked, and its replies are counted."""
