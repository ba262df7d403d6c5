"""Sentence rules that steps share: frames, edits, negation, questions."""
