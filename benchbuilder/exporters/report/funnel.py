"""Summarises the counts of a build: where the rows of each source went, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from benchbuilder.core import DataError, load_words
from benchbuilder.exporters.base import FinishedBuild, StepCounts
from benchbuilder.models import Receipt

OUTCOME_NAMES = ("kept", "dropped", "not_applicable", "failed")


@dataclass(frozen=True)
class OutcomeCounts:
    """The branches of one step by outcome."""

    kept: int
    dropped: int
    not_applicable: int
    failed: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.kept + self.dropped + self.not_applicable + self.failed


@dataclass(frozen=True)
class StepFunnel:
    """What a step did with the rows of one source. `why` counts the dropped by reason, most frequent first."""

    step: str
    kind: str
    role: str
    outcomes: OutcomeCounts
    why: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class SourceFunnel:
    """The funnel of one source: its units, then each step.

    `joined` counts rows of files joined to the units; `cleaned` the records that each rule of `clean` changed.
    """

    source: str
    role: str
    units: OutcomeCounts
    joined: int
    why: tuple[tuple[str, int], ...]
    steps: tuple[StepFunnel, ...]
    cleaned: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class ReasonCounts:
    """A reason of a step, its sentence, and how many branches of each source it took."""

    step: str
    name: str
    sentence: str
    by_source: Mapping[str, int]

    @property
    def total(self) -> int:
        """Over all sources."""
        return sum(self.by_source.values())


@dataclass(frozen=True)
class WordMatches:
    """How many rows each listed word matched, by source, and the words that matched none."""

    matches: Mapping[str, Mapping[str, int]]
    unmatched: tuple[str, ...]
    total: int


def source_funnels(finished: FinishedBuild, groups: Iterable[str] = ()) -> list[SourceFunnel]:
    """The funnel of every source and knowledge base, in order, then of each of `groups` that is no source.

    Such a group is a class that a step sorted rows into: it has no units, and its role is ``group``.
    """
    found = [_source_funnel(finished, account) for account in finished.step_counts if not account.inputs]
    known = {branch.source for branch in found}
    steps = [account for account in finished.step_counts if account.inputs]
    for name in groups:
        if name not in known:
            passed = tuple(step for account in steps if (step := _step_funnel(account, name)).outcomes.total)
            found.append(SourceFunnel(name, "group", _outcome_counts({}), 0, (), passed))
    return found


def _source_funnel(finished: FinishedBuild, source: StepCounts) -> SourceFunnel:
    units = Counter[str]()
    why = Counter[str]()
    joined = 0
    for (_, outcome, reason), n in source.units.items():
        if outcome not in OUTCOME_NAMES:
            joined += n
            continue
        units[outcome] += n
        if outcome == "dropped":
            why[reason] += n
    steps = [_step_funnel(account, source.step) for account in finished.step_counts if account.inputs]
    passed = tuple(step for step in steps if step.outcomes.total)
    begins = len(f"sources.{source.step}.")
    cleaned = tuple((key[begins:], n) for (name, _, key), n in source.tallies.items() if name == "clean")
    return SourceFunnel(source.step, source.role, _outcome_counts(units), joined, _ranked(why), passed, cleaned)


@dataclass(frozen=True)
class FunnelStage:
    """What is there after a stage of the flow, by source, and why rows were lost on the way, most frequent first."""

    name: str
    rows: Mapping[str, int]
    why: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        """Over all sources."""
        return sum(self.rows.values())

    @property
    def lost(self) -> int:
        """How many rows were dropped or failed."""
        return sum(n for _, n in self.why)


def funnel_stages(
    finished: FinishedBuild, sources: Iterable[str], candidates: Mapping[str, int], items: Mapping[str, int]
) -> list[FunnelStage]:
    """The stages from the units of `sources` to items that a recipe has; `candidates` and `items` by source.

    A fact counts where the first step reads it that states it or asks about it, and a statement where a fact is first
    stated: what is made of them later (false ones, negations, questions) belongs to the way to the candidates.
    """
    roles = {account.step: account.role for account in finished.step_counts}
    each = {account.step: account.inputs.get("each", ()) for account in finished.step_counts}
    used = {name for step, names in each.items() for name in names if roles.get(name) == "fact" != roles[step]}
    used = used or {name for name, role in roles.items() if role == "fact"} - {
        n for names in each.values() for n in names
    }
    beyond, units = set[str](), Counter[str]()
    why: dict[str, Counter[str]] = {name: Counter() for name in ("fact", "statement", "candidate", "item")}
    rows: dict[str, Counter[str]] = {"fact": Counter(), "statement": Counter()}
    wanted = {*sources}
    for account in finished.step_counts:
        if account.step in wanted:
            units[account.step] += sum(n for (_, outcome, _), n in account.units.items() if outcome in OUTCOME_NAMES)
        before = {name for name in each[account.step] if roles.get(name) == account.role}
        if before & (used | beyond):
            beyond.add(account.step)
        later = account.step in beyond if account.role == "fact" else bool(before)
        stage = "candidate" if account.role == "question" or (account.role in rows and later) else account.role
        if stage not in why:
            continue
        for (_, outcome, reason), n in (account.counts if account.inputs else account.units).items():
            why[stage][reason] += n if outcome in ("dropped", "failed") else 0
        if stage == "statement" or account.step in used - beyond:
            for (partition, outcome, _), n in account.counts.items():
                rows[stage][partition] += n if outcome == "kept" else 0
    counted = {"units": units, **rows, "candidate": candidates, "item": items}
    return [FunnelStage(name, counts, _ranked(+why.get(name, Counter()))) for name, counts in counted.items() if counts]


def _step_funnel(account: StepCounts, source: str) -> StepFunnel:
    outcomes, why = Counter[str](), Counter[str]()
    for (partition, outcome, reason), n in account.counts.items():
        if partition == source:
            outcomes[outcome] += n
            if outcome == "dropped":
                why[reason] += n
    return StepFunnel(account.step, account.kind, account.role, _outcome_counts(outcomes), _ranked(why))


def _outcome_counts(counts: Mapping[str, int]) -> OutcomeCounts:
    return OutcomeCounts(*(counts.get(name, 0) for name in OUTCOME_NAMES))


def _ranked(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def outcome_totals(account: StepCounts) -> OutcomeCounts:
    """The branches of a step over all sources; for a source, its units."""
    counts = Counter[str]()
    for (_, outcome, _), n in (account.counts if account.inputs else account.units).items():
        counts[outcome] += n
    return _outcome_counts(counts)


def reason_counts(finished: FinishedBuild, outcome: str) -> list[ReasonCounts]:
    """Every reason for which branches had `outcome`, in flow order, the most frequent of a step first."""
    found: list[ReasonCounts] = []
    for account in finished.step_counts:
        by_reason: dict[str, Counter[str]] = {}
        for (partition, name, reason), n in account.counts.items():
            if name == outcome:
                by_reason.setdefault(reason, Counter())[partition] += n
        rows = [
            ReasonCounts(account.step, r, account.reasons.get(r, ""), by_source) for r, by_source in by_reason.items()
        ]
        found += sorted(rows, key=lambda row: (-row.total, row.name))
    return found


def word_matches(finished: FinishedBuild) -> WordMatches | None:
    """The matches of the word lists; ``None`` if no step looked for words."""
    matches: dict[str, Counter[str]] = {}
    listed: dict[str, None] = {}
    seen = False
    for account in finished.step_counts:
        tallied = {key: n for key, n in account.tallies.items() if key[0] == "words"}
        path = _word_list(finished, account.step)
        if not tallied and path is None:
            continue
        seen = True
        listed.update(dict.fromkeys(_load(path)))
        for (_, partition, word), n in tallied.items():
            listed.setdefault(word)
            matches.setdefault(partition, Counter())[word] += n
    found = {word for counts in matches.values() for word, n in counts.items() if n}
    silent = tuple(word for word in listed if word not in found)
    ranked = {name: dict(_ranked(Counter({w: n for w, n in c.items() if n}))) for name, c in matches.items()}
    return WordMatches(ranked, silent, len(listed)) if seen else None


def _word_list(finished: FinishedBuild, step: str) -> Path | None:
    node = cast("Mapping[str, Any]", finished.recipe.get("steps", {})).get(step)
    value: Any = node.get("words") if isinstance(node, Mapping) else None
    if isinstance(value, Mapping):
        value = value.get("resolved_path") or value.get("path")
    return Path(value) if isinstance(value, str) and value else None


def _load(path: Path | None) -> tuple[str, ...]:
    """The words of the list; none if the file is gone, as the tallies of the step still hold what matched."""
    try:
        return load_words(path) if path is not None else ()
    except DataError:
        return ()


def holds_sample_votes(recipe: Mapping[str, Any]) -> bool:
    """Whether the votes of the recipe came with its sample data."""
    annotation: Mapping[str, Any] = recipe.get("annotation") or {}
    steps: Iterable[Mapping[str, Any]] = (recipe.get("steps") or {}).values()
    ways = [(step.get("ways") or {}).get(annotation.get("kind")) or {} for step in steps]
    return bool(recipe["card"]["illustrative"] and any(way.get("votes") for way in (annotation, *ways)))


def receipts_in_flow_order(finished: FinishedBuild) -> list[Receipt]:
    """The receipts in the order of the steps; those of former steps come last."""
    places = {account.step: place for place, account in enumerate(finished.step_counts)}
    return sorted(finished.receipts, key=lambda receipt: places.get(receipt.step, len(places)))
