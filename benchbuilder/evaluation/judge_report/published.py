"""What others published about judges: marked as theirs, and shown only where the split is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from benchbuilder.config import Spec
from benchbuilder.evaluation.judge_report.read_spec import read_yaml_spec
from benchbuilder.exporters import Language

Coefficient = Annotated[float, Field(ge=-1, le=1)]
Portion = Annotated[float, Field(ge=0, le=1)]


class PublishedFigures(Spec):
    """Figures of one judge in one aspect; `note` by language of the report."""

    pearson: Coefficient | None = None
    accuracy: Portion | None = None
    note: dict[Language, str] = {}


class PublishedJudges(Spec):
    """What one `work` published: the `split` of its judges, its majority baseline by aspect, its judges by aspect."""

    work: str
    split: Literal["by_model", "by_question", "both"]
    majority: dict[str, Portion] = {}
    judges: dict[str, dict[str, PublishedFigures]]

    def figures_for(self, aspect: str, split: str) -> dict[str, PublishedFigures]:
        """The judges of an aspect, as published; none where `split` is another one than theirs."""
        if split != self.split:
            return {}
        return {name: figures[aspect] for name, figures in self.judges.items() if aspect in figures}


def load_published_judges(path: Path) -> PublishedJudges:
    """The figures of the YAML file `path`; DataError if it is missing, no YAML, or says what it may not."""
    return read_yaml_spec(path, PublishedJudges, "file of published figures")
