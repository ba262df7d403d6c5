"""Statements by example: shapes of questions, pairs that a speaker wrote, and the rules that they hold."""
