"""The results page: scores with intervals, differences, costs and the hardest items."""

PACKAGES = ("benchbuilder.evaluation.results",)
"""Where the templates and strings of this page are."""
