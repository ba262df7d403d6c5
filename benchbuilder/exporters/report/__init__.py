"""The HTML report and the dataset card of a build."""
