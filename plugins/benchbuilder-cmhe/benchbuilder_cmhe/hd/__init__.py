"""Hallucination detection: dialogues, answers that were tampered with, generated answers."""
