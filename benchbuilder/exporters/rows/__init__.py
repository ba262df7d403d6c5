"""Writes rows as JSON Lines, Parquet and TSV."""
