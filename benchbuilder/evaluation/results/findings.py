"""Everything that a results page says, as tables and charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchbuilder.evaluation.results import charts, compare, means
from benchbuilder.evaluation.results import costs as books
from benchbuilder.evaluation.results import hardest_items as hardest
from benchbuilder.evaluation.results.context import Frame
from benchbuilder.evaluation.results.metrics import metrics
from benchbuilder.evaluation.results.prediction_powered import powered
from benchbuilder.evaluation.results.published import Published
from benchbuilder.evaluation.results.run import VERDICT, Measure
from benchbuilder.evaluation.results.settings import asked
from benchbuilder.exporters.base import Finished
from benchbuilder.exporters.render.svg import Series, columns
from benchbuilder.exporters.render.tables import Cell, Sheet, plain
from benchbuilder.exporters.report.charts import Colours

_BINS = 10


@dataclass(frozen=True)
class Figure:
    """A table with its chart, and which of several figures the chart shows."""

    sheet: Sheet
    chart: Markup | None = None
    charted: str = ""


@dataclass(frozen=True)
class Aspects:
    """A chart of two aspects with what it says in a line."""

    title: str
    chart: Markup
    caption: str


@dataclass(frozen=True)
class Findings:
    """The tables and charts by section of the page; what an evaluation has no data for is empty or ``None``."""

    metrics: tuple[Figure, ...]
    scores: tuple[Figure, ...]
    verdicts: tuple[Sheet, ...]
    verdict_means: tuple[Figure, ...]
    types: tuple[Figure, ...]
    aspects: Sheet
    scatters: tuple[Aspects, ...]
    pairs: tuple[Sheet, ...]
    power: Sheet
    powered: tuple[Sheet, ...]
    others: tuple[Figure, ...]
    asked: Sheet | None
    outcomes: Sheet
    coverage: Sheet
    unscored: Sheet | None
    costs: Sheet | None
    difficulty: hardest.Difficulty | None
    difficulty_sheet: Sheet | None
    histogram: Markup | None
    worst: tuple[hardest.Worst, ...]

    def sheets(self) -> Iterator[Sheet]:
        """Every table that has a line, in the order of the page."""
        figures = [*self.scores, *self.verdict_means, *self.types, *self.others]
        optional = [self.asked, self.unscored, self.costs, self.difficulty_sheet]
        found = [
            *(figure.sheet for figure in self.metrics),
            *(figure.sheet for figure in figures[: len(self.scores)]), *self.verdicts,
            *(figure.sheet for figure in figures[len(self.scores) :]), self.aspects, *self.pairs, self.power,
            *self.powered, self.outcomes, self.coverage, *(sheet for sheet in optional if sheet is not None),
        ]  # fmt: skip
        yield from (sheet for sheet in found if sheet.lines)


def findings(
    frame: Frame, finished: Finished, published: Published | None, aspects: Sequence[str], most: int
) -> Findings:
    """Work everything out. `aspects` are the ones that scores are about, the first two are set against each other."""
    run, t = frame.run, frame.t
    colours = Colours(run.sources, run.types)
    main = compare.main_measures(run.measures, aspects)
    rest = [one for one in run.measures if one not in main]
    scored = [one for one in main if one.aspect != VERDICT]
    parsed = [one for one in main if one.aspect == VERDICT]
    both = compare.together(frame, aspects)
    related = compare.correlations(frame, both)
    hard = hardest.difficulty(frame, aspects)
    kinds = [colours.type(name) for name in run.types]
    typed = [sheet for one in scored if (sheet := means.by_type(frame, one)) is not None]
    return Findings(
        metrics=tuple(
            Figure(sheet, charts.means_chart(sheet, column), sheet.columns[column].label if column > 1 else "")
            for sheet, column in metrics(frame, finished, published)
        ),
        scores=_means(frame, scored, published),
        verdicts=tuple(means.verdicts(frame, one) for one in parsed),
        verdict_means=_means(frame, parsed if len(run.sources) > 1 else [], None),
        types=tuple(Figure(sheet, charts.types_chart(sheet, kinds)) for sheet in typed),
        aspects=related,
        scatters=tuple(_scatter(frame, one, related, 2 * place) for place, one in enumerate(both)),
        pairs=tuple(sheet for one in main if (sheet := compare.pairs(frame, one)) is not None),
        power=compare.power(frame, main),
        powered=tuple(powered(frame)),
        others=_means(frame, rest, None),
        asked=asked(frame, finished),
        outcomes=books.outcomes(frame),
        coverage=books.coverage(frame),
        unscored=books.unscored(frame, finished),
        costs=books.costs(frame, finished),
        difficulty=hard,
        difficulty_sheet=None if hard is None else hardest.sheet_of(frame, hard),
        histogram=None if hard is None else _histogram(hard, run.types, colours, t("results.difficulty_axis")),
        worst=tuple(hardest.worst(frame, hard, aspects, most)),
    )


def _means(frame: Frame, measures: Sequence[Measure], published: Published | None) -> tuple[Figure, ...]:
    """Figures that others published stand below the first table of their aspect: people go before judges."""
    shown: set[str] = set()
    found: list[Figure] = []
    for one in measures:
        sheet = means.means(frame, one, None if one.aspect in shown else published)
        if sheet.lines:
            shown.add(one.aspect)
            found.append(Figure(sheet, charts.means_chart(sheet)))
    return tuple(found)


def _scatter(frame: Frame, both: compare.Together, related: Sheet, place: int) -> Aspects:
    def squared(line: int) -> str:
        cell: Cell = related.lines[line].cells[3]
        return "–" if cell.value is None else plain(cell.value, "score")

    title = related.lines[place].cells[0].words
    first, second = frame.aspect(both.first.aspect), frame.aspect(both.second.aspect)
    caption = frame.t(
        "results.aspects_caption", answers=squared(place), n=len(both.answers), models=squared(place + 1),
        m=len(both.models),
    )  # fmt: skip
    return Aspects(title, charts.scatter(both, first, second, title), caption)


def _histogram(hard: hardest.Difficulty, types: Sequence[str], colours: Colours, axis: str) -> Markup:
    """How many items have which mean, by type, in ten columns from 0 to 1."""
    names = list(types) or [""]
    layers = [Series(name, colours.type(name), [0] * _BINS) for name in names]
    counts = {name: [0] * _BINS for name in names}
    for entry, mean, _ in hard.means:
        counts[entry.type if entry.type in counts else names[0]][min(_BINS - 1, max(0, int(mean * _BINS + 1e-9)))] += 1
    layers = [Series(name, colours.type(name), counts[name]) for name in names]
    return columns([f"{place / _BINS:.1f}" for place in range(_BINS)], layers, axis, axis=axis)
