"""The judge report: how far a judge agrees with people, and where it is weak."""

PACKAGES = ("benchbuilder.evaluation.judge_report", "benchbuilder.evaluation.results")
"""Where the templates and strings of this page are; it shares some with the results."""
