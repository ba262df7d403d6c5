"""The exporter kind `report`: one HTML page that shows where every row went and what the benchmark holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import KindSpec
from benchbuilder.core import PageTexts
from benchbuilder.exporters.base import Exporter, FileName, FinishedBuild, PageSpec
from benchbuilder.exporters.render.page_languages import LanguageLink, write_pages
from benchbuilder.exporters.render.templates import render_html
from benchbuilder.exporters.report import charts, funnel
from benchbuilder.exporters.report.annotation import LabelTexts, annotation_summaries
from benchbuilder.exporters.report.audit import AuditSentences, shown_charts
from benchbuilder.exporters.report.counts import (
    count_entries,
    groups_of,
    polarity_counts,
    sample_entries,
    score_blind_baselines,
    types_of,
)
from benchbuilder.exporters.report.coverage import SectionCoverage, section_coverage
from benchbuilder.exporters.report.entries import EntryAncestor, ReportEntry, entry_ancestors, sources_of
from benchbuilder.exporters.report.summaries import (
    EntrySummary,
    candidate_summaries,
    item_summaries,
    load_entries,
)

_FIRST = 3
"""So many examples are shown on the first page."""


class ReportSpec(PageSpec):
    """`examples` is how many random entries are shown in full. `cue_words` are words that give away a negative answer:
    the report says how often they alone are right.
    """

    file: FileName
    examples: Annotated[int, Field(ge=0, le=200)]
    cue_words: tuple[str, ...]


class Report(Exporter):
    """One self-contained HTML page: no network, no scripts, fit for print, light and dark.

    It is written while votes are missing too, and then shows the candidates.
    """

    kind: ClassVar[str] = "report"
    version: ClassVar[int] = 2
    spec_class: ClassVar[type[KindSpec]] = ReportSpec

    spec: ReportSpec

    def can_write(self, finished: FinishedBuild) -> bool:  # noqa: ARG002
        """Always: the page says what is missing."""
        return True

    def write(self, finished: FinishedBuild, folder: Path) -> list[Path]:
        """Write the page."""
        read = _ReadBuild.of(finished, self.spec)

        def page(t: PageTexts, languages: Sequence[LanguageLink]) -> str:
            return render_html("report.html.j2", t=t, spec=self.spec, languages=languages, **_context(read, t))

        return write_pages(folder, self.spec.file, self.spec.reader_texts(), page, sync=False)

    def output_names(self) -> tuple[str, ...]:
        """The names of the page in all languages."""
        return self.spec.page_names(self.spec.file)


@dataclass(frozen=True)
class _ReadBuild:
    """What a report takes from a build, whatever its language; reading the rows takes longest."""

    finished: FinishedBuild
    spec: ReportSpec
    made: Sequence[EntrySummary]
    proposed: Sequence[EntrySummary]
    examples: Sequence[ReportEntry]
    ancestry: Mapping[str, Sequence[EntryAncestor]]
    words: funnel.WordMatches | None
    coverage: Sequence[SectionCoverage]

    @classmethod
    def of(cls, finished: FinishedBuild, spec: ReportSpec) -> _ReadBuild:
        """Read a build."""
        made, proposed = (find(finished, spec.cue_words) for find in (item_summaries, candidate_summaries))
        drawn = sample_entries(made or proposed, spec.examples, int(finished.recipe["seed"]))
        examples = load_entries(finished, [entry.id for entry in drawn])
        ancestry, words = entry_ancestors(finished, examples), funnel.word_matches(finished)
        return cls(finished, spec, made, proposed, examples, ancestry, words, section_coverage(finished))


def _context(read: _ReadBuild, t: PageTexts) -> dict[str, Any]:
    finished, spec, made, proposed = read.finished, read.spec, read.made, read.proposed
    shown = made or proposed
    origins, types = sources_of(finished), types_of([*made, *proposed])
    sources = groups_of([*made, *proposed], origins)
    colours = charts.ChartColours([*origins, *(name for name in sources if name not in origins)], types)
    bases = {base for entry in shown for base in entry.bases}
    judged = annotation_summaries(finished)
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
        "units": sum(b.units.total for b in funnel.source_funnels(finished) if b.source in origins),
        "proposed": len(proposed),
        "stages": funnel.funnel_stages(
            finished, origins, *(Counter(e.source for e in entries) for entries in (proposed, made))
        ),
        "branches": _funnel_views(finished, sources, colours, made, proposed),
        "holdings": [
            (t("report.funnel_candidates"), count_entries(proposed)),
            (t("report.funnel_items"), count_entries(made)),
        ],
        "polarity": polarity_counts(shown, sources),
        "baselines": score_blind_baselines(shown, sources, cue_words=bool(spec.cue_words)),
        "sample_votes": funnel.holds_sample_votes(finished.recipe),
        "lengths": _lengths(shown, sources, types, colours, t),
        "words": read.words,
        "coverage": read.coverage,
        "judged": judged,
        "agreement_charts": {step: charts.agreement_dots(summary, t) for step, summary in judged.items()},
        "labels": LabelTexts(t),
        "threshold_charts": {
            step: charts.threshold_columns(summary.thresholds, sources, colours, t) if summary.thresholds else None
            for step, summary in judged.items()
        },
        "evidence": _evidence(shown, sources, sorted(bases), colours, t),
        "first": _first_examples(read.examples, types),
        "examples": read.examples,
        "ancestry": read.ancestry,
        "dropped": funnel.reason_counts(finished, "dropped"),
        "aside": funnel.reason_counts(finished, "not_applicable"),
        "failed": funnel.reason_counts(finished, "failed"),
        "receipts": funnel.receipts_in_flow_order(finished),
        "audit": None if finished.audit is None else AuditSentences(finished.audit, t),
        "audit_charts": [] if finished.audit is None else shown_charts(finished.audit, t),
        "found": Counter(check.word for check in finished.audit.checks if check.gates) if finished.audit else {},
        "partitions": _partitions(finished, sources),
    }


def _first_examples(examples: Sequence[ReportEntry], types: Sequence[str]) -> list[ReportEntry]:
    """Three of the examples, of several sources and types."""
    chosen: list[ReportEntry] = []
    for place, source in enumerate(dict.fromkeys(entry.source for entry in examples)):
        own = [entry for entry in examples if entry.source == source]
        chosen.append(next((entry for entry in own if entry.type == types[place % len(types)]), own[0]))
    return [*chosen, *(entry for entry in examples if entry not in chosen)][:_FIRST]


def _partitions(finished: FinishedBuild, sources: Sequence[str]) -> list[str]:
    """Every source in flow order, then the groups that steps made."""
    named = [account.step for account in finished.step_counts if not account.inputs]
    return list(dict.fromkeys([*named, *sources]))


@dataclass(frozen=True)
class FunnelView:
    """A branch as the page shows it: a ribbon for the units, and one for each step."""

    funnel: funnel.SourceFunnel
    css: str
    units: Any
    ribbons: Sequence[Any]
    candidates: int
    items: int
    entered: int
    reached: int
    has_aside: bool
    has_failed: bool


def _funnel_views(
    finished: FinishedBuild,
    groups: Sequence[str],
    colours: charts.ChartColours,
    made: Sequence[EntrySummary],
    proposed: Sequence[EntrySummary],
) -> list[FunnelView]:
    ways: list[FunnelView] = []
    for branch in funnel.source_funnels(finished, groups):
        outcomes = [branch.units, *(step.outcomes for step in branch.steps)]
        at_end = [step.outcomes.kept for step in branch.steps if step.role != "evidence"]
        ways.append(
            FunnelView(
                branch,
                colours.source(branch.source),
                charts.funnel_ribbon(branch.units, branch, colours, branch.source),
                [
                    None if step.role == "evidence" else charts.funnel_ribbon(step.outcomes, branch, colours, step.step)
                    for step in branch.steps
                ],
                sum(entry.source == branch.source for entry in proposed),
                sum(entry.source == branch.source for entry in made),
                branch.units.total if branch.role != "group" else outcomes[1].total if branch.steps else 0,
                at_end[-1] if at_end else branch.units.kept,
                any(f.not_applicable for f in outcomes),
                any(f.failed for f in outcomes),
            )
        )
    return ways


def _lengths(
    shown: Sequence[EntrySummary],
    sources: Sequence[str],
    types: Sequence[str],
    colours: charts.ChartColours,
    t: PageTexts,
) -> Mapping[str, Any] | None:
    if not shown:
        return None
    rows = charts.question_lengths(shown, sources)
    return {
        "rows": rows,
        "means": charts.length_bars(rows, colours, t),
        "distribution": charts.length_columns(shown, types, colours, t),
    }


def _evidence(
    shown: Sequence[EntrySummary],
    sources: Sequence[str],
    bases: Sequence[str],
    colours: charts.ChartColours,
    t: PageTexts,
) -> Mapping[str, Any] | None:
    if not bases:
        return None
    paragraphs = Counter(base for entry in shown for base in entry.bases)
    holding = Counter(base for entry in shown for base in set(entry.bases))
    rows = [(base, paragraphs[base], holding[base]) for base in bases]
    return {"rows": rows, "total": len(shown), "chart": charts.evidence_columns(shown, sources, colours, t)}
