"""Annotation sheets: their columns and rows, as CSV and XLSX."""
