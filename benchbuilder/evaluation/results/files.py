"""What the results exporter writes: the page, Markdown, data, the scores, and every table as CSV and LaTeX."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchbuilder.config import BootstrapSpec
from benchbuilder.evaluation.published import recipe_published_results
from benchbuilder.evaluation.results import PACKAGES
from benchbuilder.evaluation.results.context import PAGE_FUNCTIONS, ResultsFrame, bootstrap_settings
from benchbuilder.evaluation.results.costs import unasked_items_note, unused_rows_note
from benchbuilder.evaluation.results.findings import ResultsFindings, collect_findings
from benchbuilder.evaluation.results.means import expected_verdicts
from benchbuilder.evaluation.results.page_spec import ResultsSpec
from benchbuilder.evaluation.results.run import VERDICT, EvaluationRun, gather_run
from benchbuilder.exporters import (
    ChartColours,
    FinishedBuild,
    csv_table,
    format_value,
    render_html,
    render_markdown,
    table_as_csv,
    table_as_data,
    table_as_latex,
)

RESULTS_SCHEMA = 1
"""Version of the data file."""


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


def results_files(spec: ResultsSpec, finished: FinishedBuild) -> dict[str, str]:
    """The texts of all files by name, of the answers and scores of a finished build."""
    t = spec.texts(finished.recipe)
    evaluation: Mapping[str, Any] = finished.recipe.get("evaluation") or {}
    bootstrap = bootstrap_settings(BootstrapSpec.model_validate(evaluation["bootstrap"]))
    run = gather_run(finished, spec.aspects)
    frame = ResultsFrame(run, t, bootstrap, spec.power, spec.effect)
    findings = collect_findings(frame, finished, recipe_published_results(evaluation), spec.aspects, spec.worst)
    context = _context(frame, findings, finished, spec)
    stamp = {"benchmark": run.benchmark, "recipe": run.recipe}
    files = {
        f"{spec.file}.html": render_html("results.html.j2", PACKAGES, t=t, **context),
        f"{spec.file}.md": render_markdown("results.md.j2", PACKAGES, t=t, **context),
        f"{spec.file}.json": _data(frame, findings, finished),
        f"{spec.file}_scores.csv": csv_table(_SCORES, list(_scores(run))),
    }
    for sheet in findings.all_tables():
        files[f"{spec.file}_tables/{sheet.name}.csv"] = table_as_csv(sheet, stamp)
        if sheet is not findings.difficulty_table:
            files[f"{spec.file}_tables/{sheet.name}.tex"] = table_as_latex(sheet, stamp)
    return files


def _context(
    frame: ResultsFrame, findings: ResultsFindings, finished: FinishedBuild, spec: ResultsSpec
) -> dict[str, Any]:
    run = frame.run
    card: Mapping[str, Any] = finished.recipe["card"]
    return {
        "run": run, "found": findings, "frame": frame, "spec": spec, "recipe": finished.recipe, "card": card,
        "colours": ChartColours(run.sources, run.types), "always": constant_answer_scores(frame, spec.class_imbalance),
        "tiles": _tiles(frame, finished), "unused": unused_rows_note(frame, finished),
        "unasked": unasked_items_note(frame, finished),
        "has_sample_ratings": bool(card["illustrative"]) and any(measure.role == "people" for measure in run.measures),
        **PAGE_FUNCTIONS, "level": f"{frame.bootstrap['level'] * 100:g} %",
    }  # fmt: skip


def constant_answer_scores(frame: ResultsFrame, class_imbalance: float) -> ConstantAnswerScores | None:
    """The accuracy of constant answers; ``None`` without true/false questions."""
    right = list(expected_verdicts(frame).values())
    if not right:
        return None
    yes = right.count("yes") / len(right)
    return ConstantAnswerScores(len(right), yes, 1 - yes, max(yes, 1 - yes) >= class_imbalance)


def _tiles(frame: ResultsFrame, finished: FinishedBuild) -> list[tuple[str, str]]:
    run, t = frame.run, frame.t
    answers = sum(answer.outcome != "missing" for rows in run.answers.values() for answer in rows.values())
    people = [measure for measure in run.measures if measure.role == "people"]
    rated = {
        (model, item)
        for measure in people
        for model, rows in run.scores[measure].items()
        for item in rows
        if run.has_answer(model, item)
    }
    verdicts = [measure for measure in run.measures if measure.aspect == VERDICT]
    labels = [
        score.label
        for measure in verdicts
        for model in run.system_names("model")
        for score in run.scores[measure].get(model, {}).values()
    ]
    counts = {
        "items": len(run.entries),
        "models": len(run.system_names("model")),
        "answers": answers,
        "rated": len(rated),
    }
    tiles = [(t.number(n), t(f"results.tile_{name}", n=n)) for name, n in counts.items()]
    if labels:
        without = sum(label in ("invalid", "refused", "empty", "filtered") for label in labels)
        tiles.append((t.number(without), t("results.tile_invalid", n=without)))
    prices = [receipt.usd for receipt in finished.receipts]
    if prices and None not in prices:
        tiles.append((format_value(sum(usd or 0.0 for usd in prices), "usd"), t("results.tile_cost")))
    return tiles


def _data(frame: ResultsFrame, findings: ResultsFindings, finished: FinishedBuild) -> str:
    """All tables and every score by item, as input for comparing two runs."""
    run = frame.run
    data: dict[str, Any] = {
        "schema": RESULTS_SCHEMA,
        "name": finished.recipe["name"],
        "title": finished.recipe["card"]["title"],
        "language": finished.recipe["language"],
        "benchmark": run.benchmark,
        "recipe": run.recipe,
        "bootstrap": dict(frame.bootstrap),
        "systems": {system.name: system.group for system in run.systems},
        "items": [[e.row.id, run.facts[e.row.id], e.source, e.type, e.expected] for e in run.entries],
        "scores": [
            {
                "aspect": measure.aspect,
                "scorer": measure.scorer,
                **({"form": measure.form} if measure.form else {}),
                "title": frame.measure_label(measure),
                "values": {
                    system.name: [values.get(e.row.id) for e in run.entries]
                    for system in run.scored_systems(measure)
                    for values in [run.values(measure, system.name)]
                },
            }
            for measure in run.measures
        ],
        "tables": [table_as_data(sheet) for sheet in findings.all_tables() if sheet.name != "difficulty"],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


_SCORES = (
    "item", "source", "type", "expected", "model", "group", "outcome", "aspect", "scorer", "value", "label", "ratings",
    "benchmark", "recipe",
)  # fmt: skip


def _scores(run: EvaluationRun) -> Iterator[list[object]]:
    """One line per score."""
    for measure in run.measures:
        for system in run.systems:
            scores, answers = run.scores[measure].get(system.name, {}), run.answers.get(system.name, {})
            for entry in run.entries:
                item = entry.row.id
                if item not in scores:
                    continue
                score, outcome = scores[item], answers[item].outcome if item in answers else ""
                ratings = "; ".join(f"{rater}={value:g}" for rater, value in score.ratings)
                yield [
                    item, entry.source, entry.type, entry.expected, system.name, system.group, outcome, measure.aspect,
                    measure.scorer, score.value, score.label, ratings, run.benchmark, run.recipe,
                ]  # fmt: skip
