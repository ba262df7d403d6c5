"""The page of an analysis: figures, tables, and the items that go back to experts in full."""
