"""The judge report: how well a judge agrees with human raters, and how robust it is."""

PACKAGES = ("benchbuilder.evaluation.judge_report", "benchbuilder.evaluation.results")
"""Packages with the templates and strings of this page; some are shared with the results page."""
