"""Providers of models, the gateway that owns hosted calls, and prompts."""
