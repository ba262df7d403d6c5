"""Reads the data file of an evaluation's results, and the metrics that it states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.core import DataError, read_json
from benchbuilder.exporters import TableCell, TableLine, ValueFormat

RESULTS_SCHEMA = 1
"""Version of the data file."""
METRIC = "metric_"
"""How the names of the tables of metrics begin."""
VERDICTS = "verdicts_"
"""The same of the tables of verdicts, whose first figure is the accuracy."""
ABSTENTION = "abstention_"
"""The same of the tables of abstentions."""
FIGURE_OF = " · "
"""What stands between the items and the figure in the heading of a column."""


@dataclass(frozen=True)
class StatedMetric:
    """A metric of the recipe, or the first mean or accuracy where the recipe has none, as the results state it.

    Attributes:
        name: The metric in the recipe; empty for the mean of a measure.
        title: The heading of its table.
        figure: Which of its figures this is: the last one, by which the page ranks; empty if it has only one.
        format: How its values are written.
        sources: The sources of the items that have a column; none where all items are of one.
        lines: The name of each system, its value over all items and by source, and the number of items.
        notes: What stands below its table, such as where published figures are from.
    """

    name: str
    title: str
    figure: str
    format: ValueFormat
    sources: tuple[str, ...]
    lines: tuple[TableLine, ...]
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Its title with its figure."""
        return FIGURE_OF.join(filter(None, (self.title, self.figure)))


@dataclass(frozen=True)
class StatedAbstention:
    """A table of abstentions as the results state it: the keys of its columns, and a line for each system."""

    title: str
    columns: tuple[str, ...]
    lines: tuple[TableLine, ...]
    notes: tuple[str, ...] = ()

    def cell(self, system: str, column: str) -> TableCell:
        """The figure of a system, by the name to show; an empty cell if it has none."""
        own = next((line for line in self.lines if line.cells[0].words == system), None)
        return TableCell() if own is None else own.cells[self.columns.index(column)]


def load_results(path: Path) -> Mapping[str, Any]:
    """The data file of a results page; DataError if it cannot be read, or is none of this version."""
    following = "give the data file of an evaluation's results (results.json)"
    try:
        data: Any = read_json(path)
    except OSError as error:
        raise DataError("results cannot be read", where=str(path), why=str(error), next=following) from error
    except ValueError as error:
        raise DataError("results are not JSON", where=str(path), why=str(error), next=following) from error
    if not isinstance(data, Mapping) or data.get("schema") != RESULTS_SCHEMA:  # pyright: ignore[reportUnknownMemberType]
        raise DataError(
            "results have an unknown format",
            where=str(path),
            why=f"their `schema` is not {RESULTS_SCHEMA}",
            next="write them again with this version: benchbuild results",
        )
    return data  # pyright: ignore[reportUnknownVariableType]


def results_in_language(results: Mapping[str, Any], language: str) -> Mapping[str, Any]:
    """The data file of results with what its tables say in another language, where it has a translation."""
    said: Mapping[str, str] = results.get("translations", {}).get(language, {})
    tables = [
        {
            **table,
            "title": said.get(table["title"], table["title"]),
            "columns": [{**column, "label": said.get(column["label"], column["label"])} for column in table["columns"]],
            "notes": [said.get(note, note) for note in table["notes"]],
        }
        for table in results["tables"]
    ]
    return {**results, "tables": tables}


def stated_metrics(results: Mapping[str, Any]) -> list[StatedMetric]:
    """The metrics of a data file in the order of the page; without any, the first table of means or of accuracy."""
    tables = [table for table in results["tables"] if _figures(table)]
    metrics = [table for table in tables if table["name"].startswith(METRIC)]
    return [_stated(table, _figures(table)) for table in metrics or tables[:1]]


def stated_abstentions(results: Mapping[str, Any]) -> list[StatedAbstention]:
    """The tables of abstentions of a data file."""
    return [
        StatedAbstention(
            table["title"],
            tuple(column["key"] for column in table["columns"]),
            tuple(map(_line, table["lines"])),
            tuple(table["notes"]),
        )
        for table in results["tables"]
        if table["name"].startswith(ABSTENTION)
    ]


def _line(line: Mapping[str, Any]) -> TableLine:
    return TableLine(tuple(TableCell(**cell) for cell in line["cells"]), line["group"], block=line["block"])


def _figures(table: Mapping[str, Any]) -> range:
    """The columns with the last figure of a table, over all items and by source; empty if it has none over all."""
    keys = [str(column["key"]) for column in table["columns"]]
    if table["name"].startswith(VERDICTS):
        return range(1, 2)
    count = 1 if "all" in keys else sum(key.startswith("all_") for key in keys)
    return range(count, len(keys) - 1, count or 1) if count else range(0)


def _stated(table: Mapping[str, Any], own: range) -> StatedMetric:
    columns = [table["columns"][place] for place in own]
    labels = [str(column["label"]) for column in columns]
    figure = "" if columns[0]["key"] == "all" else labels[0].rpartition(FIGURE_OF)[2]
    return StatedMetric(
        table["name"].removeprefix(METRIC) if table["name"].startswith(METRIC) else "",
        table["title"],
        figure,
        columns[0]["form"],
        tuple(label.removesuffix(f"{FIGURE_OF}{figure}") if figure else label for label in labels[1:]),
        tuple(
            TableLine(tuple(TableCell(**line["cells"][at]) for at in (0, *own, -1)), line["group"], block=line["block"])
            for line in table["lines"]
            if line["block"] != "reference"
        ),
        tuple(table["notes"]),
    )
