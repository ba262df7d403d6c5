"""Reads the answers and scores of an evaluation by column and piece by piece; rows are never made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.config import display_path, is_sample_file, sample_checksums
from benchbuilder.core import DataError, Floats, Item, Table, combined_column, parse_json
from benchbuilder.evaluation.analysis.answered import (
    AnalysisNote,
    AnsweredItems,
    AnsweringSystem,
    Bools,
    Codes,
    ItemColumns,
)
from benchbuilder.evaluation.analysis.read_items import found_places, item_columns
from benchbuilder.evaluation.analysis.read_wordings import worded_answers
from benchbuilder.evaluation.analysis.scorer_choice import Measure, ScorerChoice
from benchbuilder.evaluation.analysis.variants import tried_variants
from benchbuilder.evaluation.plan import Evaluation
from benchbuilder.evaluation.results.run import WITHOUT_VERDICT, SystemGroup
from benchbuilder.evaluation.solvers import ANSWER
from benchbuilder.evaluation.steps.press import ASKED_OTHERWISE
from benchbuilder.pipeline import Store, stored_table

_GROUPS: tuple[SystemGroup, ...] = ("model", "people", "rule")
_NEARER = "_difference"
"""How the aspects end that say which of two statements an answer is nearer to."""
_compute: Any = pc


@dataclass(frozen=True)
class _ScorerMarks:
    """What one scorer says in one aspect of the answers of one system; nan where it says nothing."""

    values: Floats
    without: Bools
    chosen: Codes

    @classmethod
    def empty(cls, count: int) -> _ScorerMarks:
        """It says nothing of so many items."""
        return cls(np.full(count, np.nan), np.zeros(count, np.bool_), np.full(count, -1))


_MARKED = ("scorer", "aspect", "model")
"""What tells apart the scores of a table."""
_AllMarks = Mapping[Measure, Mapping[str, _ScorerMarks]]


def answered_items(evaluation: Evaluation, built: Store, scores: Sequence[str] = ()) -> AnsweredItems:
    """All answers to the items of an evaluation that its folder holds, by column.

    Answers of models that the recipe no longer asks count too: they name their items by a hash of the content.

    Args:
        evaluation: The planned evaluation, with nobody to ask.
        built: The store of the build, for what it knows of facts and questions.
        scores: The scorers that count, the best first; see `AnalysisSpec`.

    Raises:
        DataError: There are no answers yet, or none of them has a score that counts.
    """
    items, tables = evaluated_items(evaluation), list(_answer_tables(evaluation))
    if not tables:
        raise _nothing(evaluation, "there are no answers to analyse", "no model has answered yet")
    columns, places = item_columns(items, built), _ids(items)
    systems, missing = _systems(evaluation, tables, places)
    marks: dict[Measure, dict[str, _ScorerMarks]] = {}
    for table, _ in tables:
        if table.row.name == "score":
            for measure, system, found in _marks_of(table, places, columns):
                marks.setdefault(measure, {})[system] = found
    choice = ScorerChoice(evaluation.spec, tuple(scores))
    found = _assembled(evaluation, systems, columns, marks, choice)
    if missing.any():
        found = replace(found, scores=np.where(missing, np.nan, found.scores), without=found.without & ~missing)
    if not found.asked.any():
        known = ", ".join(sorted({measure.scorer for measure in marks})) or "none"
        raise _nothing(evaluation, "no answer has a score that counts", f"there are scores of {known}")
    return replace(found, notes=_notes(found, choice, evaluation.store), worded=worded_answers(evaluation, found))


def evaluated_items(evaluation: Evaluation) -> Table[Item[Any]]:
    """The items that were asked; DataError if nobody was asked yet."""
    plan = evaluation.plan
    manifest = evaluation.store.manifest(plan.recipe.items, plan.nodes[plan.recipe.items].key)
    if manifest is None:
        raise _nothing(evaluation, "there are no answers to analyse", "these items were not evaluated yet")
    return stored_table(evaluation.store, manifest)


def _nothing(evaluation: Evaluation, message: str, why: str) -> DataError:
    return DataError(
        message, where=display_path(evaluation.store.folder), why=why,
        next="evaluate first (the same command with `evaluate` in place of `analyse`)",
    )  # fmt: skip


def _ids(items: Table[Any]) -> pa.Array[Any]:
    return pa.array(items.ids(), pa.string())


def _answer_tables(evaluation: Evaluation) -> Iterator[tuple[Table[Any], bool]]:
    """The tables of answers and scores, those of the plan first, and whether each is of an earlier run."""
    store, planned = evaluation.store, evaluation.plan.nodes
    seen = set[str]()
    for name, node in planned.items():
        if name.startswith(ASKED_OTHERWISE):
            continue
        manifest = store.manifest(name, node.key) if node.row.name in ("answer", "score") else None
        if manifest is not None:
            seen.add(name)
            yield stored_table(store, manifest), False
    for name in sorted(path.name for path in store.steps.glob("*.*") if path.is_dir()):
        known = name in planned or name in seen or name.startswith(ASKED_OTHERWISE)
        manifest = None if known else store.latest(name)
        if manifest is not None and manifest.row in ("answer", "score"):
            yield stored_table(store, manifest), True


def _systems(
    evaluation: Evaluation, tables: Sequence[tuple[Table[Any], bool]], places: pa.Array[Any]
) -> tuple[tuple[AnsweringSystem, ...], Bools]:
    """Who answered, and which answers are missing."""
    found: dict[str, AnsweringSystem] = {}
    missing: dict[str, Bools] = {}
    for table, earlier in tables:
        if table.row.name != "answer":
            continue
        for piece in table.batches(["model", "outcome", "parents"]):
            for name in map(str, _compute.unique(piece.column("model")).to_pylist()):
                found.setdefault(name, _system(evaluation, name, earlier=earlier))
            lost = piece.filter(_compute.equal(piece.column("outcome"), "missing"))
            for name, place in _lost_items(lost, places):
                missing.setdefault(name, np.zeros(len(places), np.bool_))[place] = True
    systems = tuple(sorted(found.values(), key=lambda system: _GROUPS.index(system.group)))
    nothing, variants = np.zeros(len(places), np.bool_), tried_variants(evaluation.store)
    systems = tuple(replace(system, variants=variants.get(system.name)) for system in systems)
    return systems, np.array([missing.get(system.name, nothing) for system in systems])


def _lost_items(lost: pa.Table, places: pa.Array[Any]) -> Iterator[tuple[str, int]]:
    """The model of each missing answer, and the place of its item: the first of its parents that is one."""
    parents: Any = combined_column(lost, "parents")
    at = found_places(pa.chunked_array([_compute.list_flatten(parents)]), places)
    known = np.flatnonzero(at >= 0)
    owners, first = np.unique(np.asarray(_compute.list_parent_indices(parents))[known], return_index=True)
    models = [str(name) for name in lost.column("model").to_pylist()]
    for owner, place in zip(owners.tolist(), at[known[first]].tolist(), strict=True):
        yield models[owner], place


def _system(evaluation: Evaluation, name: str, *, earlier: bool) -> AnsweringSystem:
    if earlier:
        return _earlier_system(evaluation.store, name)
    baseline: Any = evaluation.spec.baselines.get(name)
    step: Any = evaluation.plan.recipe.steps.get(f"answer.{name}")
    rule: Any = getattr(step, "baseline", None)
    kind = str(getattr(rule, "kind", ""))
    group: SystemGroup = "model" if baseline is None else "people" if kind == "people" else "rule"
    file: Any = getattr(rule, "file", None) if kind in ("recorded", "people") else None
    label = str(rule.model) if kind == "recorded" else ""
    return AnsweringSystem(name, group, label, file is not None and is_sample_file(file.file))


def _earlier_system(store: Store, name: str) -> AnsweringSystem:
    """A system of an earlier run, by what the key of its answers says."""
    manifest = store.latest(f"{ANSWER}.{name}")
    parts = {} if manifest is None else manifest.key_inputs
    kind = parts.get("baseline: baseline kind", "recorded")
    group: SystemGroup = "model" if kind == "recorded" else "people" if kind == "people" else "rule"
    label = str(parse_json(parts.get("baseline.model", '""')))
    return AnsweringSystem(name, group, label, _reads_sample(store, f"{ANSWER}.{name}"), earlier=True)


def systems_of_sample(store: Store, step: str, systems: Iterable[str]) -> tuple[str, ...]:
    """Those of `systems` for which `step` read a file that came with a sample: what it holds is made up."""
    return tuple(name for name in systems if _reads_sample(store, f"{step}.{name}"))


def _reads_sample(store: Store, step: str) -> bool:
    """Whether a step read answers or ratings that came with a sample; other scorers only compare with their files."""
    manifest = store.latest(step)
    parts = {} if manifest is None else manifest.key_inputs
    return parts.get("scorer: scorer kind", "ratings") == "ratings" and any(
        name.startswith("file ") and part in sample_checksums() for name, part in parts.items()
    )


def _marks_of(
    table: Table[Any], places: pa.Array[Any], columns: ItemColumns
) -> Iterator[tuple[Measure, str, _ScorerMarks]]:
    """The scores of a table by measure and system."""
    found: dict[tuple[str, str, str], _ScorerMarks] = {}
    count, with_options = len(places), any(columns.options)
    for piece in table.batches([*_MARKED, "item", "value", "label", *(["detail"] if with_options else [])]):
        names = [combined_column(piece, name).dictionary_encode() for name in _MARKED]
        codes = np.stack([np.asarray(name.indices.to_numpy(), np.int64) for name in names])
        kinds, kind_of = np.unique(codes, axis=1, return_inverse=True)
        at = found_places(piece.column("item"), places)
        values = np.asarray(piece.column("value").to_numpy(), np.float64)
        label: Any = piece.column("label")
        without = np.asarray(_compute.is_in(label, value_set=pa.array(WITHOUT_VERDICT)).to_numpy(), np.bool_)
        values = np.where(without & np.isnan(values), 0.0, values)
        details: list[Any] = piece.column("detail").to_pylist() if with_options else []
        for kind in range(kinds.shape[1]):
            scorer, aspect, model = (
                str(name.dictionary[int(code)]) for name, code in zip(names, kinds[:, kind], strict=True)
            )
            rows = np.flatnonzero((kind_of.reshape(-1) == kind) & (at >= 0))
            marks = found.setdefault((scorer, aspect, model), _ScorerMarks.empty(count))
            marks.values[at[rows]], marks.without[at[rows]] = values[rows], without[rows]
            for row in rows.tolist() if with_options else ():
                keys, key = columns.options[at[row]], str(details[row])
                marks.chosen[at[row]] = keys.index(key) if key in keys else -1
    for (scorer, aspect, model), marks in found.items():
        yield Measure(scorer, aspect), model, marks


def _assembled(
    evaluation: Evaluation, systems: tuple[AnsweringSystem, ...], columns: ItemColumns, marks: _AllMarks,
    choice: ScorerChoice,
) -> AnsweredItems:  # fmt: skip
    """For each item the scores of the one scorer that scored the most models, of equals the best."""
    shape = (len(systems), len(columns))
    ranked = sorted((rank, measure) for measure in marks if (rank := choice.rank(measure)) is not None)
    models = np.array([system.group == "model" for system in systems], np.bool_)
    scores, without, chosen = np.full(shape, np.nan), np.zeros(shape, np.bool_), np.full(shape, -1)
    most, (scorers, aspects) = np.full(shape[1], -1), np.full((2, shape[1]), "", np.object_)
    for _, measure in ranked:
        values = _stacked(systems, {name: one.values for name, one in marks[measure].items()}, np.nan, shape)
        answered = ~np.isnan(values)
        count = np.where(answered.any(axis=0), answered[models].sum(axis=0), -1)
        better = count > most
        most[better], scorers[better], aspects[better] = count[better], *measure
        scores[:, better] = values[:, better]
        for target, name, empty in ((without, "without", False), (chosen, "chosen", -1)):
            rows = {system: getattr(one, name) for system, one in marks[measure].items()}
            target[:, better] = _stacked(systems, rows, empty, shape)[:, better]
    return AnsweredItems(
        task=evaluation.task, systems=systems, items=replace(columns, scorers=scorers, aspects=aspects),
        scores=scores, without=without, said_wrong=_said_wrong(systems, columns, marks, scores), chosen=chosen,
        illustrative=evaluation.plan.recipe.card.illustrative,
    )  # fmt: skip


def _stacked(systems: Sequence[AnsweringSystem], rows: Mapping[str, Any], empty: float, shape: tuple[int, int]) -> Any:
    """One row for each system; `empty` for those without."""
    kind = next((row.dtype for row in rows.values()), np.float64)
    stacked = np.full(shape, empty, kind)
    for place, system in enumerate(systems):
        if system.name in rows:
            stacked[place] = rows[system.name]
    return stacked


def _said_wrong(systems: Sequence[AnsweringSystem], columns: ItemColumns, marks: _AllMarks, scores: Floats) -> Floats:
    """Whether an answer to an open question is scored low and is nearer in words to the wrong answer."""
    measure = next((one for one in sorted(marks) if one.aspect.endswith(_NEARER)), None)
    open_question = (columns.expected == "") & (columns.wrong_answers != "")
    shape = (len(systems), len(columns))
    if measure is None or not open_question.any():
        return np.full(shape, np.nan)
    nearer = _stacked(systems, {name: one.values for name, one in marks[measure].items()}, np.nan, shape)
    known = open_question & ~np.isnan(nearer) & ~np.isnan(scores)
    return np.where(known, (scores < 0.5) & (nearer < 0.5), np.nan)


def _notes(found: AnsweredItems, choice: ScorerChoice, store: Store) -> tuple[AnalysisNote, ...]:
    """What the figures rest on."""
    notes: list[AnalysisNote] = []
    if found.invented:
        notes.append(AnalysisNote("analysis.invented", {"n": len(found.invented), "names": ", ".join(found.invented)}))
    used = Counter(str(scorer) for scorer in found.models_only().items.scorers)
    for scorer, count in used.items():
        if any(_reads_sample(store, f"{scorer}.{one.name}") for one in found.systems):
            notes.append(AnalysisNote("analysis.invented_ratings", {"n": count}))
        if choice.compares_words_only(scorer):
            notes.append(AnalysisNote("analysis.words_only", {"n": count, "scorer": scorer}))
    former = [system.display_name for system in found.systems if system.earlier]
    if former:
        notes.append(AnalysisNote("analysis.earlier", {"n": len(former), "names": ", ".join(former)}))
    unscored = len(found.items) - int(found.asked.any(axis=0).sum())
    if unscored:
        notes.append(AnalysisNote("analysis.unscored", {"n": unscored}))
    return tuple(notes)
