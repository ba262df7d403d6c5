"""How two recipes differ, key by key, and two built benchmarks, item by item, each with its cause."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from benchbuilder.config import display_path
from benchbuilder.core import DataError, parse_plain_yaml
from benchbuilder.pipeline import Manifest, Store, describe_key_changes, filter_outcomes, outputs_match

ChangeSort = Literal["added", "removed", "changed"]
ChangeCause = Literal["data", "prompt", "rule", "model", "threshold", "votes"]

_PROMPTS = ("file prompt", "file system", "file pairs", "file repair")
_MODELS = ("model", "sampling", "version of model", "file model")
_VOTES = ("annotation.kind", "votes.kind", "file annotation.votes", "file votes")
_THRESHOLDS = ("annotation.keep", "annotation.min_evidence", "annotation.rule", "votes.keep", "votes.min_evidence",
               "votes.rule", "choose", "sample")  # fmt: skip
_MOST_LISTED = 3
"""The number of differences of a step that are listed for an item."""


# --- recipes


@dataclass(frozen=True)
class KeyChange:
    """A key of two resolved recipes with its value in each; ``None`` if a recipe does not have it."""

    key: str
    left: str | None
    right: str | None


def recipe_key_changes(left: str, right: str) -> list[KeyChange]:
    """Every key that differs in two resolved recipes (YAML text), in the order of the first.

    A list is one value, as it replaces another as a whole; so is everything below a key that only one recipe has.
    """
    return list(_key_changes(parse_plain_yaml(left), parse_plain_yaml(right), ""))


def _key_changes(left: Any, right: Any, key: str) -> Iterator[KeyChange]:
    if isinstance(left, dict) and isinstance(right, dict):
        sides: tuple[dict[Any, Any], dict[Any, Any]] = left, right
        for name in dict.fromkeys([*left, *right]):
            below = f"{key}.{name}" if key else str(name)
            if name in left and name in right:
                yield from _key_changes(left[name], right[name], below)
            else:
                yield KeyChange(below, *(_value_text(side[name]) if name in side else None for side in sides))
    elif left != right:
        yield KeyChange(key, _value_text(left), _value_text(right))


def _value_text(value: Any) -> str:
    text: str = yaml.safe_dump(value, allow_unicode=True, default_flow_style=True, width=10**6, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def file_changes(left: Mapping[str, Path], right: Mapping[str, Path]) -> dict[str, KeyChange | None]:
    """How the lines of files under the same key of two recipes differ; None if only their paths differ."""
    changes: dict[str, KeyChange | None] = {}
    for key in left.keys() & right.keys():
        if left[key] == right[key] or not (left[key].is_file() and right[key].is_file()):
            continue
        one, other = (Counter(path.read_bytes().splitlines()) for path in (left[key], right[key]))
        texts = (f"{display_path(path)} ({own.total()} lines of its own)"
                 for path, own in ((left[key], one - other), (right[key], other - one)))  # fmt: skip
        changes[key] = None if one == other else KeyChange(key, *texts)
    return changes


# --- benchmarks


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
            data: Mapping[str, Any] = parse_plain_yaml(self.recipe_yaml)
            tasks: Mapping[str, Any] = data.get("tasks") or {}
            self.items = {task: str(part["items"]) for task, part in tasks.items()} or {"": str(data["items"])}
        except (yaml.YAMLError, AttributeError, LookupError, TypeError) as error:
            raise DataError(
                f"{display_path(folder)} holds no benchmark", where=display_path(folder / "recipe.yaml"),
                why="it is not the recipe of a build", next="name the folder of a build, for instance builds/care_mi",
            ) from error  # fmt: skip

    def has_step(self, step: str) -> bool:
        """Whether the last build reached this step: the store may still hold rows of other overrides."""
        manifest = self.store.latest(step)
        return manifest is not None and outputs_match(self.folder, manifest)

    def lineage(self, task: str) -> Lineage:
        """The steps that lead to the items of a task."""
        return Lineage(self, self.items[task])


class Lineage:
    """The committed steps of a build that lead to its items, in flow order."""

    def __init__(self, built: BuiltBenchmark, items: str) -> None:
        self.store = built.store
        self.steps: dict[str, Manifest] = {}
        if built.has_step(items):
            self._add(items, "")
        if not built.store.steps.is_dir():
            raise DataError(
                f"{display_path(built.store.steps)} is missing", where=display_path(built.folder),
                why="the steps of this build were deleted, and a comparison reads them", next="build it again first",
            )  # fmt: skip
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
        for upstream, input_digest in manifest.inputs.items():
            self._add(upstream, input_digest)
        self.steps[name] = manifest

    @cached_property
    def rows(self) -> dict[str, Any]:
        """The items by id."""
        return {row.id: row for row in self.store.rows(self.steps[self.items])}

    def rows_present(self, step: str, ids: pa.Array[Any]) -> set[str]:
        """Which of `ids` are rows of a step; none if there is no such step."""
        if step not in self.steps:
            return set()
        column: Any = self.store.rows(self.steps[step]).arrow.column("id")
        return set(column.filter(pc.is_in(column, ids)).to_pylist())

    def drops(self, step: str) -> dict[str, tuple[str, str]]:
        """The reason and its detail of each row that a step dropped, by id; of a source by ``file:line``."""
        dropped = filter_outcomes(self.store.outcomes(self.steps[step]), outcome="dropped").to_pylist()
        return {line["row"] or f"{line['file']}:{line['line']}": (line["reason"], line["detail"]) for line in dropped}


def compare_builds(left: BuiltBenchmark, right: BuiltBenchmark) -> list[BenchmarkDifferences]:
    """The differences in each common task; DataError if a build is not finished, or there is no common task."""
    tasks = [task for task in left.items if task in right.items]
    if not tasks:
        raise DataError(
            "the two benchmarks have no task in common", next="compare builds of the same recipe",
            where=f"{display_path(left.folder)} and {display_path(right.folder)}",
            why=f"{', '.join(left.items)} against {', '.join(right.items)}",
        )  # fmt: skip
    keys = tuple(recipe_key_changes(left.recipe_yaml, right.recipe_yaml))
    return [_compare_task(task, left.lineage(task), right.lineage(task), keys) for task in tasks]


def _compare_task(task: str, left: Lineage, right: Lineage, keys: tuple[KeyChange, ...]) -> BenchmarkDifferences:
    removed = [row for name, row in left.rows.items() if name not in right.rows]
    added = [row for name, row in right.rows.items() if name not in left.rows]
    why_removed = _causes_of_absence(removed, left, right)
    why_added = _causes_of_absence(added, right, left, later=True)
    pairs = _pair_items(removed, added)
    changes = [_item_change("changed", one, why_removed[one.id], other) for one, other in pairs]
    paired = {row.id for pair in pairs for row in pair}
    changes += [_item_change("removed", row, why_removed[row.id]) for row in removed if row.id not in paired]
    changes += [_item_change("added", row, why_added[row.id]) for row in added if row.id not in paired]
    return BenchmarkDifferences(task, len(left.rows) - len(removed), tuple(changes), keys)


def _pair_items(removed: Iterable[Any], added: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Items that correspond: of one type, and of the same fact or the same line of a source."""
    pairs: list[tuple[Any, Any]] = []
    left = list(removed)
    waiting = {row.id: row for row in added}
    for key in (_fact_key, _origin_key):
        candidates: defaultdict[Any, list[Any]] = defaultdict(list)
        for row in waiting.values():
            candidates[key(row)].append(row)
        rest: list[Any] = []
        for row in left:
            if matches := candidates[key(row)]:
                pairs.append((row, match := matches.pop(0)))
                del waiting[match.id]
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
    """Where the line of each item of `present` ends in `absent`, and why; `later` if `present` is the second one."""
    unexplained = {row.id: [row.id, *row.parents] for row in rows}
    ids = pa.array(sorted({name for ancestors in unexplained.values() for name in ancestors}), pa.string())
    causes: dict[str, tuple[ChangeCause, str, str]] = {}
    for step in present.steps:
        if not unexplained:
            break
        missing = present.rows_present(step, ids) - absent.rows_present(step, ids)
        broken = [name for name, ancestors in unexplained.items() if missing.intersection(ancestors)]
        drops = absent.drops(step) if broken and step in absent.steps else {}
        for name in broken:
            row = present.rows[name]
            references = [*unexplained.pop(name), f"{row.origin.file}:{row.origin.line}"]
            drop = next((drops[reference] for reference in references if reference in drops), None)
            causes[name] = _cause(step, present, absent, drop, later=later)
    for name in unexplained:
        causes[name] = ("rule", present.items, "the steps make the same rows of it, but are wired differently")
    return causes


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
