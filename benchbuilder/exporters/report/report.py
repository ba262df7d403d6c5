"""The report: one HTML file that says where every row went and what the benchmark holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.core.atomic_write import write_whole
from benchbuilder.exporters.base import Exporter, FileName, Finished
from benchbuilder.exporters.render.i18n import Language, Wording
from benchbuilder.exporters.render.templates import render_html
from benchbuilder.exporters.report import charts, funnel
from benchbuilder.exporters.report.annotation import Judgements, judgements
from benchbuilder.exporters.report.blind_baselines import baselines, polarity
from benchbuilder.exporters.report.entries import (
    Entry,
    ancestry,
    candidates,
    counted,
    examples,
    groups_of,
    items,
    sources_of,
    types_of,
)


class ReportSpec(KindSpec):
    """`language` is the language of headings and explanations, not of the benchmark.

    `examples` is how many random entries are shown in full. `cue_words` are words that give a negative answer away:
    the report says how often they alone would be right.
    """

    file: FileName
    language: Language
    examples: Annotated[int, Field(ge=0, le=200)]
    cue_words: tuple[str, ...]


class Report(Exporter):
    """One self-contained HTML page: no network, no scripts, fit for print, light and dark.

    It is written while votes are missing too, and then shows the candidates.
    """

    kind: ClassVar[str] = "report"
    spec_class: ClassVar[type[KindSpec]] = ReportSpec

    spec: ReportSpec

    def ready(self, finished: Finished) -> bool:  # noqa: ARG002
        """Always: what is missing is said in the page."""
        return True

    def write(self, finished: Finished, folder: Path) -> list[Path]:
        """Write the page."""
        t = Wording(self.spec.language)
        page = render_html("report.html.j2", t=t, spec=self.spec, **_context(finished, self.spec, t))
        return [write_whole(folder / self.spec.file, page)]


@dataclass(frozen=True)
class Tile:
    """A key figure."""

    value: float | str
    label: str
    note: str = ""


def _context(finished: Finished, spec: ReportSpec, t: Wording) -> dict[str, Any]:
    made, proposed = items(finished), candidates(finished)
    shown = made or proposed
    origins, types = sources_of(finished), types_of([*made, *proposed])
    sources = groups_of([*made, *proposed], origins)
    colours = charts.Colours([*origins, *(name for name in sources if name not in origins)], types)
    drawn = examples(shown, spec.examples, int(finished.recipe["seed"]))
    bases = {p.base for entry in shown for p in entry.evidence}
    judged = judgements(finished)
    return {
        "finished": finished,
        "recipe": finished.recipe,
        "card": finished.recipe["card"],
        "has_items": bool(made),
        "reviewed": bool(made) and all(entry.reviewed for entry in made),
        "judged_items": sum(entry.reviewed for entry in made),
        "unit": t("report.unit_items" if made else "report.unit_candidates"),
        "colours": colours,
        "sources": sources,
        "origins": origins,
        "types": types,
        "tiles": _tiles(finished, made, proposed, t),
        "branches": _branches(finished, sources, colours, made, proposed),
        "holdings": [
            (t("report.funnel_candidates"), counted(proposed)),
            (t("report.funnel_items"), counted(made)),
        ],
        "polarity": polarity(shown, sources),
        "baselines": baselines(shown, sources, spec.cue_words),
        "sample_votes": funnel.holds_sample_votes(finished.recipe),
        "lengths": _lengths(shown, sources, types, colours, t),
        "words": funnel.words(finished),
        "judged": judged,
        "survivors": {step: _survivors(one, sources, colours, t) for step, one in judged.items()},
        "evidence": _evidence(shown, sources, sorted(bases), colours, t),
        "examples": drawn,
        "ancestry": ancestry(finished, drawn),
        "dropped": funnel.reasons(finished, "dropped"),
        "aside": funnel.reasons(finished, "not_applicable"),
        "failed": funnel.reasons(finished, "failed"),
        "receipts": funnel.in_flow_order(finished),
        "partitions": list(
            dict.fromkeys([*(account.step for account in finished.accounts if not account.inputs), *sources])
        ),
    }


def _tiles(finished: Finished, made: Sequence[Entry], proposed: Sequence[Entry], t: Wording) -> list[Tile]:
    units = sum(b.units.tickets for b in funnel.branches(finished) if b.role != "passage")
    tiles = [Tile(units, t("report.tile_units"), t("report.tile_sources", n=len(sources_of(finished))))]
    if proposed:
        tiles.append(Tile(len(proposed), t("report.tile_candidates"), _by_type(proposed)))
    tiles.append(Tile(len(made) if made else "–", t("report.tile_items"), _by_type(made)))
    shown = made or proposed
    if paragraphs := sum(len(entry.evidence) for entry in shown):
        mean = paragraphs / len(shown)
        tiles.append(Tile(mean, t("report.tile_evidence"), t("report.tile_evidence_note", n=paragraphs)))
    if always := [b for b in baselines(shown, [], []) if b.name == "always_yes"]:
        score = f"{always[0].score * 100:.1f} %"
        tiles.append(Tile(score, t("report.tile_always_yes"), t("report.tile_always_yes_note", n=always[0].total)))
    return tiles


def _by_type(entries: Sequence[Entry]) -> str:
    counts = [(name, sum(entry.type == name for entry in entries)) for name in types_of(entries) if name]
    return " · ".join(f"{n:,} {name}" for name, n in counts)


@dataclass(frozen=True)
class Way:
    """A branch as the page shows it: a ribbon for the units, and one for each step."""

    branch: funnel.Branch
    css: str
    units: Any
    ribbons: Sequence[Any]
    candidates: int
    items: int
    entered: int
    reached: int
    has_aside: bool
    has_failed: bool


def _branches(
    finished: Finished,
    groups: Sequence[str],
    colours: charts.Colours,
    made: Sequence[Entry],
    proposed: Sequence[Entry],
) -> list[Way]:
    ways: list[Way] = []
    for branch in funnel.branches(finished, groups):
        fates = [branch.units, *(step.fates for step in branch.steps)]
        at_end = [step.fates.kept for step in branch.steps if step.role != "evidence"]
        ways.append(
            Way(
                branch,
                colours.source(branch.source),
                charts.funnel_ribbon(branch.units, branch, colours, branch.source),
                [
                    None if step.role == "evidence" else charts.funnel_ribbon(step.fates, branch, colours, step.step)
                    for step in branch.steps
                ],
                sum(entry.source == branch.source for entry in proposed),
                sum(entry.source == branch.source for entry in made),
                branch.units.tickets if branch.role != "group" else fates[1].tickets if branch.steps else 0,
                at_end[-1] if at_end else branch.units.kept,
                any(f.not_applicable for f in fates),
                any(f.failed for f in fates),
            )
        )
    return ways


def _lengths(
    shown: Sequence[Entry], sources: Sequence[str], types: Sequence[str], colours: charts.Colours, t: Wording
) -> Mapping[str, Any] | None:
    if not shown:
        return None
    rows = charts.lengths(shown, sources)
    return {
        "rows": rows,
        "means": charts.length_bars(rows, colours, t),
        "distribution": charts.length_columns(shown, types, colours, t),
    }


def _survivors(judged: Judgements, sources: Sequence[str], colours: charts.Colours, t: Wording) -> Any:
    return charts.survivor_columns(judged.survivors, sources, colours, t) if judged.survivors else None


def _evidence(
    shown: Sequence[Entry], sources: Sequence[str], bases: Sequence[str], colours: charts.Colours, t: Wording
) -> Mapping[str, Any] | None:
    if not bases:
        return None
    rows = [
        (base, sum(p.base == base for e in shown for p in e.evidence),
         sum(any(p.base == base for p in e.evidence) for e in shown))
        for base in bases
    ]  # fmt: skip
    return {"rows": rows, "total": len(shown), "chart": charts.evidence_columns(shown, sources, colours, t)}
