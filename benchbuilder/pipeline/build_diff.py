"""How two built benchmarks differ, item by item, each with its cause."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import pyarrow as pa

from benchbuilder.config import KeyChange, display_path, recipe_key_changes
from benchbuilder.core import DataError
from benchbuilder.pipeline.built_benchmark import BuiltBenchmark, Lineage
from benchbuilder.pipeline.cache_key import describe_key_changes
from benchbuilder.pipeline.store.manifest import Manifest

ChangeSort = Literal["added", "removed", "changed"]
ChangeCause = Literal["data", "prompt", "rule", "model", "threshold", "votes"]

_PROMPTS = ("file prompt", "file system", "file pairs", "file repair")
_MODELS = ("model", "sampling", "version of model", "file model")
_VOTES = ("annotation.kind", "votes.kind", "file annotation.votes", "file votes")
_THRESHOLDS = ("annotation.keep", "annotation.min_evidence", "annotation.rule", "votes.keep", "votes.min_evidence",
               "votes.rule", "choose", "sample")  # fmt: skip
_MOST_LISTED = 3
"""The number of differences of a step that are listed for an item."""
_HASH_BYTES = 16


@dataclass(frozen=True)
class ItemChange:
    """An item that only one of two benchmarks has, or that differs in the second.

    `step` is the first step with a different result, `cause` and `detail` say why. `fields` are the changed fields of
    the payload.
    """

    sort: ChangeSort
    cause: ChangeCause
    step: str
    detail: str
    source: str
    text: str
    left: str = ""
    right: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class BenchmarkDifferences:
    """The differences between two benchmarks in one task; `same` is the number of items in both."""

    task: str
    same: int
    changes: tuple[ItemChange, ...]
    recipe: tuple[KeyChange, ...]

    def counts(self) -> Counter[tuple[ChangeSort, ChangeCause]]:
        """The number of added, removed and changed items by cause."""
        return Counter((change.sort, change.cause) for change in self.changes)


@dataclass(frozen=True, slots=True)
class _OwnItem:
    """An item that only one benchmark has: what a comparison says of it, and a hash of each of its cells."""

    id: str
    parents: tuple[str, ...]
    fact: str
    partition: str
    place: tuple[str, int]
    type: str
    text: str
    names: tuple[str, ...]
    hashes: bytes

    @classmethod
    def of(cls, row: Any) -> _OwnItem:
        """That of a row."""
        cells: Mapping[str, str] = row.payload.flat_cells()
        return cls(
            row.id, tuple(map(sys.intern, row.parents)), row.fact, sys.intern(row.partition),
            (sys.intern(row.origin.file), row.origin.line), sys.intern(str(getattr(row.payload, "type", ""))),
            cells.get("full-question") or next(iter(cells.values()), ""),
            _shared(tuple(cells)), b"".join(map(_hash, cells.values())),
        )  # fmt: skip

    def cells(self) -> dict[str, bytes]:
        """The hash of each cell."""
        starts = range(0, len(self.hashes), _HASH_BYTES)
        return {name: self.hashes[start : start + _HASH_BYTES] for name, start in zip(self.names, starts, strict=True)}


@cache
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same names, of which equal ones are one object."""
    return names


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()


def compare_builds(left: BuiltBenchmark, right: BuiltBenchmark) -> list[BenchmarkDifferences]:
    """The differences in each common task; DataError if a build is not finished, or there is no common task."""
    tasks = [task for task in left.items if task in right.items]
    if not tasks:
        raise DataError(
            "the two benchmarks have no task in common",
            next="compare builds of the same recipe",
            where=f"{display_path(left.folder)} and {display_path(right.folder)}",
            why=f"{', '.join(left.items)} against {', '.join(right.items)}",
        )
    keys = tuple(recipe_key_changes(left.recipe_yaml, right.recipe_yaml))
    return [_compare_task(task, left.lineage(task), right.lineage(task), keys) for task in tasks]


def _compare_task(task: str, left: Lineage, right: Lineage, keys: tuple[KeyChange, ...]) -> BenchmarkDifferences:
    removed, added = (list(map(_OwnItem.of, one.items_besides(two))) for one, two in ((left, right), (right, left)))
    why_removed = _causes_of_absence(removed, left, right)
    why_added = _causes_of_absence(added, right, left, later=True)
    pairs = _pair_items(removed, added)
    changes = [_item_change("changed", one, why_removed[one.id], other) for one, other in pairs]
    paired = {row.id for pair in pairs for row in pair}
    changes += [_item_change("removed", row, why_removed[row.id]) for row in removed if row.id not in paired]
    changes += [_item_change("added", row, why_added[row.id]) for row in added if row.id not in paired]
    return BenchmarkDifferences(task, left.count - len(removed), tuple(changes), keys)


def _pair_items(removed: Iterable[_OwnItem], added: Iterable[_OwnItem]) -> list[tuple[_OwnItem, _OwnItem]]:
    """Items that correspond: of one type, and of the same fact or the same line of a source."""
    pairs: list[tuple[_OwnItem, _OwnItem]] = []
    left = list(removed)
    waiting = {row.id: row for row in added}
    for key in (_fact_key, _origin_key):
        candidates: defaultdict[Any, list[_OwnItem]] = defaultdict(list)
        for row in waiting.values():
            candidates[key(row)].append(row)
        rest: list[_OwnItem] = []
        for row in left:
            if matches := candidates[key(row)]:
                pairs.append((row, match := matches.pop(0)))
                del waiting[match.id]
            else:
                rest.append(row)
        left = rest
    return pairs


def _fact_key(row: _OwnItem) -> tuple[str, str]:
    return row.fact, row.type


def _origin_key(row: _OwnItem) -> tuple[str, tuple[str, int], str]:
    return row.partition, row.place, row.type


def _item_change(
    sort: ChangeSort, row: _OwnItem, cause: tuple[ChangeCause, str, str], counterpart: _OwnItem | None = None
) -> ItemChange:
    why, step, detail = cause
    one, other = (row.id, "") if sort == "removed" else ("", row.id)
    fields: tuple[str, ...] = ()
    if counterpart is not None:
        one, other, now = row.id, counterpart.id, counterpart.cells()
        fields = tuple(name for name, cell in row.cells().items() if cell != now.get(name)) or ("evidence or lineage",)
    return ItemChange(sort, why, step, detail, row.partition, row.text, one, other, fields)


# --- causes


def _causes_of_absence(
    rows: list[_OwnItem], present: Lineage, absent: Lineage, *, later: bool = False
) -> dict[str, tuple[ChangeCause, str, str]]:
    """Where the line of each item of `present` ends in `absent`, and why; `later` if `present` is the second one."""
    rows_by_id = {row.id: row for row in rows}
    unexplained = {row.id: [row.id, *row.parents] for row in rows}
    ids = pa.array(sorted({name for ancestors in unexplained.values() for name in ancestors}), pa.string())
    causes: dict[str, tuple[ChangeCause, str, str]] = {}
    for step in present.steps:
        if not unexplained:
            break
        missing = present.rows_present(step, ids) - absent.rows_present(step, ids)
        broken = [name for name, ancestors in unexplained.items() if missing.intersection(ancestors)]
        references = {name: _references(rows_by_id[name]) for name in broken}
        wanted = {reference for names in references.values() for reference in names}
        drops = absent.drops(step, wanted) if broken and step in absent.steps else {}
        cause_of = cache(partial(_cause, step, present, absent, later=later))
        for name, own in references.items():
            del unexplained[name]
            causes[name] = cause_of(next((drops[reference] for reference in own if reference in drops), None))
    for name in unexplained:
        causes[name] = ("rule", present.items, "the steps make the same rows of it, but are wired differently")
    return causes


def _references(row: _OwnItem) -> list[str]:
    """How outcomes name an item, its ancestors and its line of a source."""
    return [row.id, *row.parents, "{}:{}".format(*row.place)]


def _cause(
    step: str, present: Lineage, absent: Lineage, drop: tuple[str, str] | None, *, later: bool
) -> tuple[ChangeCause, str, str]:
    """Why a step of `absent` did not make a row."""
    dropped = "" if drop is None else f"dropped there: {drop[0]}" + (f" ({drop[1]})" if drop[1] else "")
    if step not in absent.steps:
        cause: ChangeCause = "rule" if present.steps[step].inputs else "data"
        return cause, step, "there is no such step there" if cause == "rule" else "the source was not chosen there"
    for name in (step, *_upstream(step, present)):
        if name not in absent.steps or name not in present.steps:
            continue
        one, other = present.steps[name], absent.steps[name]
        difference = _own_difference(other, one) if later else _own_difference(one, other)
        if difference is not None:
            cause, text = difference
            text = text if name == step else f"{name}: {text}"
            return cause, step, "; ".join(filter(None, (dropped, text)))
    manifests = present.steps[step], absent.steps[step]
    if not manifests[0].inputs:
        return "data", step, dropped or "the line is missing there"
    if any(manifest.key_inputs.get("model.kind", '"none"') != '"none"' for manifest in manifests):
        return "model", step, "; ".join(filter(None, (dropped, "the model replied differently")))
    return "data", step, dropped or "its neighbours are other rows"


def _upstream(step: str, lineage: Lineage) -> list[str]:
    """The steps before `step`, the nearest first."""
    upstream: list[str] = []
    queue = list(lineage.steps[step].inputs)
    while queue:
        name = queue.pop(0)
        if name not in upstream and name in lineage.steps:
            upstream.append(name)
            queue += lineage.steps[name].inputs
    return upstream


def _own_difference(first: Manifest, second: Manifest) -> tuple[ChangeCause, str] | None:
    """How two manifests of a step differ in their own key inputs or in votes; ``None`` if they do not."""
    left, right = (_without_inputs(manifest.key_inputs) for manifest in (first, second))
    names = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    if names:
        changes = describe_key_changes(left, right)
        more = [f"{len(changes) - _MOST_LISTED} more"] if len(changes) > _MOST_LISTED else []
        return _cause_of(names, source=not first.inputs), "; ".join([*changes[:_MOST_LISTED], *more])
    if first.external_inputs != second.external_inputs:
        return "votes", "; ".join(describe_key_changes(first.external_inputs, second.external_inputs)[:_MOST_LISTED])
    return None


def _without_inputs(key_inputs: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in key_inputs.items() if not name.startswith("input ")}


def _cause_of(names: Collection[str], *, source: bool) -> ChangeCause:
    """The cause of differences in these parts of a key, the most important first."""
    if source:
        return "data"
    prefixes: tuple[tuple[ChangeCause, tuple[str, ...]], ...] = (
        ("model", _MODELS), ("prompt", _PROMPTS), ("votes", _VOTES), ("threshold", _THRESHOLDS),
    )  # fmt: skip
    for cause, starts in prefixes:
        if any(name.startswith(starts) for name in names):
            return cause
    return "rule"
