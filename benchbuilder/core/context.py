"""What a step gets from the build, and the problems that it reports in its spec."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class StepContext:
    """What a step gets from the build besides its spec: plain data, to be sent to other processes."""

    seed: int
    language: str
    step: str
    cache: Path
    """Folder for indices and similar data, named by fingerprint; may be emptied at any time."""
    workplace: Path
    """Folder of the annotation: sheets and votes."""
    benchmark: str = ""
    """The recipe's name, and its variant."""
    workers: int = 1
    """How many processes a step may use while it prepares; does not affect the output."""


@dataclass(frozen=True)
class SpecIssue:
    """A value in a step's spec that does not fit its rows: `key` within the step, `actual` and `allowed` values."""

    key: str
    message: str
    actual: str
    allowed: tuple[str, ...]
