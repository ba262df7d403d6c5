"""The gateway: sends all model requests of a build and stores every reply."""
