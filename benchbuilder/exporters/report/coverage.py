"""How far the paragraphs of documents became facts and items, by section, and for which dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from benchbuilder.core import Fact, LabelledClaim, row_name
from benchbuilder.exporters.base import FinishedBuild, StepCounts

_MOST_DATES = 12


@dataclass(frozen=True)
class SectionCoverage:
    """One section of a document, which is the title of its paragraphs.

    Of its `paragraphs`, `silent` gave no fact. `facts` is how many the others gave, `items` how many items are about
    these.
    """

    section: str
    paragraphs: int
    silent: int
    facts: int
    items: int


def section_coverage(finished: FinishedBuild) -> list[SectionCoverage]:
    """The sections in the order of the documents; none if no step reads facts from paragraphs."""
    items = Counter(finished.tables[finished.items].column("fact")) if finished.items in finished.tables else Counter()
    section_of: dict[str, str] = {}
    facts, about = Counter[str](), Counter[str]()
    for account, passages in _readers(finished):
        for name in passages:
            table = finished.tables[name]
            section_of.update(zip(table.ids(), table.column("title"), strict=True))
        table = finished.tables[account.step]
        for fact, passage in zip(table.ids(), table.column("of"), strict=True):
            facts[passage] += 1
            about[passage] += items[fact]
    by_section: dict[str, list[str]] = {}
    for passage, section in section_of.items():
        by_section.setdefault(section, []).append(passage)
    return [
        SectionCoverage(
            section, len(passages), sum(not facts[passage] for passage in passages),
            sum(facts[passage] for passage in passages), sum(about[passage] for passage in passages),
        )
        for section, passages in by_section.items()
    ]  # fmt: skip


def claim_dates(finished: FinishedBuild) -> list[tuple[str, int]]:
    """The dates that the facts behind the items name for themselves, and how many items each has; most first."""
    if finished.items not in finished.tables:
        return []
    dates: dict[str, str] = {}
    for account, _ in _readers(finished):
        table = finished.tables[account.step]
        if row_name(table.row) == row_name(Fact[LabelledClaim]):
            dates.update(zip(table.ids(), table.column("payload.as_of"), strict=True))
    counts = Counter(dates.get(fact, "") for fact in finished.tables[finished.items].column("fact"))
    return [(date, n) for date, n in counts.most_common(_MOST_DATES) if date]


def _readers(finished: FinishedBuild) -> Iterator[tuple[StepCounts, tuple[str, ...]]]:
    """Each step that makes facts of passages, with the steps or sources of these."""
    roles = {account.step: account.role for account in finished.step_counts}
    for account in finished.step_counts:
        passages = account.inputs.get("each", ())
        if account.role == "fact" and passages and all(roles.get(name) == "passage" for name in passages):
            known = tuple(name for name in passages if name in finished.tables)
            if account.step in finished.tables and known:
                yield account, known
