"""Counts entries of a report, draws examples, and scores rules without knowledge."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchbuilder.core import STATEMENT_FORM
from benchbuilder.exporters.report.entries import ReportEntry
from benchbuilder.exporters.report.summaries import EntrySummary

_TYPES = ("TF", "OE")


def groups_of(entries: Iterable[EntrySummary], sources: Sequence[str]) -> list[str]:
    """The groups of entries: `sources`, or the classes that steps sorted them into, as they first occur."""
    present = list(dict.fromkeys(entry.source for entry in entries))
    return list(sources) if set(present) <= set(sources) else present


def types_of(entries: Iterable[EntrySummary | ReportEntry]) -> list[str]:
    """The types that occur: true/false, open-ended, then others by name."""
    return ordered_types(entry.type for entry in entries)


def ordered_types(names: Iterable[str]) -> list[str]:
    """These types without repetition: true/false, open-ended, then others by name."""
    present = set(names)
    return [name for name in _TYPES if name in present] + sorted(present - set(_TYPES))


def count_entries(entries: Iterable[EntrySummary]) -> Counter[tuple[str, str]]:
    """How many entries each (source, type) has."""
    return Counter((entry.source, entry.type) for entry in entries)


def sample_entries(entries: Sequence[EntrySummary], count: int, seed: int) -> list[EntrySummary]:
    """`count` entries drawn at random by `seed`, spread evenly over sources and types."""
    groups: defaultdict[tuple[str, str], list[EntrySummary]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: entry.id):
        groups[entry.source, entry.type].append(entry)
    for (source, kind), group in groups.items():
        random.Random(f"{seed}:{source}:{kind}").shuffle(group)
    turns = sorted((turn, key) for key, group in groups.items() for turn in range(len(group)))
    drawn = [groups[key][turn] for turn, key in turns[:count]]
    return sorted(drawn, key=lambda entry: (entry.source, entry.type, entry.id))


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


def polarity_counts(entries: Iterable[EntrySummary], sources: Sequence[str]) -> list[PolarityCounts]:
    """Expected verdicts by source, for the sources that have any."""
    seen = Counter((entry.source, entry.expected) for entry in entries)
    rows = [PolarityCounts(source, seen[source, "yes"], seen[source, "no"]) for source in sources]
    return [row for row in rows if row.total]


def score_blind_baselines(
    entries: Iterable[EntrySummary], sources: Sequence[str], *, cue_words: bool = False
) -> list[BlindBaseline]:
    """The scores of ``always_yes``, ``always_no`` and, with `cue_words`, ``cue``: over all, then by source.

    ``cue`` answers no to a question with one of the words and yes to any other: it measures what the wording alone
    gives away. Where questions are shown with an answer, ``longest`` says yes if that is not the shorter of the two.
    """
    asked = [entry for entry in entries if entry.expected]
    answers = {
        "always_yes": [True] * len(asked),
        "always_no": [False] * len(asked),
        "cue": [not entry.has_cue for entry in asked],
    }
    names = ["always_yes", "always_no", *(["cue"] if cue_words else [])]
    if any(entry.form != STATEMENT_FORM for entry in asked):
        names.append("longest")
        answers["longest"] = [entry.proposes_longer for entry in asked]
    found: list[BlindBaseline] = []
    for name in names:
        right = [answer == (e.expected == "yes") for answer, e in zip(answers[name], asked, strict=True)]
        for source in ("", *sources):
            chosen = [ok for ok, e in zip(right, asked, strict=True) if source in ("", e.source)]
            if chosen:
                found.append(BlindBaseline(name, source, sum(chosen), len(chosen)))
    return found
