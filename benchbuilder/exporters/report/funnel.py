"""The books of a build, read for people: where the rows of each source went, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from benchbuilder.core.errors import DataError
from benchbuilder.core.text.wordlist import load_words
from benchbuilder.exporters.base import Finished, StepAccount
from benchbuilder.models.base import Receipt

FATES = ("kept", "dropped", "not_applicable", "failed")


@dataclass(frozen=True)
class Fates:
    """Tickets of one step by fate."""

    kept: int
    dropped: int
    not_applicable: int
    failed: int

    @property
    def tickets(self) -> int:
        """All of them."""
        return self.kept + self.dropped + self.not_applicable + self.failed


@dataclass(frozen=True)
class Passage:
    """What a step did with the rows of one source. `why` counts the dropped by reason, most frequent first."""

    step: str
    kind: str
    role: str
    fates: Fates
    why: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Branch:
    """The way of one source: its units (`joined` counts rows of files that were joined to them), then each step."""

    source: str
    role: str
    units: Fates
    joined: int
    why: tuple[tuple[str, int], ...]
    steps: tuple[Passage, ...]


@dataclass(frozen=True)
class Reason:
    """A reason of a step, its sentence, and how many tickets of each source it took."""

    step: str
    name: str
    sentence: str
    by_source: Mapping[str, int]

    @property
    def total(self) -> int:
        """Over all sources."""
        return sum(self.by_source.values())


@dataclass(frozen=True)
class Words:
    """What the word lists of the recipe found: hits by source and word, and the words that were never found."""

    hits: Mapping[str, Mapping[str, int]]
    silent: tuple[str, ...]
    total: int


def branches(finished: Finished, groups: Iterable[str] = ()) -> list[Branch]:
    """The way of every source and knowledge base, in flow order, then of each of `groups` that is none of them.

    Such a group is what a step sorted rows into: it has no units of its own, and its role is ``group``.
    """
    found = [_branch(finished, account) for account in finished.accounts if not account.inputs]
    known = {branch.source for branch in found}
    steps = [account for account in finished.accounts if account.inputs]
    for name in groups:
        if name not in known:
            passed = tuple(step for account in steps if (step := _passage(account, name)).fates.tickets)
            found.append(Branch(name, "group", _fates({}), 0, (), passed))
    return found


def _branch(finished: Finished, source: StepAccount) -> Branch:
    units = Counter[str]()
    why = Counter[str]()
    joined = 0
    for (_, fate, reason), n in source.units.items():
        if fate not in FATES:
            joined += n
            continue
        units[fate] += n
        if fate == "dropped":
            why[reason] += n
    steps = [_passage(account, source.step) for account in finished.accounts if account.inputs]
    passed = tuple(step for step in steps if step.fates.tickets)
    return Branch(source.step, source.role, _fates(units), joined, _ranked(why), passed)


def _passage(account: StepAccount, source: str) -> Passage:
    fates, why = Counter[str](), Counter[str]()
    for (partition, fate, reason), n in account.counts.items():
        if partition == source:
            fates[fate] += n
            if fate == "dropped":
                why[reason] += n
    return Passage(account.step, account.kind, account.role, _fates(fates), _ranked(why))


def _fates(counts: Mapping[str, int]) -> Fates:
    return Fates(*(counts.get(name, 0) for name in FATES))


def _ranked(counts: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def totals(account: StepAccount) -> Fates:
    """Tickets of a step over all sources; for a source its units."""
    counts = Counter[str]()
    for (_, fate, _), n in (account.counts if account.inputs else account.units).items():
        counts[fate] += n
    return _fates(counts)


def reasons(finished: Finished, fate: str) -> list[Reason]:
    """Every reason for which tickets had `fate`, in flow order, the most frequent of a step first."""
    found: list[Reason] = []
    for account in finished.accounts:
        by_reason: dict[str, Counter[str]] = {}
        for (partition, name, reason), n in account.counts.items():
            if name == fate:
                by_reason.setdefault(reason, Counter())[partition] += n
        rows = [Reason(account.step, r, account.reasons.get(r, ""), by_source) for r, by_source in by_reason.items()]
        found += sorted(rows, key=lambda row: (-row.total, row.name))
    return found


def words(finished: Finished) -> Words | None:
    """What the word lists found, ``None`` if no step looked for words."""
    hits: dict[str, Counter[str]] = {}
    listed: dict[str, None] = {}
    seen = False
    for account in finished.accounts:
        tallied = {key: n for key, n in account.tallies.items() if key[0] == "words"}
        path = _word_list(finished, account.step)
        if not tallied and path is None:
            continue
        seen = True
        listed.update(dict.fromkeys(_load(path)))
        for (_, partition, word), n in tallied.items():
            listed.setdefault(word)
            hits.setdefault(partition, Counter())[word] += n
    found = {word for counts in hits.values() for word, n in counts.items() if n}
    silent = tuple(word for word in listed if word not in found)
    ranked = {name: dict(_ranked(Counter({w: n for w, n in c.items() if n}))) for name, c in hits.items()}
    return Words(ranked, silent, len(listed)) if seen else None


def _word_list(finished: Finished, step: str) -> Path | None:
    node = cast("Mapping[str, Any]", finished.recipe.get("steps", {})).get(step)
    value: Any = node.get("words") if isinstance(node, Mapping) else None
    if isinstance(value, Mapping):
        value = value.get("at") or value.get("path")
    return Path(value) if isinstance(value, str) and value else None


def _load(path: Path | None) -> tuple[str, ...]:
    """The words of the list; none where it is gone since the step ran (its tallies still say what was found)."""
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


def in_flow_order(finished: Finished) -> list[Receipt]:
    """The receipts in the order of their steps; those of steps that there are no more come last."""
    places = {account.step: place for place, account in enumerate(finished.accounts)}
    return sorted(finished.receipts, key=lambda receipt: places.get(receipt.step, len(places)))
