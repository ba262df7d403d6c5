"""Asks models, scores their answers, trains and validates judges, writes results."""
