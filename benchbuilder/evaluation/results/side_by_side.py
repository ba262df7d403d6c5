"""Compares two evaluations by the data files of their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from benchbuilder.config import BootstrapSpec
from benchbuilder.core import PageTexts, write_atomically
from benchbuilder.evaluation.results import PACKAGES
from benchbuilder.evaluation.results.across_languages import (
    SharedItems,
    language_gaps,
    language_table,
    shared_items,
)
from benchbuilder.evaluation.results.charts import ChartedTable
from benchbuilder.evaluation.results.context import (
    PAGE_FUNCTIONS,
    BootstrapSettings,
    bootstrap_settings,
    estimate_cell,
    table_columns,
    table_line,
)
from benchbuilder.evaluation.results.stated_metrics import VERDICTS, load_results
from benchbuilder.evaluation.stats.intervals import paired_mean_difference
from benchbuilder.exporters import (
    ResultTable,
    TableCell,
    TableLine,
    ValueFormat,
    csv_table,
    format_value,
    render_html,
    render_markdown,
)

_COMPARED = ("verdicts_", "answers", "aspects", "costs")
"""Name prefixes of the tables whose single values are compared."""
_CSV = (
    *("table", "line", "column", "first", "second", "difference", "difference_low", "difference_high", "p", "n"),
    *("first_whole", "first_n", "second_whole", "second_n"),
)


def write_side_by_side(
    first_file: Path, second_file: Path, folder: Path, *, texts: PageTexts, file: str = "beside"
) -> list[Path]:
    """Compare the data files `first_file` and `second_file`; writes ``file.html``, ``.md`` and ``.csv`` into `folder`.

    The mean of each run over all its items stands beside the means over the items that both runs have a score for. An
    item that was changed has another id, so items in common are unchanged. Differences are second minus first, by model
    and measure, over the items in common. The paired bootstrap uses the settings of the first run.

    Raises:
        DataError: A file is not the data file of a results page of this version.
    """
    t = texts
    first, second = load_results(first_file), load_results(second_file)
    gaps = list(_gaps(first, second, t))
    scores = _scores(first, second, t)
    changes = _other_changes(first, second)
    runs = _runs(first, second, t)
    context: dict[str, Any] = {
        "t": t,
        "language": t.language,
        "title": first["title"]
        if first["title"] == second["title"]
        else t("side_by_side.title", left=first["title"], right=second["title"]),
        "notes": _notes(first, second, t),
        "runs": runs,
        "gaps": gaps,
        "scores": scores,
        "others": [_sheet(title, rows, t) for title, rows in changes.items()],
        **PAGE_FUNCTIONS,
    }
    files = {
        f"{file}.html": render_html("side_by_side.html.j2", PACKAGES, **context),
        f"{file}.md": render_markdown("side_by_side.md.j2", PACKAGES, **context),
        f"{file}.csv": _csv(scores, chain.from_iterable(changes.values())),
        **({f"{file}_languages.csv": _languages_csv(gaps)} if gaps else {}),
    }
    return [write_atomically(folder / name, text) for name, text in files.items()]


def _notes(first: Mapping[str, Any], second: Mapping[str, Any], t: PageTexts) -> list[tuple[str, bool]]:
    """Notes for the reader, and whether each is a warning."""
    same = first["benchmark"] == second["benchmark"]
    shared = {row[0] for row in first["items"]} & {row[0] for row in second["items"]}
    notes = [(t("side_by_side.same_benchmark"), False) if same else (t("side_by_side.other_benchmark"), True)]
    if not shared and first["language"] != second["language"] and not ("facts" in first and "facts" in second):
        notes = [(t("side_by_side.no_facts"), True)]
    elif not shared and (items := _items_across(first, second)):
        said = {"n": len({one.family for one in items}), "first": first["language"], "second": second["language"]}
        notes = [(t("side_by_side.other_language", **said), False)]
    elif not shared:
        notes = [(t("side_by_side.nothing_shared"), True)]
    elif not same:
        differing = len(_differing_items(first, second))
        counts = {"shared": t.number(len(shared)), "differing": t.number(differing)}
        kind = "scores_differ" if differing else "scores_same"
        notes.append((t(f"side_by_side.{kind}", **counts), bool(differing)))
    equal = first["recipe"] == second["recipe"]
    return [*notes, (t("side_by_side.recipe_same" if equal else "side_by_side.recipe_differs"), False)]


def _by_measure(run: Mapping[str, Any]) -> dict[tuple[str, str, str], Any]:
    return {(m["aspect"], m["scorer"], m.get("form", "")): m for m in run["scores"]}


def _differing_items(first: Mapping[str, Any], second: Mapping[str, Any]) -> set[str]:
    """The items of both runs on which a score of a system differs; both runs have that score."""
    after, found = _by_measure(second), set[str]()
    for key, measure in _by_measure(first).items():
        for name, values in measure["values"].items() if key in after else ():
            left, right = _values(first, values), _values(second, after[key]["values"].get(name))
            found |= {item for item, value in left.items() if item in right and right[item] != value}
    return found


def _items_across(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[SharedItems]:
    """The items of the families of both runs, if these are in two languages."""
    known = first["language"] != second["language"] and "facts" in first and "facts" in second
    return shared_items(first, second) if known else []


def _gaps(first: Mapping[str, Any], second: Mapping[str, Any], t: PageTexts) -> Iterator[ChartedTable]:
    """A table for each measure that both runs have of the same facts, if these are in two languages."""
    shared, measures = _items_across(first, second), _by_measure(second)
    bootstrap = bootstrap_settings(BootstrapSpec.model_validate(first["bootstrap"]))
    verdicts = {table["name"].removeprefix(VERDICTS) for table in first["tables"]}
    for key, measure in _by_measure(first).items() if shared else ():
        if "_".join(filter(None, key)) not in verdicts:  # how near two texts are says nothing over languages
            continue
        others = measures[key]["values"] if key in measures else {}
        if gaps := language_gaps(measure["values"], others, shared, bootstrap):
            name = "_".join(("languages", *filter(None, key)))
            yield language_table(name, measure["title"], gaps, (first["language"], second["language"]), t)


def _runs(first: Mapping[str, Any], second: Mapping[str, Any], t: PageTexts) -> ResultTable:
    columns = (
        "run:words=side_by_side.run title:words=side_by_side.what recipe:words=side_by_side.recipe "
        "benchmark:words=side_by_side.benchmark items:count=side_by_side.items models:words=results.models"
    )
    lines: list[TableLine] = []
    for side, run in (("left", first), ("right", second)):
        systems = t("report.list_comma").join(run["systems"])
        values = (run["title"], run["recipe"], run["benchmark"], len(run["items"]), systems)
        lines.append(table_line(t(f"side_by_side.{side}"), *values))
    return ResultTable("runs", t("side_by_side.kicker"), table_columns(t, columns), tuple(lines))


def _scores(first: Mapping[str, Any], second: Mapping[str, Any], t: PageTexts) -> list[ResultTable]:
    """A table per measure of either run, with a line per system."""
    by_measure = [_by_measure(run) for run in (first, second)]
    facts = {row[0]: row[1] for run in (second, first) for row in run["items"]}
    bootstrap = bootstrap_settings(BootstrapSpec.model_validate(first["bootstrap"]))
    columns = table_columns(t, (
        "model:words=common.model first_whole=side_by_side.whole_left second_whole=side_by_side.whole_right "
        "first=side_by_side.common_left second=side_by_side.common_right difference:signed=results.difference p=p "
        "n:count=side_by_side.common"
    ))  # fmt: skip
    tables: list[ResultTable] = []
    for key in dict.fromkeys([*by_measure[0], *by_measure[1]]):
        sides = [measures.get(key, {"values": {}, "title": ""}) for measures in by_measure]
        lines: list[TableLine] = []
        for name in dict.fromkeys([*sides[0]["values"], *sides[1]["values"]]):
            left = _values(first, sides[0]["values"].get(name))
            right = _values(second, sides[1]["values"].get(name))
            lines.append(_comparison_line(name, left, right, facts, bootstrap, t))
        title = sides[0]["title"] or sides[1]["title"]
        tables.append(ResultTable("_".join(("means", *filter(None, key))), title, columns, tuple(lines)))
    return [table for table in tables if table.lines]


def _values(run: Mapping[str, Any], values: Sequence[float | None] | None) -> dict[str, float]:
    pairs = zip((row[0] for row in run["items"]), values or (), strict=False)
    return {item: value for item, value in pairs if value is not None}


def _comparison_line(
    name: str, first: Mapping[str, float], second: Mapping[str, float], facts: Mapping[str, str],
    bootstrap: BootstrapSettings, t: PageTexts,
) -> TableLine:  # fmt: skip
    whole = [TableCell(fmean(side.values()), n=len(side)) if side else None for side in (first, second)]
    common = [item for item in first if item in second]
    if not common:
        tag = t("side_by_side.only_left") if first else t("side_by_side.only_right")
        return table_line(name, *whole, None, None, None, None, 0, tag="" if first and second else tag)
    left, right = [first[item] for item in common], [second[item] for item in common]
    difference = paired_mean_difference(right, left, [facts[item] for item in common], **bootstrap)
    return table_line(name, *whole, fmean(left), fmean(right), estimate_cell(difference), difference.p, len(common))


class ValueChange(NamedTuple):
    """A value of a table that differs between the runs."""

    table: str
    line: str
    column: str
    label: str
    form: ValueFormat
    first: float | None
    second: float | None


def _other_changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[ValueChange]]:
    """Changes in other tables, by table title."""
    known = {sheet["name"]: sheet for sheet in second["tables"]}
    pairs = [(sheet, known[sheet["name"]]) for sheet in first["tables"] if sheet["name"] in known]
    changed = {old["title"]: _changes(old, new) for old, new in pairs if old["name"].startswith(_COMPARED)}
    return {title: changes for title, changes in changed.items() if changes}


def _changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[ValueChange]:
    after = _cells(second)
    return [
        ValueChange(first["name"], line, column, label, form, value, after[line, column][2])
        for (line, column), (label, form, value) in _cells(first).items()
        if (line, column) in after and value != after[line, column][2]
    ]


def _cells(sheet: Mapping[str, Any]) -> dict[tuple[str, str], tuple[str, ValueFormat, float | None]]:
    """The heading, format and value of each numeric cell, by line and column."""
    cells: dict[tuple[str, str], tuple[str, ValueFormat, float | None]] = {}
    for line in sheet["lines"]:
        key = " · ".join(cell.get("words", "") for cell in line["cells"][: sheet["keys"]])
        for column, cell in zip(sheet["columns"], line["cells"], strict=True):
            if column["form"] != "words":
                cells[key, column["key"]] = (column["label"], column["form"], cell.get("value"))
    return cells


def _sheet(title: str, changes: Sequence[ValueChange], t: PageTexts) -> ResultTable:
    def shown(value: float | None, form: ValueFormat) -> str:
        return "–" if value is None else format_value(value, form)

    columns = (
        "line:words=side_by_side.line column:words=side_by_side.column first:words=side_by_side.left "
        "second:words=side_by_side.right"
    )
    lines = [
        table_line(change.line, change.label, shown(change.first, change.form), shown(change.second, change.form))
        for change in changes
    ]
    return ResultTable(changes[0].table, title, table_columns(t, columns), tuple(lines), keys=2)


def _languages_csv(tables: Sequence[ChartedTable]) -> str:
    """The comparisons over two languages as one CSV table."""
    columns = [column.key for column in tables[0].table.columns[1:]]
    rows = [
        [charted.table.name, line.cells[0].words, *(cell.value for cell in line.cells[1:]), *_interval(line)]
        for charted in tables
        for line in charted.table.lines
    ]
    return csv_table(("table", "model", *columns, "gap_low", "gap_high"), rows)


def _interval(line: TableLine) -> tuple[float | None, float | None]:
    gap = line.cells[4]
    return gap.low, gap.high


def _csv(scores: Sequence[ResultTable], changes: Iterable[ValueChange]) -> str:
    """All comparisons as one CSV table."""
    rows: list[list[object]] = []
    for sheet in scores:
        for line in sheet.lines:
            left, right, first, second, gap, p, n = line.cells[1:]
            numbers = (first.value, second.value, gap.value, gap.low, gap.high, p.value, n.value,
                       left.value, left.n, right.value, right.n)  # fmt: skip
            rows.append([sheet.name, line.cells[0].words, "mean", *numbers])
    for change in changes:
        rows.append([change.table, change.line, change.column, change.first, change.second, *[None] * 9])
    return csv_table(_CSV, rows)
