"""Reads items, answers and scores of an evaluation by column and piece by piece; rows are never made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.config import BUILT_WORDING, EvaluationSpec, KindSpec, display_path, is_sample_file, sample_checksums
from benchbuilder.core import DataError, Floats, Item, Table, combined_column, find_kind, parse_json, schema_of
from benchbuilder.evaluation.analysis.answered import (
    AnalysisNote,
    AnsweredItems,
    AnsweringSystem,
    Bools,
    Codes,
    ItemColumns,
    Texts,
    WordedAnswers,
)
from benchbuilder.evaluation.claims.judge import ClaimsJudgeSpec
from benchbuilder.evaluation.plan import Evaluation
from benchbuilder.evaluation.results.page_spec import ResultsSpec
from benchbuilder.evaluation.results.run import VERDICT, WITHOUT_VERDICT, ScorerRole, SystemGroup
from benchbuilder.evaluation.solvers import ANSWER
from benchbuilder.evaluation.steps.press import ASKED_OTHERWISE
from benchbuilder.evaluation.steps.reword import REWORDED, wording_of
from benchbuilder.pipeline import Store, stored_table

_LAST = 9


class Measure(NamedTuple):
    """An aspect as one scorer scores it."""

    scorer: str
    aspect: str


@dataclass(frozen=True)
class ScorerChoice:
    """The measures that may count, by rank: 0 is the best.

    The verdict comes first. Then comes the first aspect of the results page: by people, by judges, by rules. Then come
    the aspects of other rules, and last a judge that compares words only. Claims say nothing of how hard an item is.
    """

    spec: EvaluationSpec
    wanted: Sequence[str] = ()

    def rank(self, measure: Measure) -> int | None:
        """The rank of a measure; None if it never counts."""
        if self.wanted:
            return self.wanted.index(measure.scorer) if measure.scorer in self.wanted else None
        if measure.aspect == VERDICT:
            return 0
        kind = self._kind(measure.scorer)
        if kind in ("similarity", "claims") or (kind == "set_answer" and measure.aspect != "set_recall"):
            return None
        others = self._aspects()
        if measure.aspect not in others:
            return 4
        if measure.aspect != others[0]:
            return None
        return {"ratings": 1, "judged": 2}.get(kind, _LAST if self.compares_words_only(measure.scorer) else 3)

    def compares_words_only(self, scorer: str) -> bool:
        """Whether a scorer is an untrained judge that compares words only."""
        judge = self.spec.judges.get(scorer.removeprefix("judge_"))
        if isinstance(judge, ClaimsJudgeSpec):
            return find_kind("verifier", judge.verifier.kind).load().by_rule
        return isinstance(judge, KindSpec) and judge.kind == "similarity"

    def role(self, scorer: str) -> ScorerRole:
        """Whether people, a judge or a rule scored."""
        if self._kind(scorer) == "ratings":
            return "people"
        return "judge" if scorer.removeprefix("judge_") in self.spec.judges else "rule"

    def _kind(self, scorer: str) -> str:
        if scorer in self.spec.scorers:
            return str(self.spec.scorers[scorer].kind)
        judge = scorer.removeprefix("judge_") in self.spec.judges
        return "judged" if judge and not self.compares_words_only(scorer) else "rule"

    def _aspects(self) -> tuple[str, ...]:
        outputs: Mapping[str, Any] = self.spec.outputs
        found = (output.aspects for output in outputs.values() if isinstance(output, ResultsSpec))
        return next(found, ("correctness",)) or ("correctness",)


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


def text_column(texts: Sequence[Any]) -> Texts:
    """A column of texts, of which equal ones are held once; a missing text is empty."""
    column, known = np.empty(len(texts), np.object_), dict[str, str]()
    column[:] = [known.setdefault(text, text) for text in ("" if text is None else str(text) for text in texts)]
    return column


def item_columns(items: Table[Item[Any]], built: Store) -> ItemColumns:
    """The columns of `items`; `built` is the store of the build, for relations and negations."""
    ids, facts, sources = items.ids(), items.column("fact"), items.column("partition")
    families = [family or fact or name for family, fact, name in zip(items.column("family"), facts, ids, strict=True)]
    options = _payload_column(items, "options")
    contexts, questions = _payload_column(items, "context"), _payload_column(items, "question")
    relations = _values(built, "fact[triple]", facts, "payload.relation")
    in_relation = [
        f"{source}: {relations[fact]}" if fact in relations else "" for source, fact in zip(sources, facts, strict=True)
    ]
    questions = [f"{context or ''}{question or ''}" for context, question in zip(contexts, questions, strict=True)]
    candidates = items.column("candidate")
    negations = _values(built, "candidate", candidates, "negated")
    return ItemColumns(
        ids=text_column(ids),
        sources=text_column(sources),
        types=text_column(_payload_column(items, "type")),
        forms=text_column(items.column("form")),
        families=family_codes(families),
        facts=text_column(facts),
        relations=text_column(in_relation),
        expected=text_column(_payload_column(items, "expected")),
        negated=np.array([bool(negations.get(name)) for name in candidates], np.bool_),
        questions=text_column(questions),
        answers=text_column(_payload_column(items, "answer")),
        wrong_answers=text_column(_payload_column(items, "answer_wrong")),
        options=tuple(tuple(option["key"] for option in listed or ()) for listed in options),
        keys=text_column(_payload_column(items, "answer_key")),
        scorers=text_column([""] * len(ids)),
        aspects=text_column([""] * len(ids)),
    )


def family_codes(families: Sequence[str]) -> Codes:
    """A code for each family, from 0 in the order in which families first occur."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(family, len(known)) for family in families], np.int64)


def _payload_column(items: Table[Item[Any]], name: str) -> list[Any]:
    """A field of the payload; ``None`` for each item if the payload has no such field."""
    payload: Any = schema_of(items.row).field("payload").type
    return items.column(f"payload.{name}") if payload.get_field_index(name) >= 0 else [None] * len(items)


def _values(built: Store, row: str, wanted: Sequence[str], name: str) -> dict[str, Any]:
    """A column of the rows of these ids, from every step that the build finished last; ids are hashes of contents."""
    ids, found = set(filter(None, wanted)), dict[str, Any]()
    for step in sorted(path.name for path in built.steps.glob("*") if path.is_dir()):
        manifest = built.latest(step)
        if manifest is not None and manifest.row == row and ids:
            among, head, *rest = pa.array(sorted(ids), pa.string()), *name.split(".")
            for piece in stored_table(built, manifest).batches(["id", name]):
                own = piece.filter(_compute.is_in(piece.column("id"), value_set=among))
                column: Any = own.column(head)
                for part in rest:
                    column = _compute.struct_field(column, part)
                found.update(zip(map(str, own.column("id").to_pylist()), column.to_pylist(), strict=True))
            ids -= found.keys()
    return found


def found_places(values: pa.ChunkedArray[Any], among: pa.Array[Any]) -> Codes:
    """The place of each value among others; -1 where it is not among them."""
    places: Any = _compute.index_in(values, value_set=among)
    return np.asarray(_compute.fill_null(places, -1).to_numpy(), np.int64)


def worded_answers(evaluation: Evaluation, found: AnsweredItems) -> WordedAnswers | None:
    """The answers in every wording of the models that have some; None if there are none.

    Args:
        evaluation: The planned evaluation.
        found: The answers to the items as they were built.
    """
    questions = next(iter(_tables(evaluation, REWORDED, "item")), None)
    if questions is None or not len(questions.ids()):
        return None
    known = found_places(questions.arrow.column("of"), pa.array(found.items.ids.tolist(), pa.string()))
    items = np.unique(known[known >= 0])
    item_of = np.where(known >= 0, np.searchsorted(items, known), -1)
    slots = [wording_of(slot) for slot in questions.column("slot")]
    names = list(dict.fromkeys(name for name, _ in slots))
    repeats = 1 + max(repeat for _, repeat in slots)
    shape = (1 + len(names), repeats, len(items))
    cells = np.array([[1 + names.index(name), repeat] for name, repeat in slots])
    scores: dict[str, Any] = {}
    without: dict[str, Any] = {}
    scorers = set[str]()
    places = pa.array(questions.ids(), pa.string())
    systems = {system.name: place for place, system in enumerate(found.systems)}
    for table in _tables(evaluation, f"{REWORDED}_", "score"):
        arrow = table.arrow.filter(_compute.equal(table.arrow.column("aspect"), VERDICT))
        at = found_places(arrow.column("item"), places)
        labels = _compute.is_in(arrow.column("label"), value_set=pa.array(WITHOUT_VERDICT)).to_numpy()
        values = np.where(labels, 0.0, np.asarray(arrow.column("value").to_numpy(), np.float64))
        scorers.update(map(str, arrow.column("scorer").to_pylist()))
        for row, model in enumerate(arrow.column("model").to_pylist()):
            if model in systems and at[row] >= 0 and item_of[at[row]] >= 0:
                own = scores.setdefault(model, np.full(shape, np.nan))
                cell = (*cells[at[row]], item_of[at[row]])
                own[cell] = values[row]
                without.setdefault(model, np.zeros(shape, np.bool_))[cell] = labels[row]
    if not scores:
        return None
    alike = np.isin(found.items.scorers[items].astype(np.str_), sorted(scorers))
    for model, own in scores.items():
        own[0, 0] = np.where(alike, found.scores[systems[model], items], np.nan)
        without[model][0, 0] = found.without[systems[model], items]
    texts = questions.column("payload.question")
    first = int(np.flatnonzero(item_of == 0)[0])
    of_first = {name: text for of, (name, _), text in zip(item_of, slots, texts, strict=True) if of == item_of[first]}
    return WordedAnswers(
        (BUILT_WORDING, *names), (str(found.items.questions[items[0]]), *(of_first[name] for name in names)),
        tuple(scores), text_column(list(found.items.ids[items])),
        family_codes([str(family) for family in found.items.families[items]]),
        np.array(list(scores.values())), np.array(list(without.values())),
    )  # fmt: skip


def _tables(evaluation: Evaluation, begin: str, row: str) -> Iterator[Table[Any]]:
    """The tables of steps whose names begin like this: those of the plan, else what an earlier run left."""
    store, planned = evaluation.store, evaluation.plan.nodes
    stored = {path.name for path in store.steps.glob(f"{begin}*") if path.is_dir()}
    for name in sorted(stored):
        manifest = store.manifest(name, planned[name].key) if name in planned else store.latest(name)
        if manifest is not None and manifest.row.partition("[")[0] == row:
            yield store.rows(manifest)


_NO_SETTINGS = ("input ", "name", "columns of its rows", "order of port", "kind version", "version of")
"""How parts of a key begin that say nothing of how a model was asked: the items, names in the recipe, versions."""
_MODEL = ("model.name", "model.base_url")


def tried_variants(store: Store) -> Mapping[str, int]:
    """In how many settings the model behind each name was asked in this folder, under whatever name; hosted models.

    Prompts and sampling count, and so does whatever else the key of the answers holds. Other items are no variant.
    """
    settings: defaultdict[tuple[str, ...], set[tuple[tuple[str, str], ...]]] = defaultdict(set)
    models: dict[str, tuple[str, ...]] = {}
    for path in sorted(store.steps.glob(f"{ANSWER}.*")):
        for manifest in store.manifests(path.name):
            parts = manifest.key_inputs
            if _MODEL[0] in parts:
                model = tuple(parts.get(name, "") for name in _MODEL)
                models[path.name.removeprefix(f"{ANSWER}.")] = model
                settings[model].add(
                    tuple(sorted((name, part) for name, part in parts.items() if not name.startswith(_NO_SETTINGS)))
                )
    return {name: len(settings[model]) for name, model in models.items()}
