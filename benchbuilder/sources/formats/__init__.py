"""Reads files of one format into records: tables, JSON, RDF, dumps, books."""
