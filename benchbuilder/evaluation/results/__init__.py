"""The results page: scores with intervals, differences, costs and the hardest items."""

PACKAGES = ("benchbuilder.evaluation.results",)
"""Package with the templates and strings of this page."""
