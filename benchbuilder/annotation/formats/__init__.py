"""Formats that exchange votes with other tools: pure functions that write and read files."""
