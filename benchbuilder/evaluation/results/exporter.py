"""Results of an evaluation: a page, Markdown, data, and every table as CSV and LaTeX."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchbuilder.config import BootstrapSpec, KindSpec
from benchbuilder.core import atomic_path
from benchbuilder.evaluation.published import recipe_published_results
from benchbuilder.evaluation.results import PACKAGES
from benchbuilder.evaluation.results.claims import claims_data
from benchbuilder.evaluation.results.columns import ItemScores
from benchbuilder.evaluation.results.context import PAGE_FUNCTIONS, ResultsFrame, bootstrap_settings
from benchbuilder.evaluation.results.costs import (
    misleading_answers_notes,
    published_elsewhere_note,
    unasked_items_note,
    unused_rows_note,
)
from benchbuilder.evaluation.results.findings import ResultsFindings, collect_findings
from benchbuilder.evaluation.results.hardest_items import DIFFICULTY, DIFFICULTY_COLUMNS, difficulty_lines
from benchbuilder.evaluation.results.means import expected_verdicts
from benchbuilder.evaluation.results.page_spec import ResultsSpec
from benchbuilder.evaluation.results.pressure import ANSWER_COLUMNS
from benchbuilder.evaluation.results.pressure_tables import pressure_data
from benchbuilder.evaluation.results.run import (
    VERDICT,
    WITHOUT_VERDICT,
    EvaluatedSystem,
    EvaluationRun,
    ScoredAspect,
    gather_run,
)
from benchbuilder.evaluation.results.stated_metrics import RESULTS_SCHEMA
from benchbuilder.exporters import (
    ChartColours,
    Exporter,
    FinishedBuild,
    csv_lines,
    format_value,
    pages_in_languages,
    render_html,
    render_markdown,
    table_as_csv,
    table_as_data,
    table_as_latex,
)


class ResultsExporter(Exporter):
    """The scores of models: a self-contained page with sortable tables, and the same data as files.

    Figures are computed from the answers and scores, whatever the names of their steps.
    """

    kind: ClassVar[str] = "results"
    version: ClassVar[int] = 4
    spec_class: ClassVar[type[KindSpec]] = ResultsSpec

    spec: ResultsSpec

    def can_write(self, finished: FinishedBuild) -> bool:
        """Whether there are items with answers."""
        return super().can_write(finished) and any(name.startswith("answer.") for name in finished.tables)

    def output_names(self) -> tuple[str, ...]:
        """The names of the page, Markdown, data and scores, and of the folder of tables."""
        names = (f"{self.spec.file}{end}" for end in (".md", ".json", "_scores.csv", "_pressure.csv", "_tables"))
        return (*self.spec.page_names(f"{self.spec.file}.html"), *names)

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the page, Markdown, data, scores and tables."""
        from benchbuilder.evaluation.results.exporter import results_files  # a build without results does without

        written: list[Path] = []
        for name, pieces in results_files(self.spec, finished):
            with (
                atomic_path(folder / name, sync=False) as temporary,
                temporary.open("w", encoding="utf-8", newline="") as stream,
            ):
                stream.writelines(pieces)
            written.append(folder / name)
        return written


@dataclass(frozen=True)
class ConstantAnswerScores:
    """The accuracy of a constant answer on the `n` true/false questions."""

    n: int
    yes: float
    no: float
    is_imbalanced: bool

    @property
    def best(self) -> float:
        """The better of the two."""
        return max(self.yes, self.no)


def results_files(spec: ResultsSpec, finished: FinishedBuild) -> Iterator[tuple[str, Iterable[str]]]:
    """Each file by its name and its text, piece by piece, of the answers and scores of a finished build."""
    t = spec.texts(finished.recipe["language"])
    evaluation: Mapping[str, Any] = finished.recipe.get("evaluation") or {}
    bootstrap = bootstrap_settings(BootstrapSpec.model_validate(evaluation["bootstrap"]))
    run = gather_run(finished, spec.aspects)
    frame = ResultsFrame(run, t, bootstrap, spec.power, spec.effect)
    published = None if published_elsewhere_note(frame, finished) else recipe_published_results(evaluation)
    settings = (finished, published, spec.aspects, spec.worst)
    findings, others = collect_findings(frame, *settings), dict[str, ResultsFindings]()
    stamp = {"benchmark": run.benchmark, "recipe": run.recipe}
    for name, own, languages in pages_in_languages(f"{spec.file}.html", spec.reader_texts()):
        shown, page_frame = findings, frame.in_(own)
        if own.language != t.language:
            shown = others[own.language] = collect_findings(page_frame, *settings)
        context = _context(page_frame, shown, finished, spec)
        yield name, [render_html("results.html.j2", PACKAGES, t=own, languages=languages, **context)]
    context = _context(frame, findings, finished, spec)
    yield f"{spec.file}.md", [render_markdown("results.md.j2", PACKAGES, t=t, **context)]
    yield f"{spec.file}.json", _data(frame, findings, finished, others)
    yield f"{spec.file}_scores.csv", csv_lines(_SCORES, _scores(run))
    if findings.pressure is not None:
        lines = ([*line, *stamp.values()] for line in findings.pressure.lines())
        yield f"{spec.file}_pressure.csv", csv_lines([*ANSWER_COLUMNS, *stamp], lines)
    for sheet in findings.all_tables():
        yield f"{spec.file}_tables/{sheet.name}.csv", [table_as_csv(sheet, stamp)]
        yield f"{spec.file}_tables/{sheet.name}.tex", [table_as_latex(sheet, stamp)]
    if findings.difficulty is not None:
        lines = ([*line, *stamp.values()] for line in difficulty_lines(frame, findings.difficulty))
        yield f"{spec.file}_tables/{DIFFICULTY}.csv", csv_lines([*DIFFICULTY_COLUMNS, *stamp], lines)


def _context(
    frame: ResultsFrame, findings: ResultsFindings, finished: FinishedBuild, spec: ResultsSpec
) -> dict[str, Any]:
    run = frame.run
    card: Mapping[str, Any] = finished.recipe["card"]
    return {
        "run": run, "found": findings, "frame": frame, "spec": spec, "recipe": finished.recipe, "card": card,
        "colours": ChartColours(run.sources, run.types), "always": constant_answer_scores(frame, spec.class_imbalance),
        "tiles": _tiles(frame, finished), "unused": unused_rows_note(frame, finished),
        "elsewhere": published_elsewhere_note(frame, finished),
        "unasked": unasked_items_note(frame, finished), "misleading": misleading_answers_notes(frame, finished),
        "has_sample_ratings": bool(card["illustrative"]) and any(measure.role == "people" for measure in run.measures),
        **PAGE_FUNCTIONS, "level": f"{frame.bootstrap['level'] * 100:g} %",
    }  # fmt: skip


def constant_answer_scores(frame: ResultsFrame, class_imbalance: float) -> ConstantAnswerScores | None:
    """The accuracy of constant answers; ``None`` without true/false questions."""
    asked = expected_verdicts(frame)
    count = int(asked.sum())
    if not count:
        return None
    yes = int((asked & frame.run.items.expected.among(["yes"])).sum()) / count
    return ConstantAnswerScores(count, yes, 1 - yes, max(yes, 1 - yes) >= class_imbalance)


def _tiles(frame: ResultsFrame, finished: FinishedBuild) -> list[tuple[str, str]]:
    run, t = frame.run, frame.t
    answers = sum(int((~rows.outcomes.among(("", "missing"))).sum()) for rows in run.answers.values())
    people = [measure for measure in run.measures if measure.role == "people"]
    rated = 0
    for system in run.systems:
        parts = [scores.places for measure in people if (scores := run.scores[measure].get(system.name)) is not None]
        places = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
        rated += int(run.answered(system.name, places).sum())
    verdicts = [measure for measure in run.measures if measure.aspect == VERDICT]
    labels = [
        scores.labels
        for measure in verdicts
        for model in run.system_names("model")
        if (scores := run.scores[measure].get(model)) is not None and len(scores.places)
    ]
    counts = {
        "items": len(run.items),
        "models": len(run.system_names("model")),
        "answers": answers,
        **({"rated": rated} if people else {}),
    }
    tiles = [(t.number(n), t(f"results.tile_{name}", n=n)) for name, n in counts.items()]
    if labels:
        without = sum(int(part.among(WITHOUT_VERDICT).sum()) for part in labels)
        tiles.append((t.number(without), t("results.tile_invalid", n=without)))
    prices = [receipt.usd for receipt in finished.receipts]
    if prices and None not in prices:
        tiles.append((format_value(sum(usd or 0.0 for usd in prices), "usd"), t("results.tile_cost")))
    return tiles


def _translations(findings: ResultsFindings, other: ResultsFindings) -> Iterator[tuple[str, str]]:
    """What the tables say, and the same in another language."""
    for own, same in zip(findings.all_tables(), other.all_tables(), strict=True):
        columns = zip(own.columns, same.columns, strict=True)
        yield from ((own.title, same.title), *((one.label, two.label) for one, two in columns))
        yield from zip(own.notes, same.notes, strict=True)


_encoded = partial(json.dumps, ensure_ascii=False, separators=(",", ":"))
_AT_ONCE = 8_192


def _data(
    frame: ResultsFrame, findings: ResultsFindings, finished: FinishedBuild, others: Mapping[str, ResultsFindings]
) -> Iterator[str]:
    """All tables and every score by item, as input for comparing two runs: a JSON object, piece by piece.

    What the tables say is translated into the languages of `others` for pages that are made of this file.
    """
    run, items = frame.run, frame.run.items
    head: dict[str, Any] = {
        "schema": RESULTS_SCHEMA,
        "name": finished.recipe["name"],
        "title": finished.recipe["card"]["title"],
        "language": finished.recipe["language"],
        "translations": {code: dict(_translations(findings, other)) for code, other in sorted(others.items())},
        "benchmark": run.benchmark,
        "recipe": run.recipe,
        "bootstrap": dict(frame.bootstrap),
        "systems": {system.name: system.group for system in run.systems},
    }
    yield f'{_encoded(head)[:-1]},"items":['
    yield from _encoded_list(zip(items.ids, items.clusters, items.sources, items.types, items.expected, strict=True))
    yield '],"facts":['
    yield from _encoded_list(facts.split() for facts in items.made_of)
    yield '],"scores":['
    for number, measure in enumerate(run.measures):
        form = {"form": measure.form} if measure.form else {}
        about = {"aspect": measure.aspect, "scorer": measure.scorer, **form, "title": frame.measure_label(measure)}
        yield f'{"," if number else ""}{_encoded(about)[:-1]},"values":{{'
        for place, system in enumerate(run.scored_systems(measure)):
            yield f"{',' if place else ''}{_encoded(system.name)}:["
            yield from _encoded_list(run.values(measure, system.name).of_all(len(items)))
            yield "]"
        yield "}}"
    yield f'],"tables":{_encoded([table_as_data(sheet) for sheet in findings.all_tables()])}'
    if findings.claims is not None:
        yield f',"claims":{_encoded(claims_data(findings.claims))}'
    if findings.pressure is not None:
        yield f',"pressure":{_encoded(pressure_data(findings.pressure))}'
    yield "}\n"


def _encoded_list(values: Iterable[object]) -> Iterator[str]:
    """The inside of a JSON list, piece by piece."""
    rest, comma = iter(values), ""
    while part := list(islice(rest, _AT_ONCE)):
        yield comma + _encoded(part)[1:-1]
        comma = ","


_SCORES = (
    "item", "source", "type", "expected", "model", "group", "outcome", "aspect", "scorer", "value", "label", "ratings",
    "benchmark", "recipe",
)  # fmt: skip


def _scores(run: EvaluationRun) -> Iterator[list[object]]:
    """One line per score."""
    for measure in run.measures:
        for system in run.systems:
            if (scores := run.scores[measure].get(system.name)) is not None:
                yield from _scores_of(run, measure, system, scores)


def _scores_of(
    run: EvaluationRun, measure: ScoredAspect, system: EvaluatedSystem, scores: ItemScores
) -> Iterator[list[object]]:
    items, answers = run.items, run.answers.get(system.name)
    for at, place in enumerate(scores.places.tolist()):
        number = float(scores.numbers[at])
        outcome = "" if answers is None else answers.outcomes[place]
        ratings = "; ".join(f"{rater}={value:g}" for rater, value in scores.ratings.get(place, ()))
        yield [
            items.ids[place], items.sources[place], items.types[place], items.expected[place], system.name,
            system.group, outcome, measure.aspect, measure.scorer, None if np.isnan(number) else number,
            scores.labels[at], ratings, run.benchmark, run.recipe,
        ]  # fmt: skip
