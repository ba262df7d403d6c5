"""Rechecks of items: the sample, the rate of wrong labels, and the file that keeps it beside the votes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

from benchbuilder.annotation import RecheckSample, RecheckStratum, RowDecisions, draw_recheck, items_digest
from benchbuilder.config import AnnotationSpec, Recipe
from benchbuilder.core import Table, file_checksum, read_row_file, read_sealed_json, seal_json, write_atomically
from benchbuilder.exporters import CheckedPart, RecheckResult
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest

_DEFAULT_SIZE, _DEFAULT_LEVEL = 100, 0.95
"""If nobody is asked about candidates, so that there are no settings."""


def recheck_sample(recipe: Recipe, items: Table[Any], to_experts: Path) -> RecheckSample:
    """The sample of a recipe's items; `to_experts` is the file of those that an analysis flagged, if there was one."""
    sources = dict(zip(items.ids(), map(str, items.column("partition")), strict=True))
    flagged = {str(row["id"]) for _, row in read_row_file(to_experts)} if to_experts.is_file() else set[str]()
    size = recipe.annotation.recheck if isinstance(recipe.annotation, AnnotationSpec) else _DEFAULT_SIZE
    return draw_recheck(sources, flagged, size, recipe.seed)


def recheck_result(
    recipe: Recipe, sample: RecheckSample, questions: Sequence[str], decisions: Iterable[RowDecisions]
) -> RecheckResult:
    """The rates of wrong labels, from the decisions about the drawn items.

    There is no rate before all are decided: those in dispute are more often wrong than the others.
    """
    level = recipe.annotation.bootstrap.level if isinstance(recipe.annotation, AnnotationSpec) else _DEFAULT_LEVEL
    verdicts: dict[str, bool] = {}
    people: set[str] = set()
    strata, drawn = sample.strata, sample.drawn
    for one in decisions:
        for item in drawn.intersection(one.about("id")):
            people |= one.people
            if one.is_complete:
                verdicts[item] = any(one.values.get(name, 0) >= 1 for name in questions)
    complete = len(verdicts) == len(drawn)

    def part(chosen: Sequence[RecheckStratum]) -> CheckedPart:
        counts = [_counts(stratum, verdicts) for stratum in chosen]
        found = stratified_error_rate(counts, level)
        rates = (found.rate, found.low, found.high) if complete else (None, None, None)
        rate, low, high = rates
        return CheckedPart(size=found.size, checked=found.checked, wrong=found.wrong, rate=rate, low=low, high=high)

    flagged = [stratum for stratum in strata if stratum.flagged]
    return RecheckResult(
        items=sample.items, questions=tuple(questions), drawn=len(drawn), decided=len(verdicts),
        people=len(people), level=level, whole=part(strata), flagged=part(flagged) if flagged else None,
        sources={name: part([stratum for stratum in strata if stratum.source == name])
                 for name in dict.fromkeys(stratum.source for stratum in strata)},
    )  # fmt: skip


def _counts(stratum: RecheckStratum, verdicts: Mapping[str, bool]) -> CheckedStratum:
    found = [verdicts[item] for item in stratum.drawn if item in verdicts]
    return CheckedStratum(stratum.size, len(found), sum(found))


def recheck_folder(store: Store) -> Path:
    """The folder of the rechecks; a file is named by the digest of its items."""
    return store.workplace / "rechecks"


def write_recheck(store: Store, result: RecheckResult) -> Path:
    """Keep a result beside the votes; the next build puts it into report and card."""
    path = recheck_folder(store) / f"{result.items}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(path, seal_json(result.model_dump(mode="json")))


def read_recheck(store: Store, items: Manifest | None) -> RecheckResult | None:
    """The result about just these items; ``None`` if there is none, or if its file is damaged."""
    folder = recheck_folder(store)
    if items is None or not folder.is_dir():
        return None
    try:
        path = folder / f"{items_digest(store.rows(items).ids())}.json"
        return RecheckResult.model_validate(read_sealed_json(path))
    except (FileNotFoundError, ValueError):
        return None


def recheck_checksums(store: Store) -> dict[str, str]:
    """The checksums of all results."""
    return {path.name: file_checksum(path) for path in sorted(recheck_folder(store).glob("*.json"))}


@dataclass(frozen=True)
class CheckedStratum:
    """A part of the items: how many it has, how many of them were checked, and how many of these were wrong."""

    size: int
    checked: int
    wrong: int


@dataclass(frozen=True)
class ErrorRate:
    """A rate with its two-sided Wilson interval.

    Attributes:
        checked: How many items were checked.
        wrong: How many of them were wrong.
        size: How many items the rate is about.
        rate: The sum over strata of share times rate; ``None`` if a stratum has no checked item.
        low: The lower bound.
        high: The upper bound.
    """

    checked: int
    wrong: int
    size: int
    rate: float | None
    low: float | None = None
    high: float | None = None


def wilson_interval(rate: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's two-sided interval of a proportion that was seen in `n` cases.

    >>> [round(wilson_interval(0, n, 0.95)[1], 3) for n in (60, 300)]
    [0.06, 0.013]
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = rate + z * z / (2 * n)
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    low, high = (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)
    return max(0.0, low) if rate > 0 else 0.0, min(1.0, high) if rate < 1 else 1.0


def stratified_error_rate(strata: Sequence[CheckedStratum], level: float) -> ErrorRate:
    """The rate over all strata: each counts by its share of the items, however many of it were checked.

    The interval is Wilson's, for as many cases as a simple random sample of equal variance would have. It never has
    more than were checked, so that a sample in proportion to the strata has the interval of a simple one.
    """
    filled = [stratum for stratum in strata if stratum.size]
    checked, wrong, size = (sum(getattr(one, name) for one in filled) for name in ("checked", "wrong", "size"))
    if not filled or not all(stratum.checked for stratum in filled):
        return ErrorRate(checked, wrong, size, None)
    rate = sum(one.size / size * one.wrong / one.checked for one in filled)
    return ErrorRate(checked, wrong, size, rate, *wilson_interval(rate, _effective_cases(filled, size), level))


def _effective_cases(strata: Sequence[CheckedStratum], size: int) -> float:
    """How many cases of a simple random sample say as much as the sample in strata.

    Rates of strata are drawn towards the rate of all by one case: a stratum without an error has a variance too.
    """
    checked = sum(one.checked for one in strata)
    overall = (sum(one.wrong for one in strata) + 0.5) / (checked + 1)
    smooth = [(one.wrong + overall) / (one.checked + 1) for one in strata]
    shares = [one.size / size for one in strata]
    variance = sum(
        share**2 * rate * (1 - rate) / one.checked for share, rate, one in zip(shares, smooth, strata, strict=True)
    )
    mean = sum(share * rate for share, rate in zip(shares, smooth, strict=True))
    return min(float(checked), mean * (1 - mean) / variance)
