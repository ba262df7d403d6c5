"""Where wrong answers to questions come from, for the step `wrong_answers`."""
