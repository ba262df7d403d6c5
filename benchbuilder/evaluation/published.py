"""Published figures of models and of judges, read from data files and shown beside ours, marked as published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from benchbuilder.config import LanguageTag, Spec
from benchbuilder.evaluation.yaml_files import read_yaml

Coefficient = Annotated[float, Field(ge=-1, le=1)]
Proportion = Annotated[float, Field(ge=0, le=1)]


class PublishedFigures(Spec):
    """Figures of one judge in one aspect; `note` by language of the report."""

    pearson: Coefficient | None = None
    accuracy: Proportion | None = None
    note: dict[LanguageTag, str] = {}


class PublishedJudges(Spec):
    """Figures from one publication (`work`): the split of its judges, majority baselines and judges by aspect."""

    work: str
    split: Literal["by_model", "by_question", "both"]
    majority: dict[str, Proportion] = {}
    judges: dict[str, dict[str, PublishedFigures]]

    def figures_for(self, aspect: str, split: str) -> dict[str, PublishedFigures]:
        """The published judges of an aspect; empty if the publication used another split."""
        if split != self.split:
            return {}
        return {name: figures[aspect] for name, figures in self.judges.items() if aspect in figures}


class PublishedRow(Spec):
    """One line: per column a number, [mean, standard deviation], or ``null``.

    `items` is the number of items, if it is not that of the whole benchmark. `people` marks a line of human answers.
    `note` is shown below the table.
    """

    cells: tuple[tuple[float, float] | float | None, ...]
    items: Annotated[int | None, Field(ge=1)] = None
    people: bool = False
    note: str = ""

    @staticmethod
    def parts(cell: tuple[float, float] | float | None) -> tuple[float | None, float | None]:
        """The value and the standard deviation of a cell, ``None`` if missing."""
        return cell if isinstance(cell, tuple) else (cell, None)


class PublishedTable(Spec):
    """The figures of one aspect or metric. `label` is the table's own name, `sources` are its columns.

    A column is a source, or ``all`` for the figures over all; of a metric with several figures it is ``SOURCE:FIGURE``
    (``all:f1``). `sizes` are the numbers of items behind the columns, where the paper says them.
    """

    label: str
    sources: tuple[str, ...]
    sizes: tuple[Annotated[int, Field(ge=1)] | None, ...] = ()
    rows: dict[str, PublishedRow]

    @model_validator(mode="after")
    def _is_square(self) -> PublishedTable:
        for name, row in self.rows.items():
            if len(row.cells) != len(self.sources):
                raise ValueError(f"{name}: {len(row.cells)} cells for {len(self.sources)} sources")
        if self.sizes and len(self.sizes) != len(self.sources):
            raise ValueError(f"{len(self.sizes)} sizes for {len(self.sources)} sources")
        return self


class PublishedResults(Spec):
    """Published figures of a benchmark with `items` items, from the paper `cite`."""

    title: str
    cite: str
    items: Annotated[int | None, Field(ge=1)] = None
    tables: dict[str, PublishedTable]


def load_published_results(path: Path) -> PublishedResults:
    """Read published figures from the YAML file `path`; DataError if that is not possible."""
    return read_yaml(path, PublishedResults, "file of published figures")


def recipe_published_results(evaluation: Mapping[str, Any]) -> PublishedResults | None:
    """The figures that the recipe's evaluation names, if any."""
    named: Any = evaluation.get("published")
    if isinstance(named, Mapping):
        named = named.get("resolved_path") or named.get("path")
    return load_published_results(Path(named)) if isinstance(named, str) and named else None
