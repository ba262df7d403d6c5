"""How two recipes differ, key by key, and two built benchmarks, item by item, each with its cause."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from benchbuilder.config import display_path
from benchbuilder.core import DataError
from benchbuilder.pipeline import Manifest, Store, describe_key_changes, outputs_match

ChangeSort = Literal["added", "removed", "changed"]
ChangeCause = Literal["data", "prompt", "rule", "model", "threshold", "votes"]

_PROMPTS = ("file prompt", "file system", "file pairs", "file repair")
_MODELS = ("model", "sampling", "version of model", "file model")
_VOTES = ("annotation.kind", "votes.kind", "file annotation.votes", "file votes")
_THRESHOLDS = ("annotation.keep", "annotation.min_evidence", "annotation.rule", "votes.keep", "votes.min_evidence",
               "votes.rule", "choose", "sample")  # fmt: skip
_MOST_LISTED = 3
"""Differences of a step that are told of an item."""


# --- recipes


@dataclass(frozen=True)
class KeyChange:
    """A key of resolved recipes with its value in each; ``None`` where a recipe does not have it."""

    key: str
    left: str | None
    right: str | None


def recipe_key_changes(left: str, right: str) -> list[KeyChange]:
    """Every key that is not the same in two resolved recipes (YAML text), in the order of the first.

    A list is one value, as it replaces another as a whole; so is all that stands below a key that only one has.
    """
    return list(_key_changes(yaml.safe_load(left), yaml.safe_load(right), ""))


def _key_changes(left: Any, right: Any, key: str) -> Iterator[KeyChange]:
    if isinstance(left, dict) and isinstance(right, dict):
        one: dict[Any, Any] = left
        other: dict[Any, Any] = right
        for name in dict.fromkeys([*one, *other]):
            below = f"{key}.{name}" if key else str(name)
            if name in one and name in other:
                yield from _key_changes(one[name], other[name], below)
            else:
                yield KeyChange(below, *(_value_text(side[name]) if name in side else None for side in (one, other)))
    elif left != right:
        yield KeyChange(key, _value_text(left), _value_text(right))


def _value_text(value: Any) -> str:
    text: str = yaml.safe_dump(value, allow_unicode=True, default_flow_style=True, width=10**6, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def file_changes(left: Mapping[str, Path], right: Mapping[str, Path]) -> dict[str, KeyChange | None]:
    """How the files that both recipes name under the same key differ in their lines; None if only in their place."""
    found: dict[str, KeyChange | None] = {}
    for key in left.keys() & right.keys():
        if left[key] == right[key] or not (left[key].is_file() and right[key].is_file()):
            continue
        one, other = (Counter(path.read_bytes().splitlines()) for path in (left[key], right[key]))
        told = [f"{display_path(path)} ({(mine - theirs).total()} lines of its own)"
                for path, mine, theirs in ((left[key], one, other), (right[key], other, one))]  # fmt: skip
        found[key] = None if one == other else KeyChange(key, *told)
    return found


# --- benchmarks


@dataclass(frozen=True)
class ItemChange:
    """An item that only one of two benchmarks has, or that reads otherwise in the second.

    `step` is the first step that made something else of what it comes from, `cause` what is the matter there, and
    `detail` says so in words. `fields` are those of the payload that changed.
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
    """What differs between two benchmarks; `same` items are in both."""

    task: str
    same: int
    changes: tuple[ItemChange, ...]
    recipe: tuple[KeyChange, ...]

    def counts(self) -> Counter[tuple[ChangeSort, ChangeCause]]:
        """How many items were added, removed or changed by what cause."""
        return Counter((one.sort, one.cause) for one in self.changes)


class BuiltBenchmark:
    """A benchmark that was built into `folder`; DataError if there is none."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, Store(folder)
        try:
            self.recipe_yaml = (folder / "recipe.yaml").read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise DataError(
                f"{display_path(folder)} holds no benchmark", where="command line", why="there is no recipe.yaml in it",
                next="name the folder of a build, for instance builds/care_mi, or a recipe",
            ) from error  # fmt: skip
        try:
            data: Mapping[str, Any] = yaml.safe_load(self.recipe_yaml)
            tasks: Mapping[str, Any] = data.get("tasks") or {}
            self.items = {task: str(said["items"]) for task, said in tasks.items()} or {"": str(data["items"])}
        except (yaml.YAMLError, AttributeError, LookupError, TypeError) as error:
            raise DataError(
                f"{display_path(folder)} holds no benchmark", where=display_path(folder / "recipe.yaml"),
                why="it is not the recipe of a build", next="name the folder of a build, for instance builds/care_mi",
            ) from error  # fmt: skip

    def has_step(self, step: str) -> bool:
        """Whether the last build came as far as this step: rows of earlier words may lie there still."""
        manifest = self.store.latest(step)
        return manifest is not None and outputs_match(self.folder, manifest)

    def lineage(self, task: str) -> Lineage:
        """The steps that lead to the items of a task."""
        return Lineage(self, self.items[task])


class Lineage:
    """The sealed steps of a build that lead to its items, in flow order."""

    def __init__(self, built: BuiltBenchmark, items: str) -> None:
        self.store = built.store
        self.steps: dict[str, Manifest] = {}
        if built.has_step(items):
            self._add(items, "")
        if items not in self.steps:
            raise DataError(
                f"{display_path(built.folder)} has no items yet", where=f"the step {items!r}",
                why="the build waits for people, or was stopped", next="build it to the end first",
            )  # fmt: skip
        self.items = items

    def _add(self, name: str, digest: str) -> None:
        manifest = self.store.latest(name)
        if name in self.steps or manifest is None or (digest and manifest.digest != digest):
            return
        for upstream, made in manifest.inputs.items():
            self._add(upstream, made)
        self.steps[name] = manifest

    @cached_property
    def rows(self) -> dict[str, Any]:
        """The items by id."""
        return {row.id: row for row in self.store.rows(self.steps[self.items])}

    def rows_present(self, step: str, ids: pa.Array[Any]) -> set[str]:
        """Which of `ids` are rows of a step; none if there is no such step."""
        if step not in self.steps:
            return set()
        column = self.store.rows(self.steps[step]).arrow.column("id")
        found: list[Any] = column.filter(pc.is_in(column, ids)).to_pylist()
        return set(found)

    def drops(self, step: str) -> dict[str, tuple[str, str]]:
        """The reason and its detail of each row that a step dropped, by id; of a source by ``file:line``."""
        outcomes = self.store.outcomes(self.steps[step])
        compute: Any = pc
        lost = outcomes.filter(compute.equal(outcomes.column("outcome"), "dropped")).to_pylist()
        return {one["row"] or f"{one['file']}:{one['line']}": (one["reason"], one["detail"]) for one in lost}


def compare_builds(left: BuiltBenchmark, right: BuiltBenchmark) -> list[BenchmarkDifferences]:
    """What differs, for each task that both have. DataError if a build is not done, or they share no task."""
    tasks = [task for task in left.items if task in right.items]
    if not tasks:
        raise DataError(
            "the two benchmarks have no task in common",
            where=f"{display_path(left.folder)} and {display_path(right.folder)}",
            why=f"{', '.join(left.items)} against {', '.join(right.items)}",
            next="compare builds of the same recipe",
        )
    keys = tuple(recipe_key_changes(left.recipe_yaml, right.recipe_yaml))
    return [_compare_task(task, left.lineage(task), right.lineage(task), keys) for task in tasks]


def _compare_task(task: str, left: Lineage, right: Lineage, keys: tuple[KeyChange, ...]) -> BenchmarkDifferences:
    gone = [row for name, row in left.rows.items() if name not in right.rows]
    new = [row for name, row in right.rows.items() if name not in left.rows]
    lost, won = _causes_of_absence(gone, left, right), _causes_of_absence(new, right, left, later=True)
    pairs = _pair_items(gone, new)
    found = [_item_change("changed", one, lost[one.id], other) for one, other in pairs]
    paired = {row.id for pair in pairs for row in pair}
    found += [_item_change("removed", row, lost[row.id]) for row in gone if row.id not in paired]
    found += [_item_change("added", row, won[row.id]) for row in new if row.id not in paired]
    return BenchmarkDifferences(task, len(left.rows) - len(gone), tuple(found), keys)


def _pair_items(removed: Iterable[Any], added: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Items that stand for each other: of the same fact and type, or of the same line of a source and type."""
    pairs: list[tuple[Any, Any]] = []
    left = list(removed)
    waiting = {row.id: row for row in added}
    for key in (_fact_key, _origin_key):
        found: defaultdict[Any, list[Any]] = defaultdict(list)
        for row in waiting.values():
            found[key(row)].append(row)
        rest: list[Any] = []
        for row in left:
            if twins := found[key(row)]:
                twin = twins.pop(0)
                pairs.append((row, twin))
                del waiting[twin.id]
            else:
                rest.append(row)
        left = rest
    return pairs


def _fact_key(row: Any) -> tuple[str, str]:
    return str(row.fact), str(getattr(row.payload, "type", ""))


def _origin_key(row: Any) -> tuple[str, str, int, str]:
    return row.partition, row.origin.file, row.origin.line, str(getattr(row.payload, "type", ""))


def _item_change(
    sort: ChangeSort, row: Any, cause: tuple[ChangeCause, str, str], counterpart: Any = None
) -> ItemChange:
    why, step, detail = cause
    cells: dict[str, str] = row.payload.flat_cells()
    text = cells.get("full-question") or next(iter(cells.values()), "")
    one, other = (row.id, "") if sort == "removed" else ("", row.id)
    fields: tuple[str, ...] = ()
    if counterpart is not None:
        one, other, now = row.id, counterpart.id, counterpart.payload.flat_cells()
        fields = tuple(name for name in cells if cells[name] != now.get(name)) or ("evidence or lineage",)
    return ItemChange(sort, why, step, detail, row.partition, text, one, other, fields)


# --- causes


def _causes_of_absence(
    rows: list[Any], present: Lineage, absent: Lineage, *, later: bool = False
) -> dict[str, tuple[ChangeCause, str, str]]:
    """For each item that is `present` and not `absent`, where its line broke off there, and why; `later` if `present`
    is the
    second benchmark."""
    line = {row.id: [row.id, *row.parents] for row in rows}
    ids = pa.array(sorted({one for ancestors in line.values() for one in ancestors}), pa.string())
    open_ = dict(line)
    found: dict[str, tuple[ChangeCause, str, str]] = {}
    for step in present.steps:
        if not open_:
            break
        mine, theirs = present.rows_present(step, ids), absent.rows_present(step, ids)
        missing = mine - theirs
        broken = [name for name, ancestors in open_.items() if missing.intersection(ancestors)]
        if not broken:
            continue
        drops = absent.drops(step) if step in absent.steps else {}
        for name in broken:
            row, ancestors = present.rows[name], open_.pop(name)
            places = [*ancestors, f"{row.origin.file}:{row.origin.line}"]
            drop = next((drops[place] for place in places if place in drops), None)
            found[name] = _cause(step, present, absent, drop, later=later)
    for name in open_:
        found[name] = ("rule", present.items, "the steps make the same of it, and wire it otherwise")
    return found


def _cause(
    step: str, present: Lineage, absent: Lineage, drop: tuple[str, str] | None, *, later: bool
) -> tuple[ChangeCause, str, str]:
    """Why a step made there no such row."""
    dropped = "" if drop is None else f"dropped there: {drop[0]}" + (f" ({drop[1]})" if drop[1] else "")
    if step not in absent.steps:
        cause: ChangeCause = "rule" if present.steps[step].inputs else "data"
        return cause, step, "there is no such step there" if cause == "rule" else "the source was not chosen there"
    for name in (step, *_upstream(step, present)):
        if name not in absent.steps or name not in present.steps:
            continue
        one, other = present.steps[name], absent.steps[name]
        cause_and_words = _own_difference(other, one) if later else _own_difference(one, other)
        if cause_and_words is not None:
            cause, words = cause_and_words
            said = words if name == step else f"{name}: {words}"
            return cause, step, "; ".join(filter(None, (dropped, said)))
    sealed = present.steps[step], absent.steps[step]
    if not sealed[0].inputs:
        return "data", step, dropped or "the line is not there"
    if any(map(_puts_prompts, sealed)):
        return "model", step, "; ".join(filter(None, (dropped, "the model replied otherwise")))
    return "data", step, dropped or "other rows stand beside it"


def _upstream(step: str, lineage: Lineage) -> list[str]:
    """The steps before `step`, the nearest first."""
    found: dict[str, None] = {}
    queue = list(lineage.steps[step].inputs)
    while queue:
        name = queue.pop(0)
        if name not in found and name in lineage.steps:
            found[name] = None
            queue += lineage.steps[name].inputs
    return list(found)


def _puts_prompts(manifest: Manifest) -> bool:
    return manifest.key_inputs.get("model.kind", '"none"') != '"none"'


def _own_difference(first: Manifest, second: Manifest) -> tuple[ChangeCause, str] | None:
    """How two seals of a step differ in what was asked, or in what people said; ``None`` if they do not."""
    left, right = (_without_inputs(manifest.key_inputs) for manifest in (first, second))
    names = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    if names:
        told = describe_key_changes(left, right)
        words = "; ".join(told[:_MOST_LISTED]) + (
            f"; {len(told) - _MOST_LISTED} more" if len(told) > _MOST_LISTED else ""
        )
        return _sort_of(names, source=not first.inputs), words
    if first.external_inputs != second.external_inputs:
        return "votes", "; ".join(describe_key_changes(first.external_inputs, second.external_inputs)[:_MOST_LISTED])
    return None


def _without_inputs(key_inputs: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in key_inputs.items() if not name.startswith("input ")}


def _sort_of(names: Iterable[str], *, source: bool) -> ChangeCause:
    """Under which cause differences of these parts of a key count, the weightiest first."""
    if source:
        return "data"
    kinds: tuple[tuple[ChangeCause, tuple[str, ...]], ...] = (
        ("model", _MODELS), ("prompt", _PROMPTS), ("votes", _VOTES), ("threshold", _THRESHOLDS),
    )  # fmt: skip
    given = list(names)
    for cause, starts in kinds:
        if any(name.startswith(starts) for name in given):
            return cause
    return "rule"
