"""The parts of the reference generator."""
