"""Scores of rules without knowledge on the true/false items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchbuilder.exporters.report.entries import ReportEntry


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
    gives away.
    """
    asked = [entry for entry in entries if entry.expected]
    answers = {
        "always_yes": [True] * len(asked),
        "always_no": [False] * len(asked),
        "cue": [not any(word in entry.question for word in cue_words) for entry in asked],
    }
    names = ["always_yes", "always_no", *(["cue"] if cue_words else [])]
    found: list[BlindBaseline] = []
    for name in names:
        right = [answer == (e.expected == "yes") for answer, e in zip(answers[name], asked, strict=True)]
        for source in ("", *sources):
            chosen = [ok for ok, e in zip(right, asked, strict=True) if source in ("", e.source)]
            if chosen:
                found.append(BlindBaseline(name, source, sum(chosen), len(chosen)))
    return found
