"""The entries of a report (items, or candidates while there are none), and the scores of rules without knowledge."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.core import STATEMENT_FORM, Claim, Item, Row, Support, cells_of
from benchbuilder.exporters.base import FinishedBuild

_TYPES = ("TF", "OE")


@dataclass(frozen=True)
class ReportEntry:
    """One item or candidate. `evidence` is what supports it (for a candidate: what was retrieved for it)."""

    row: Row
    cells: Mapping[str, str]
    evidence: tuple[Support, ...] = ()

    @property
    def source(self) -> str:
        """Its source, or the class that a step sorted it into."""
        return self.row.partition

    @property
    def type(self) -> str:
        """Its type as written in output files (TF, OE); empty for payloads without types."""
        return self.cells.get("q-type", "")

    @property
    def form(self) -> str:
        """How it asks: ``statement``, or the sentence that shows a question."""
        return str(getattr(self.row, "form", STATEMENT_FORM))

    @property
    def expected(self) -> str:
        """The verdict that is right, ``yes`` or ``no``; empty where there is none."""
        return self.cells.get("expected", "")

    @property
    def question(self) -> str:
        """What is asked, context included; for payloads without questions their first cell."""
        return self.cells.get("full-question") or self.cells.get("question") or next(iter(self.cells.values()), "")

    def column(self, name: str) -> str:
        """The name of a cell in reports: in a true/false item, the answer need not be the right one."""
        about_it = bool(self.expected) and "answer-wrong" not in self.cells
        return f"item-{name}" if name == "answer" and about_it else name

    @property
    def reviewed(self) -> bool:
        """Whether people have judged it."""
        return isinstance(self.row, Item) and self.row.reviewed


@dataclass(frozen=True)
class EntryAncestor:
    """A row that an entry was made from: the step that made it, by which rule, and its text."""

    step: str
    role: str
    rule: str
    text: str


def candidate_step(finished: FinishedBuild) -> str:
    """The last step that makes candidates, or an empty name."""
    names = [account.step for account in finished.step_counts if account.role == "candidate"]
    return names[-1] if names else ""


def item_entries(finished: FinishedBuild) -> list[ReportEntry]:
    """The items, empty while votes are missing."""
    if finished.items not in finished.tables:
        return []
    return [entry_of(row) for row in finished.tables[finished.items]]


def entry_of(row: Row) -> ReportEntry:
    """The entry of an item."""
    return ReportEntry(row, cells_of(row), _support(row))


def candidate_entries(finished: FinishedBuild) -> list[ReportEntry]:
    """The candidates with the paragraphs that were retrieved for them."""
    step = candidate_step(finished)
    if step not in finished.tables:
        return []
    found: defaultdict[str, list[Support]] = defaultdict(list)
    for account in finished.step_counts:
        if account.role == "evidence" and account.step in finished.tables:
            for row in finished.tables[account.step]:
                fields = {name: getattr(row, name) for name in Support.model_fields}
                found[row.of].append(Support(**fields))
    return [ReportEntry(row, cells_of(row), tuple(found[row.id])) for row in finished.tables[step]]


def _support(row: Row) -> tuple[Support, ...]:
    payload = getattr(row, "payload", None)
    return payload.evidence if isinstance(payload, Claim) else ()


def sources_of(finished: FinishedBuild) -> list[str]:
    """Names of the sources that items are made from, in flow order; knowledge bases are not among them."""
    return [account.step for account in finished.step_counts if not account.inputs and account.role != "passage"]


def groups_of(entries: Iterable[ReportEntry], sources: Sequence[str]) -> list[str]:
    """The groups of entries: `sources`, or the classes that steps sorted them into, as they first occur."""
    present = list(dict.fromkeys(entry.source for entry in entries))
    return list(sources) if set(present) <= set(sources) else present


def types_of(entries: Iterable[ReportEntry]) -> list[str]:
    """The types that occur: true/false, open-ended, then others by name."""
    present = {entry.type for entry in entries}
    return [name for name in _TYPES if name in present] + sorted(present - set(_TYPES))


def count_entries(entries: Iterable[ReportEntry]) -> Counter[tuple[str, str]]:
    """How many entries each (source, type) has."""
    return Counter((entry.source, entry.type) for entry in entries)


def sample_entries(entries: Sequence[ReportEntry], count: int, seed: int) -> list[ReportEntry]:
    """`count` entries drawn at random by `seed`, spread evenly over sources and types."""
    groups: defaultdict[tuple[str, str], list[ReportEntry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: entry.row.id):
        groups[entry.source, entry.type].append(entry)
    for (source, kind), group in groups.items():
        random.Random(f"{seed}:{source}:{kind}").shuffle(group)
    turns = sorted((turn, key) for key, group in groups.items() for turn in range(len(group)))
    drawn = [groups[key][turn] for turn, key in turns[:count]]
    return sorted(drawn, key=lambda entry: (entry.source, entry.type, entry.row.id))


def entry_ancestors(finished: FinishedBuild, entries: Sequence[ReportEntry]) -> dict[str, list[EntryAncestor]]:
    """For the id of each entry the facts, statements and questions that it was made from, in flow order.

    A row that filters passed on counts for the step that made it.
    """
    wanted = {parent for entry in entries for parent in entry.row.parents}
    known: dict[str, EntryAncestor] = {}
    for account in finished.step_counts:
        if account.role not in ("fact", "statement", "question") or account.step not in finished.tables:
            continue
        for row in finished.tables[account.step].find(wanted - known.keys()):
            rule = f"{row.produced_by.rule}@{row.produced_by.version}"
            known[row.id] = EntryAncestor(account.step, account.role, rule, _text_of(row))
    place = {row_id: index for index, row_id in enumerate(known)}
    return {
        entry.row.id: [known[i] for i in sorted(known.keys() & set(entry.row.parents), key=place.__getitem__)]
        for entry in entries
    }


def _text_of(row: Any) -> str:
    text = getattr(row, "text", "")
    if text:
        return f"{getattr(row, 'context', '')}{text}"
    return " · ".join(cell for cell in cells_of(row).values() if cell)


@dataclass(frozen=True)
class BlindBaseline:
    """A rule that answers without knowledge: how many of `total` items of `source` ("" for all) it gets right."""

    name: str
    source: str
    correct: int
    total: int

    @property
    def score(self) -> float:
        """The proportion of right answers."""
        return self.correct / self.total


@dataclass(frozen=True)
class PolarityCounts:
    """How many true/false items of a source have the answer yes, and how many no."""

    source: str
    yes: int
    no: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.yes + self.no


def polarity_counts(entries: Iterable[ReportEntry], sources: Sequence[str]) -> list[PolarityCounts]:
    """Expected verdicts by source, for the sources that have any."""
    seen = Counter((entry.source, entry.expected) for entry in entries)
    rows = [PolarityCounts(source, seen[source, "yes"], seen[source, "no"]) for source in sources]
    return [row for row in rows if row.total]


def score_blind_baselines(
    entries: Iterable[ReportEntry], sources: Sequence[str], cue_words: Sequence[str]
) -> list[BlindBaseline]:
    """The scores of ``always_yes``, ``always_no`` and, with `cue_words`, ``cue``: over all, then by source.

    ``cue`` answers no to a question with one of the words and yes to any other: it measures what the wording alone
    gives away. Where questions are shown with an answer, ``longest`` says yes if that is not the shorter of the two.
    """
    asked = [entry for entry in entries if entry.expected]
    answers = {
        "always_yes": [True] * len(asked),
        "always_no": [False] * len(asked),
        "cue": [not any(word in entry.question for word in cue_words) for entry in asked],
    }
    names = ["always_yes", "always_no", *(["cue"] if cue_words else [])]
    if any(entry.form != STATEMENT_FORM for entry in asked):
        names.append("longest")
        answers["longest"] = [_proposes_longer(entry) for entry in asked]
    found: list[BlindBaseline] = []
    for name in names:
        right = [answer == (e.expected == "yes") for answer, e in zip(answers[name], asked, strict=True)]
        for source in ("", *sources):
            chosen = [ok for ok, e in zip(right, asked, strict=True) if source in ("", e.source)]
            if chosen:
                found.append(BlindBaseline(name, source, sum(chosen), len(chosen)))
    return found


def _proposes_longer(entry: ReportEntry) -> bool:
    """Whether the proposed answer is as long as the other one, or longer."""
    right, wrong = (len(entry.cells.get(name, "")) for name in ("answer", "answer-wrong"))
    return right >= wrong if entry.expected == "yes" else wrong >= right
