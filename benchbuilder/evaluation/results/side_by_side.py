"""Two evaluations side by side, from the data files that their results left behind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from markupsafe import Markup

from benchbuilder.config.spec.annotation import BootstrapSpec
from benchbuilder.core.atomic_write import write_whole
from benchbuilder.core.errors import DataError
from benchbuilder.core.stats.intervals import paired_means
from benchbuilder.evaluation.results import PACKAGES
from benchbuilder.evaluation.results.context import estimate_cell
from benchbuilder.evaluation.results.exporter import SCHEMA
from benchbuilder.exporters.render.i18n import Language, Wording
from benchbuilder.exporters.render.table_formats import as_markdown, table
from benchbuilder.exporters.render.tables import Cell, Column, Form, Line, Sheet, count, interval, plain, words
from benchbuilder.exporters.render.templates import render_html, render_markdown

_COMPARED = ("verdicts_", "answers", "aspects", "costs")
"""What the names of the tables begin with of which single values are compared."""
_CSV = ("table", "line", "column", "first", "second", "difference", "difference_low", "difference_high", "p", "n")


def side_by_side(left: Path, right: Path, folder: Path, *, language: Language, file: str = "beside") -> list[Path]:
    """Compare the data files `left` and `right`; writes ``file.html``, ``.md`` and ``.csv`` into `folder`.

    Differences are the second less the first, model by model and measure by measure, over the items that both runs
    have a score for, with the paired bootstrap of the first run's settings. DataError where a file is none of ours.
    """
    t = Wording(language, PACKAGES)
    first, second = _load(left), _load(right)
    scores = _scores(first, second, t)
    changes = _others(first, second)
    runs = _runs(first, second, t)
    context: dict[str, Any] = {
        "t": t,
        "language": language,
        "title": first["title"] if first["title"] == second["title"]
        else t("beside.title", left=first["title"], right=second["title"]),
        "notes": _notes(first, second, t),
        "runs": runs,
        "scores": scores,
        "others": [_sheet(title, rows, t) for title, rows in changes.items()],
        "plain": plain,
        "interval": interval,
        "as_markdown": _marked,
    }  # fmt: skip
    files = {
        f"{file}.html": render_html("results_beside.html.j2", PACKAGES, **context),
        f"{file}.md": render_markdown("results_beside.md.j2", PACKAGES, **context),
        f"{file}.csv": _csv(scores, chain.from_iterable(changes.values())),
    }
    return [write_whole(folder / name, text) for name, text in files.items()]


def _marked(sheet: Sheet) -> Markup:
    return Markup(as_markdown(sheet))


def _load(path: Path) -> Mapping[str, Any]:
    following = "give the data file that the results of an evaluation left behind (results.json)"
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError("results cannot be read", where=str(path), why=str(error), next=following) from error
    except ValueError as error:
        raise DataError("results are no JSON", where=str(path), why=str(error), next=following) from error
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA:  # pyright: ignore[reportUnknownMemberType]
        raise DataError(
            "results have another shape", where=str(path), why=f"their `schema` is not {SCHEMA}",
            next="write them anew with this version: benchbuild report",
        )  # fmt: skip
    return data  # pyright: ignore[reportUnknownVariableType]


def _notes(first: Mapping[str, Any], second: Mapping[str, Any], t: Wording) -> list[tuple[str, bool]]:
    """What to know before reading, and whether it is a warning."""
    same = first["benchmark"] == second["benchmark"]
    shared = {row[0] for row in first["items"]} & {row[0] for row in second["items"]}
    notes = [(t("beside.same_benchmark"), False) if same else (t("beside.other_benchmark"), True)]
    if not shared:
        notes = [(t("beside.nothing_shared"), True)]
    equal = first["recipe"] == second["recipe"]
    return [*notes, (t("beside.recipe_same" if equal else "beside.recipe_differs"), False)]


def _runs(first: Mapping[str, Any], second: Mapping[str, Any], t: Wording) -> Sheet:
    return Sheet(
        name="runs",
        title=t("beside.kicker"),
        columns=(
            Column("run", t("beside.run"), "words"),
            Column("title", t("beside.what"), "words"),
            Column("recipe", t("beside.recipe"), "words"),
            Column("benchmark", t("beside.benchmark"), "words"),
            Column("items", t("beside.items"), "count"),
            Column("models", t("results.models"), "words"),
        ),
        lines=tuple(
            Line((words(t(f"beside.{side}")), words(run["title"]), words(run["recipe"]), words(run["benchmark"]),
                  count(len(run["items"])), words(t("report.list_comma").join(run["contenders"]))))
            for side, run in (("left", first), ("right", second))
        ),
    )  # fmt: skip


Scores = dict[tuple[str, str], Mapping[str, Any]]


def _by_measure(run: Mapping[str, Any]) -> Scores:
    return {(scored["aspect"], scored["scorer"]): scored for scored in run["scores"]}


def _scores(first: Mapping[str, Any], second: Mapping[str, Any], t: Wording) -> list[Sheet]:
    """A table per measure that either run has, and a line per contender."""
    one, other = _by_measure(first), _by_measure(second)
    facts = {row[0]: row[1] for run in (second, first) for row in run["items"]}
    drawn = BootstrapSpec.model_validate(first["bootstrap"])
    sheets: list[Sheet] = []
    for key in dict.fromkeys([*one, *other]):
        mine, theirs = (run.get(key, {"values": {}})["values"] for run in (one, other))
        lines = [
            _compared(name, _values(first, mine.get(name)), _values(second, theirs.get(name)), facts, drawn, t)
            for name in dict.fromkeys([*mine, *theirs])
        ]
        sheets.append(
            Sheet(
                name=f"means_{key[0]}_{key[1]}",
                title=(one.get(key) or other[key])["title"],
                columns=(
                    Column("model", t("common.model"), "words"),
                    Column("first", t("beside.left")),
                    Column("second", t("beside.right")),
                    Column("difference", t("results.difference"), "signed"),
                    Column("p", "p"),
                    Column("n", t("beside.common"), "count"),
                ),
                lines=tuple(lines),
            )
        )
    return [sheet for sheet in sheets if sheet.lines]


def _values(run: Mapping[str, Any], values: Sequence[float | None] | None) -> dict[str, float]:
    pairs = zip((row[0] for row in run["items"]), values or (), strict=False)
    return {item: value for item, value in pairs if value is not None}


def _compared(
    name: str, mine: Mapping[str, float], theirs: Mapping[str, float], facts: Mapping[str, str], drawn: BootstrapSpec,
    t: Wording,
) -> Line:  # fmt: skip
    common = [item for item in mine if item in theirs]
    if not common:
        tag = t("beside.only_left") if mine else t("beside.only_right")
        cells = [Cell(fmean(values.values()), n=len(values)) if values else Cell() for values in (mine, theirs)]
        return Line((words(name), *cells, Cell(), Cell(), count(0)), tag="" if mine and theirs else tag)
    left, right = [mine[item] for item in common], [theirs[item] for item in common]
    found = paired_means(
        right, left, [facts[item] for item in common], samples=drawn.samples, level=drawn.level, seed=drawn.seed
    )
    return Line(
        (words(name), Cell(fmean(left)), Cell(fmean(right)), estimate_cell(found), Cell(found.p), count(len(common)))
    )


class Change(NamedTuple):
    """A value of a table that is not the same in both runs."""

    table: str
    line: str
    column: str
    label: str
    form: Form
    first: float | None
    second: float | None


def _others(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[Change]]:
    """What changed in the other tables, by the title of the table."""
    known = {sheet["name"]: sheet for sheet in second["sheets"]}
    pairs = [(sheet, known[sheet["name"]]) for sheet in first["sheets"] if sheet["name"] in known]
    found = {one["title"]: _changes(one, other) for one, other in pairs if one["name"].startswith(_COMPARED)}
    return {title: changes for title, changes in found.items() if changes}


def _changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Change]:
    after = _cells(other)
    return [
        Change(one["name"], line, column, label, form, value, after[line, column][2])
        for (line, column), (label, form, value) in _cells(one).items()
        if (line, column) in after and value != after[line, column][2]
    ]


def _cells(sheet: Mapping[str, Any]) -> dict[tuple[str, str], tuple[str, Form, float | None]]:
    """The heading, form and value of each cell that holds a number, by what its line and column are."""
    found: dict[tuple[str, str], tuple[str, Form, float | None]] = {}
    for line in sheet["lines"]:
        key = " · ".join(cell.get("words", "") for cell in line["cells"][: sheet["keys"]])
        for column, cell in zip(sheet["columns"], line["cells"], strict=True):
            if column["form"] != "words":
                found[key, column["key"]] = (column["label"], column["form"], cell.get("value"))
    return found


def _sheet(title: str, changes: Sequence[Change], t: Wording) -> Sheet:
    def cell(value: float | None, form: Form) -> Cell:
        return words("–" if value is None else plain(value, form))

    return Sheet(
        name=changes[0].table,
        title=title,
        columns=(
            Column("line", t("beside.line"), "words"),
            Column("column", t("beside.column"), "words"),
            Column("first", t("beside.left"), "words"),
            Column("second", t("beside.right"), "words"),
        ),
        lines=tuple(
            Line((words(one.line), words(one.label), cell(one.first, one.form), cell(one.second, one.form)))
            for one in changes
        ),
        keys=2,
    )


def _csv(scores: Sequence[Sheet], changes: Iterable[Change]) -> str:
    """Both kinds of tables in one: what was compared, in the first and in the second run."""
    rows: list[list[object]] = []
    for sheet in scores:
        for line in sheet.lines:
            first, second, gap, p, n = line.cells[1:]
            numbers = (first.value, second.value, gap.value, gap.low, gap.high, p.value, n.value)
            rows.append([sheet.name, line.cells[0].words, "mean", *numbers])
    for one in changes:
        rows.append([one.table, one.line, one.column, one.first, one.second, *[None] * 5])
    return table(_CSV, rows)
