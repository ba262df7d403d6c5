"""The scorecard: which criteria of a good benchmark are met, by evidence of the build and answers of its author."""
