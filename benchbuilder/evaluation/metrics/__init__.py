"""The kinds of the slot `metric`: what the scores of many answers come to."""
