"""What a step gets from the build, and what it finds wrong in its spec."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class StepContext:
    """What a stage gets from the build besides its spec: plain data, so that it travels to other processes."""

    seed: int
    language: str
    step: str
    cache: Path
    """Folder for indices and the like, named by fingerprint; may be emptied at any time."""
    workplace: Path
    """Folder that belongs to people: packets and votes."""
    benchmark: str = ""
    """What is built: the recipe's name, and its variant."""
    workers: int = 1
    """How many processes a stage may use while it prepares; shapes nothing."""


@dataclass(frozen=True)
class SpecIssue:
    """Something in a step's spec that does not fit its rows: `key` within the step, what stands there, what may."""

    key: str
    message: str
    actual: str
    allowed: tuple[str, ...]
