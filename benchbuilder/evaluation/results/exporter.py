"""Results of an evaluation: a page, Markdown, data, and every table as CSV and LaTeX."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from markupsafe import Markup
from pydantic import Field

from benchbuilder.config.spec.annotation import BootstrapSpec
from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core.atomic_write import write_whole
from benchbuilder.evaluation.results import PACKAGES
from benchbuilder.evaluation.results.context import Frame
from benchbuilder.evaluation.results.costs import unused
from benchbuilder.evaluation.results.findings import Findings, findings
from benchbuilder.evaluation.results.means import expected
from benchbuilder.evaluation.results.published import published_of
from benchbuilder.evaluation.results.run import VERDICT, Run, run_of
from benchbuilder.exporters.base import Exporter, FileName, Finished
from benchbuilder.exporters.render.i18n import Language, Wording
from benchbuilder.exporters.render.table_formats import as_csv, as_latex, as_markdown, table
from benchbuilder.exporters.render.tables import Sheet, as_data, interval, plain, shown
from benchbuilder.exporters.render.templates import render_html, render_markdown
from benchbuilder.exporters.report.charts import Colours

SCHEMA = 1
"""The version of what stands in the data file."""

Share = Annotated[float, Field(gt=0, lt=1)]


class ResultsSpec(KindSpec):
    """`file` is what the names of all files begin with; `language` is that of headings and explanations.

    `aspects` are those that scores are about, in order; the first two are set against each other. `worst` is how many
    items are shown in full. What can be seen is worked out for a `power`, and for a difference of `effect`. A warning
    is given where one answer alone is right on `lopsided` of the true/false questions, or more.
    """

    file: FileName
    language: Language
    aspects: tuple[str, ...]
    worst: Annotated[int, Field(ge=0, le=500)]
    power: Share
    effect: Share
    lopsided: Share


@dataclass(frozen=True)
class Always:
    """How far one answer alone goes on true/false questions; shares of `n`."""

    n: int
    yes: float
    no: float
    lopsided: bool

    @property
    def most(self) -> float:
        """The better of the two."""
        return max(self.yes, self.no)


class Results(Exporter):
    """What models scored: one self-contained page with tables that can be sorted, and the same as files.

    Numbers are worked out from answers and scores, whatever the steps are called that made them.
    """

    kind: ClassVar[str] = "results"
    spec_class: ClassVar[type[KindSpec]] = ResultsSpec

    spec: ResultsSpec

    def ready(self, finished: Finished) -> bool:
        """Whether there are items, and answers to them."""
        return super().ready(finished) and any(name.startswith("answer.") for name in finished.tables)

    def write(self, finished: Finished, folder: Path) -> list[Path]:
        """Write the page, Markdown, data, scores and tables."""
        spec, t = self.spec, Wording(self.spec.language, PACKAGES)
        evaluation: Mapping[str, Any] = finished.recipe.get("evaluation") or {}
        drawn = BootstrapSpec.model_validate(evaluation["bootstrap"]).model_dump()
        run = run_of(finished, spec.aspects)
        frame = Frame(run, t, drawn, spec.power, spec.effect)  # pyright: ignore[reportArgumentType]
        found = findings(frame, finished, published_of(evaluation), spec.aspects, spec.worst)
        context = _context(frame, found, finished, spec)
        stamp = {"benchmark": run.benchmark, "recipe": run.recipe}
        files = {
            f"{spec.file}.html": render_html("results.html.j2", PACKAGES, t=t, **context),
            f"{spec.file}.md": render_markdown("results.md.j2", PACKAGES, t=t, **context),
            f"{spec.file}.json": _data(frame, found, finished),
            f"{spec.file}_scores.csv": table(_SCORES, list(_scores(run))),
        }
        for sheet in found.sheets():
            files[f"{spec.file}_tables/{sheet.name}.csv"] = as_csv(sheet, stamp)
            if sheet is not found.difficulty_sheet:
                files[f"{spec.file}_tables/{sheet.name}.tex"] = as_latex(sheet, stamp)
        return [write_whole(folder / name, text) for name, text in files.items()]


def _context(frame: Frame, found: Findings, finished: Finished, spec: ResultsSpec) -> dict[str, Any]:
    run = frame.run
    card: Mapping[str, Any] = finished.recipe["card"]
    return {
        "run": run,
        "found": found,
        "frame": frame,
        "spec": spec,
        "recipe": finished.recipe,
        "card": card,
        "colours": Colours(run.sources, run.types),
        "always": always(frame, spec.lopsided),
        "tiles": _tiles(frame, finished),
        "unused": unused(frame, finished),
        "has_sample_ratings": bool(card["illustrative"]) and any(one.role == "people" for one in run.measures),
        "shown": shown,
        "interval": interval,
        "plain": plain,
        "as_markdown": _marked,
        "level": f"{frame.drawn['level'] * 100:g} %",
    }


def _marked(sheet: Sheet) -> Markup:
    return Markup(as_markdown(sheet))


def always(frame: Frame, lopsided: float) -> Always | None:
    """What always the same answer would score; ``None`` where there are no true/false questions."""
    right = list(expected(frame).values())
    if not right:
        return None
    yes = right.count("yes") / len(right)
    return Always(len(right), yes, 1 - yes, max(yes, 1 - yes) >= lopsided)


def _tiles(frame: Frame, finished: Finished) -> list[tuple[str, str]]:
    run, t = frame.run, frame.t
    answers = sum(said.outcome != "missing" for rows in run.answers.values() for said in rows.values())
    rated = {(model, item) for one in run.measures if one.role == "people"
             for model, rows in run.scores[one].items() for item in rows if run.given(model, item)}  # fmt: skip
    labels = [given.label for one in run.measures if one.aspect == VERDICT
              for model in run.named("model") for given in run.scores[one].get(model, {}).values()]  # fmt: skip
    tiles = [
        (plain(len(run.entries), "count"), t("results.tile_items")),
        (plain(len(run.named("model")), "count"), t("results.tile_models")),
        (plain(answers, "count"), t("results.tile_answers")),
        (plain(len(rated), "count"), t("results.tile_rated")),
    ]
    if labels:
        without = sum(label in ("invalid", "refused", "empty", "filtered") for label in labels)
        tiles.append((plain(without, "count"), t("results.tile_invalid")))
    prices = [receipt.usd for receipt in finished.receipts]
    if prices and None not in prices:
        tiles.append((plain(sum(usd or 0.0 for usd in prices), "usd"), t("results.tile_cost")))
    return tiles


def _data(frame: Frame, found: Findings, finished: Finished) -> str:
    """All tables, and every score by item: what two runs are compared by."""
    run = frame.run
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "name": finished.recipe["name"],
        "title": finished.recipe["card"]["title"],
        "language": finished.recipe["language"],
        "benchmark": run.benchmark,
        "recipe": run.recipe,
        "bootstrap": dict(frame.drawn),
        "contenders": {one.name: one.group for one in run.contenders},
        "items": [[e.row.id, run.facts[e.row.id], e.source, e.type, e.expected] for e in run.entries],
        "scores": [
            {
                "aspect": measure.aspect,
                "scorer": measure.scorer,
                "title": frame.title(measure),
                "values": {
                    one.name: [values.get(e.row.id) for e in run.entries]
                    for one in run.scored_by(measure)
                    for values in [run.values(measure, one.name)]
                },
            }
            for measure in run.measures
        ],
        "sheets": [as_data(sheet) for sheet in found.sheets() if sheet.name != "difficulty"],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


_SCORES = (
    "item", "source", "type", "expected", "model", "group", "outcome", "aspect", "scorer", "value", "label", "ratings",
    "benchmark", "recipe",
)  # fmt: skip


def _scores(run: Run) -> Iterator[list[object]]:
    """One line per score: which answer, by whom, what, and what of."""
    for measure in run.measures:
        for one in run.contenders:
            given, said = run.scores[measure].get(one.name, {}), run.answers.get(one.name, {})
            for entry in run.entries:
                item = entry.row.id
                if item in given:
                    row = given[item]
                    outcome = said[item].outcome if item in said else ""
                    ratings = "; ".join(f"{rater}={value:g}" for rater, value in row.ratings)
                    yield [
                        item, entry.source, entry.type, entry.expected, one.name, one.group, outcome, measure.aspect,
                        measure.scorer, row.value, row.label, ratings, run.benchmark, run.recipe,
                    ]  # fmt: skip
