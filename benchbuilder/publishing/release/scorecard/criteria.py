"""The criteria of the scorecard, read from ``criteria.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import ConfigDict, TypeAdapter

from benchbuilder.publishing.release.sentences import ReleaseSentence, sentence

Stage = Literal["design", "construction", "measurement", "release", "maintenance"]
_FILE = Path(__file__).with_name("criteria.yaml")


@dataclass(frozen=True)
class Criterion:
    """One criterion.

    Attributes:
        id: Its name.
        stage: The stage of the benchmark's life that it is about.
        works: The works that ask for it; ``ours`` is what this program adds.
        fill: ``auto`` if the program answers it, ``ask`` if only the author can, ``both`` if the author
            answers where the program sees nothing.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    id: str
    stage: Stage
    works: tuple[Literal["betterbench", "bean2025", "croissant_rai", "datasheet", "ours"], ...]
    fill: Literal["auto", "ask", "both"]

    @property
    def text(self) -> ReleaseSentence:
        """The criterion in a sentence."""
        return sentence(f"scorecard.criterion.{self.id}")


@cache
def all_criteria() -> tuple[Criterion, ...]:
    """The criteria, by stage."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    for row in rows:
        row["works"] = row.pop("from")
    return TypeAdapter(tuple[Criterion, ...]).validate_python(rows)
