"""Claims in long answers: their clauses, what the item's statements and paragraphs say of them, and who decides it."""
