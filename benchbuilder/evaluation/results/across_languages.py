"""Compares the answers to the same facts in two languages, by the data files of their results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean
from typing import Any

from benchbuilder.core import PageTexts
from benchbuilder.evaluation.results.charts import ChartedTable, scaled_chart
from benchbuilder.evaluation.results.context import (
    BootstrapSettings,
    CellValue,
    estimate_cell,
    table_columns,
    table_line,
)
from benchbuilder.evaluation.stats.intervals import DifferenceEstimate, paired_mean_difference, sample_sd
from benchbuilder.exporters import ChartDot, ChartRow, ResultTable, format_value

SMALL_GAP = 0.05
"""The gap that a reader may want to see."""
_EXPECTED = 4
"""Where an item of a data file has its right verdict."""
_Places = defaultdict[tuple[str, str], list[int]]
_REACH = 2.8
"""Standard errors of a gap that is found four times out of five, by a test at the level of 5 %: 1.96 + 0.84."""
_CELLS = {
    "both": (True, True), "only_first": (True, False), "only_second": (False, True), "none": (False, False),
}  # fmt: skip
"""Whether a family is known in the first language, and in the second."""
_COLUMNS = (
    "model:words=common.model families:count=side_by_side.families first={first} second={second} "
    "gap:signed=side_by_side.gap p=p both:count=side_by_side.known_both only_first:count=side_by_side.known_first "
    "only_second:count=side_by_side.known_second none:count=side_by_side.known_none needed:count=side_by_side.needed"
)


@dataclass(frozen=True)
class SharedItems:
    """The items of one `family` in both languages that have the same right verdict, by their places.

    Families that share a fact are one. If verdicts could differ, a model that always says yes would have a gap.
    """

    family: str
    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True)
class LanguageGap:
    """What one model knows in two languages, by one measure, over the families that it answered in both.

    Attributes:
        model: Its name.
        first: The mean over these families in the first language.
        second: The same in the second one.
        gap: The first less the second, with an interval over families. Nothing is pooled over the languages.
        known: How many families are known in ``both``, ``only_first``, ``only_second`` and ``none``. A family is known
            if all its answers are right.
        needed: How many families show a gap of 5 points four times out of five, by the spread of these differences.
    """

    model: str
    first: float
    second: float
    gap: DifferenceEstimate
    known: Mapping[str, int]
    needed: int | None


def shared_items(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[SharedItems]:
    """The families that both runs have items of, joined by the facts that items are made of, by right verdict.

    A translated item is made of the translated fact and of the original one, which the other run has as well. Names of
    families join nothing: other benchmarks may have the same.
    """
    names: dict[str, str] = {}
    for side, run in zip("12", (first, second), strict=True):
        for item, facts in zip(run["items"], run["facts"], strict=True):
            roots = {_root(names, name) for name in (f"{side} {item[1]}", *facts)}
            names.update(dict.fromkeys(roots, min(roots)))
    places: tuple[_Places, _Places] = (defaultdict(list), defaultdict(list))
    for side, run, found in zip("12", (first, second), places, strict=True):
        for place, item in enumerate(run["items"]):
            found[_root(names, f"{side} {item[1]}"), item[_EXPECTED]].append(place)
    return [
        SharedItems(family, tuple(own), tuple(places[1][family, expected]))
        for (family, expected), own in places[0].items()
        if (family, expected) in places[1]
    ]


def _root(names: dict[str, str], name: str) -> str:
    """The name that all names of a family lead to."""
    while (above := names.setdefault(name, name)) != name:
        names[name] = name = names[above]
    return name


def language_gaps(
    first: Mapping[str, Sequence[float | None]],
    second: Mapping[str, Sequence[float | None]],
    shared: Sequence[SharedItems],
    bootstrap: BootstrapSettings,
) -> list[LanguageGap]:
    """The gap of each model with values in both runs; for each item of the run 1 (right), 0 (wrong) or none."""
    return [
        gap for name, values in first.items() if name in second
        if (gap := _gap(name, values, second[name], shared, bootstrap)) is not None
    ]  # fmt: skip


def _gap(
    model: str,
    first: Sequence[float | None],
    second: Sequence[float | None],
    shared: Sequence[SharedItems],
    bootstrap: BootstrapSettings,
) -> LanguageGap | None:
    families: dict[str, list[tuple[list[float], list[float]]]] = defaultdict(list)
    for one in shared:
        if (own := _known(first, one.first)) and (other := _known(second, one.second)):
            families[one.family].append((own, other))
    if not families:
        return None
    means = [[fmean(fmean(pair[side]) for pair in pairs) for pairs in families.values()] for side in (0, 1)]
    left, right = means
    gap = paired_mean_difference(left, right, list(families), **bootstrap)
    cells = [tuple(all(map(all, sides)) for sides in zip(*pairs, strict=True)) for pairs in families.values()]
    known = {name: cells.count(cell) for name, cell in _CELLS.items()}
    spread = sample_sd([own - other for own, other in zip(left, right, strict=True)])
    needed = ceil((_REACH * spread / SMALL_GAP) ** 2) if spread > 0 else None
    return LanguageGap(model, fmean(left), fmean(right), gap, known, needed)


def _known(values: Sequence[float | None], places: Iterable[int]) -> list[float]:
    return [value for place in places if (value := values[place]) is not None]


def language_table(
    name: str, title: str, gaps: Sequence[LanguageGap], languages: tuple[str, str], t: PageTexts
) -> ChartedTable:
    """A line for each model, and a chart of both languages."""
    columns = table_columns(t, _COLUMNS.format(first=languages[0], second=languages[1]))
    lines = tuple(table_line(one.model, *_cells(one)) for one in gaps)
    table = ResultTable(name, title, columns, lines, notes=(t("side_by_side.gap_note"),))
    rows = [
        ChartRow(
            one.model,
            [ChartDot(one.first, None, None, "c0"), ChartDot(one.second, None, None, "c2")],
            format_value(one.first - one.second, "signed"),
        )
        for one in gaps
    ]
    caption = t("side_by_side.gap_chart", first=languages[0], second=languages[1])
    return ChartedTable(table, scaled_chart(rows, title, "score", margin=50, label=170), caption)


def _cells(one: LanguageGap) -> Iterator[CellValue]:
    yield from (one.gap.n, one.first, one.second, estimate_cell(one.gap), one.gap.p)
    yield from (*one.known.values(), one.needed)
