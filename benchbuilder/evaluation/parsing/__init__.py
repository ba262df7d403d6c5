"""Reads verdicts, options and scores from the text of an answer."""
