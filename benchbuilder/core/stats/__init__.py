"""Statistics that several rooms need: agreement, voters, overlap of texts, kernels, draws of a bootstrap."""
