"""Pure functions on strings; every word, mark and pattern of a language comes in as an argument."""
