"""Row accounting: every branch of a row has one outcome, and the totals balance."""
