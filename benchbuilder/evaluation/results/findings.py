"""All tables and charts of a results page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchbuilder.evaluation.published import PublishedResults
from benchbuilder.evaluation.results import charts, compare, costs, means
from benchbuilder.evaluation.results import hardest_items as hardest
from benchbuilder.evaluation.results.charts import ChartedTable
from benchbuilder.evaluation.results.claims import ClaimResults, claim_tables, read_claims
from benchbuilder.evaluation.results.context import ResultsFrame
from benchbuilder.evaluation.results.means import abstention_table, prediction_powered_tables
from benchbuilder.evaluation.results.metrics import metric_tables
from benchbuilder.evaluation.results.pressure import PressureResults, read_pressure
from benchbuilder.evaluation.results.pressure_conversations import LostConversation, lost_conversations
from benchbuilder.evaluation.results.pressure_tables import pressure_tables
from benchbuilder.evaluation.results.run import VERDICT, ScoredAspect
from benchbuilder.exporters import (
    ChartColours,
    FinishedBuild,
    ResultTable,
    Series,
    TableCell,
    column_chart,
    format_value,
)

_BINS = 10


@dataclass(frozen=True)
class AspectChart:
    """A chart of two aspects with its caption."""

    title: str
    chart: Markup
    caption: str


@dataclass(frozen=True)
class ResultsFindings:
    """The tables and charts by section of the page; sections without data are empty or ``None``."""

    metrics: tuple[ChartedTable, ...]
    verdicts: tuple[ChartedTable, ...]
    scores: tuple[ChartedTable, ...]
    verdict_means: tuple[ChartedTable, ...]
    types: tuple[ChartedTable, ...]
    aspects: ResultTable
    scatters: tuple[AspectChart, ...]
    pairs: tuple[ResultTable, ...]
    power: ResultTable
    claims: ClaimResults | None
    claim_tables: tuple[ResultTable, ...]
    pressure: PressureResults | None
    pressed: tuple[ChartedTable, ...]
    lost: tuple[LostConversation, ...]
    prediction_powered: tuple[ResultTable, ...]
    other_tables: tuple[ChartedTable, ...]
    settings: ResultTable | None
    outcomes: ResultTable
    coverage: ResultTable
    unscored: ResultTable | None
    costs: ResultTable | None
    difficulty: hardest.ItemDifficulty | None
    histogram: Markup | None
    hardest: tuple[hardest.HardItem, ...]

    def all_tables(self) -> Iterator[ResultTable]:
        """Every table that is not empty, in the order of the page."""
        charted = (*self.metrics, *self.verdicts, *self.scores, *self.verdict_means, *self.types, *self.other_tables)
        tables = [figure.table for figure in charted]
        tables += self.claim_tables
        tables += [self.aspects, *self.pairs, self.power, *(figure.table for figure in self.pressed)]
        tables += [*self.prediction_powered, self.outcomes, self.coverage]
        tables += filter(None, (self.settings, self.unscored, self.costs))
        yield from (table for table in tables if table.lines)


def collect_findings(
    frame: ResultsFrame, finished: FinishedBuild, published: PublishedResults | None, aspects: Sequence[str],
    worst_count: int,
) -> ResultsFindings:  # fmt: skip
    """Compute all tables and charts. The first two `aspects` are plotted against each other."""
    run = frame.run
    measures = run.other_measures
    colours = ChartColours(run.sources, run.types)
    type_colours = [colours.type(name) for name in run.types]
    main = compare.main_measures(measures, aspects)
    rest = [measure for measure in measures if measure not in main]
    scored = [measure for measure in main if measure.aspect != VERDICT]
    verdicts = [measure for measure in main if measure.aspect == VERDICT]
    pairs = compare.aspect_pair(frame, aspects)
    correlations = compare.correlation_table(frame, pairs)
    hard = hardest.item_difficulty(frame, aspects)
    pressure = read_pressure(finished.tables, run.items, finished.recipe, frame.bootstrap)
    evaluation = finished.recipe.get("evaluation") or {}
    if "claims" not in frame.known:
        frame.known["claims"] = read_claims(finished.tables, run.items, evaluation, frame.bootstrap)
    claims: ClaimResults | None = frame.known["claims"]
    return ResultsFindings(
        metrics=tuple(
            ChartedTable(sheet, charts.means_chart(sheet, column), sheet.columns[column].label if column > 1 else "")
            for sheet, column in metric_tables(frame, finished, published)
        ),
        verdicts=tuple(
            figure
            for measure in verdicts
            for figure in (
                _charted_verdicts(means.verdict_table(frame, measure)),
                ChartedTable(abstention_table(frame, measure, finished.recipe.get("evaluation") or {})),
            )
        ),
        scores=_means(frame, scored, published),
        verdict_means=_means(frame, verdicts if len(run.sources) > 1 else [], None),
        types=tuple(
            ChartedTable(table, charts.types_chart(table, type_colours))
            for measure in scored
            if (table := means.type_table(frame, measure)) is not None
        ),
        aspects=correlations,
        scatters=tuple(_scatter(frame, pair, correlations, 2 * place) for place, pair in enumerate(pairs)),
        pairs=(
            *compare.forms_tables(frame),
            *filter(None, (means.wrong_from_table(frame, measure) for measure in main)),
            *filter(None, (compare.pairwise_table(frame, measure) for measure in main)),
        ),
        power=compare.power_table(frame, main),
        claims=claims,
        claim_tables=claim_tables(frame, claims),
        pressure=pressure,
        pressed=pressure_tables(frame, pressure),
        lost=tuple(lost_conversations(finished, pressure)),
        prediction_powered=tuple(prediction_powered_tables(frame)),
        other_tables=_means(frame, rest, None),
        settings=costs.settings_table(frame, finished),
        outcomes=costs.outcome_table(frame),
        coverage=costs.coverage_table(frame),
        unscored=costs.unscored_table(frame, finished),
        costs=costs.cost_table(frame, finished),
        difficulty=hard,
        histogram=None if hard is None else _histogram(frame, hard, colours),
        hardest=tuple(hardest.worst_items(frame, finished, hard, aspects, worst_count)),
    )


def _charted_verdicts(sheet: ResultTable) -> ChartedTable:
    """A table of verdicts with the balanced accuracy as its chart, or the accuracy where only one verdict is right."""
    own = [line for line in sheet.lines if line.block == "own"]
    column = 2 if any(line.cells[2].value is not None for line in own) else 1
    return ChartedTable(sheet, charts.means_chart(sheet, column) if own else None, sheet.columns[column].label)


def _means(
    frame: ResultsFrame, measures: Sequence[ScoredAspect], published: PublishedResults | None
) -> tuple[ChartedTable, ...]:
    """A table of means per measure; published figures are in the first table of their aspect (people before judges)."""
    shown: set[str] = set()
    charted: list[ChartedTable] = []
    for measure in measures:
        sheet = means.means_table(frame, measure, None if measure.aspect in shown else published)
        if sheet.lines:
            shown.add(measure.aspect)
            charted.append(ChartedTable(sheet, charts.means_chart(sheet)))
    return tuple(charted)


def _scatter(frame: ResultsFrame, pair: compare.AspectPair, correlation: ResultTable, place: int) -> AspectChart:
    def squared(line: int) -> str:
        cell: TableCell = correlation.lines[line].cells[3]
        return "–" if cell.value is None else format_value(cell.value, "score")

    title = correlation.lines[place].cells[0].words
    first, second = frame.aspect_label(pair.first.aspect), frame.aspect_label(pair.second.aspect)
    caption = frame.t(
        "results.aspects_caption", answers=squared(place), n=len(pair.answers), models=squared(place + 1),
        m=len(pair.models),
    )  # fmt: skip
    return AspectChart(title, charts.aspect_scatter(pair, first, second, title), caption)


def _histogram(frame: ResultsFrame, hard: hardest.ItemDifficulty, colours: ChartColours) -> Markup:
    """A histogram of item means by type, with ten columns from 0 to 1."""
    axis, names = frame.t("results.difficulty_axis"), list(frame.run.types) or [""]
    counts = {name: [0] * _BINS for name in names}
    types = frame.run.items.types
    for place, mean in zip(hard.means.places.tolist(), hard.means.numbers.tolist(), strict=True):
        own = types[place] if types[place] in counts else names[0]
        counts[own][min(_BINS - 1, max(0, int(mean * _BINS + 1e-9)))] += 1
    layers = [Series(name, colours.type(name), counts[name]) for name in names]
    return column_chart([f"{place / _BINS:.1f}" for place in range(_BINS)], layers, axis, axis=axis)
