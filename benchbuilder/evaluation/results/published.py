"""Published figures, read from a data file and shown beside ours, marked as published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError, model_validator

from benchbuilder.config import Spec
from benchbuilder.core import DataError


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
    (``all:f1``).
    """

    label: str
    sources: tuple[str, ...]
    rows: dict[str, PublishedRow]

    @model_validator(mode="after")
    def _is_square(self) -> PublishedTable:
        for name, row in self.rows.items():
            if len(row.cells) != len(self.sources):
                raise ValueError(f"{name}: {len(row.cells)} cells for {len(self.sources)} sources")
        return self


class PublishedResults(Spec):
    """Published figures of a benchmark with `items` items, from the paper `cite`."""

    title: str
    cite: str
    items: Annotated[int | None, Field(ge=1)] = None
    tables: dict[str, PublishedTable]


def load_published_results(path: Path) -> PublishedResults:
    """Read published figures from the YAML file `path`.

    Raises:
        DataError: The file is missing or is invalid.
    """
    try:
        return PublishedResults.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise DataError(
            "the file of published figures is missing", where=str(path), next="correct `evaluation.published`"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError, ValidationError) as error:
        raise DataError(
            "the file of published figures is invalid",
            where=str(path),
            why=str(error),
            next="compare it with recipes/published/care_mi.yaml",
        ) from error


def recipe_published_results(evaluation: Mapping[str, Any]) -> PublishedResults | None:
    """The figures that the recipe's evaluation names, if any."""
    named: Any = evaluation.get("published")
    if isinstance(named, Mapping):
        named = named.get("resolved_path") or named.get("path")
    return load_published_results(Path(named)) if isinstance(named, str) and named else None
