"""Exporters: the files that a build leaves for others."""
