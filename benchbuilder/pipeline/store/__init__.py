"""Keeps the steps of a build: their rows, outcomes and manifests."""
