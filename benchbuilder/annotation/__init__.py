"""From candidates to decisions: what people are shown, what their votes decide, and what survives."""
