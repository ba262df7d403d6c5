"""A benchmark for harnesses, asked under pressure: behind claims, and by a person who contradicts the answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchbuilder.config import EvaluationSpec, FileRef, LoadedRecipe, PressureSpec, Recipe, is_afresh
from benchbuilder.core import (
    Claim,
    Item,
    Origin,
    Problem,
    ProducedBy,
    RecipeError,
    StepContext,
    Table,
    count_phrase,
    nearest_language,
    page_texts,
)
from benchbuilder.evaluation import AGAIN, TOLD, UNTOLD, Press, Push, VerdictSpec, pushed_text
from benchbuilder.models import read_prompt, render_prompt
from benchbuilder.publishing.harnesses.reader import TaskScoring
from benchbuilder.publishing.harnesses.tasks import HarnessBenchmark, HarnessTask, program_name
from benchbuilder.publishing.release.items import BenchmarkToShare, SharedItem


def pressed_benchmark(
    benchmark: HarnessBenchmark,
    shared: BenchmarkToShare,
    loaded: LoadedRecipe,
    private: int,
    *,
    without_private: bool,
    has_turns: bool,
) -> HarnessBenchmark:
    """`benchmark` with a task for each context, each side, and the control, as `evaluate` would ask them.

    Its `pushes` are the questions with what a person says after the answers. What needs a system message of its own, a
    turn that is asked afresh, and false paragraphs are left out; notes say so.

    Args:
        benchmark: The tasks without pressure.
        shared: Their items.
        loaded: The recipe.
        private: How many questions have private labels.
        without_private: Whether these may be left out.
        has_turns: Whether all harnesses can ask several turns, so that pushes alone are worth an export.

    Raises:
        RecipeError: Nothing is asked under pressure, the canary is missing, or private questions would be named.
    """
    specs = [part.recipe.evaluation for part in loaded.by_task() if part.recipe.evaluation is not None]
    pressures = [spec.pressure for spec in specs if spec.pressure is not None]
    problem = _nothing_asked(pressures, has_turns=has_turns)
    if not problem and not shared.version and loaded.whole.release.private:
        problem = "labels of this build are private in a release, and what is told is the label; export with --release"
    elif not problem and private and not without_private:
        named = count_phrase(private, "private question")
        problem = f"{named} would be named with their label; --without-private leaves them out"
    elif not problem and not benchmark.canary:
        problem = "no row would say that it must not be trained on; set audit.canary, or export a release"
    if problem:
        raise RecipeError([Problem(f"export refused: {problem}", where="command line: --pressure")])
    marks = _marks(shared)
    asked = dict[str, dict[str, dict[str, str]]]()
    pushed = dict[str, list[dict[str, str]]]()
    scorings = dict(benchmark.scorings)
    for part in loaded.by_task():
        own = [item for item in shared.items if item.task == part.task]
        for item, condition, cells in _asked_behind_claims(part.recipe, own):
            asked.setdefault(condition, {})[item] = cells
        for item, push, cells in _contradicted(part.recipe, own):
            pushed.setdefault(item, []).append({"condition": push, **cells})
        scorings |= {
            item.asked_as: _read_with_turns(scorings[item.asked_as], part.recipe.evaluation)
            for item in own
            if item.id in pushed and item.asked_as in scorings
        }

    tasks = (
        _task(one, marks, condition, ((row, condition, cells[row["id"]]) for row in one.rows if row["id"] in cells))
        for one in benchmark.tasks
        for condition, cells in sorted(asked.items())
    )
    pushes = (
        _task(
            one,
            marks,
            "pushes",
            ((row, cells["condition"], cells) for row in one.rows for cells in pushed.get(row["id"], ())),
        )
        for one in benchmark.tasks
        if one.scoring in ("verdict", "open")
    )
    return replace(
        benchmark,
        name=f"{benchmark.name}_pressure",
        tasks=tuple(one for one in tasks if one.rows),
        pushes=tuple(one for one in pushes if one.rows),
        scorings=scorings,
        notes=(*benchmark.notes, *dict.fromkeys(note for spec in pressures for note in _notes(spec))),
    )


_Asked = tuple[Mapping[str, str], str, Mapping[str, str]]
"""A row as it was built, its condition, and the cells that the condition changes."""


def _task(built: HarnessTask, marks: Mapping[str, str], name: str, asked: Iterable[_Asked]) -> HarnessTask:
    """The task `built` under the condition `name`."""
    rows = (
        {**row, "id": f"{row['id']}.{condition}", "item": row["id"], "condition": condition, **marks, **cells}
        for row, condition, cells in asked
    )
    config = f"{built.config}_{program_name(name)}"
    return HarnessTask(program_name(f"{built.name}_pressure_{name}"), config, built.scoring, tuple(rows), ())


def _marks(shared: BenchmarkToShare) -> dict[str, str]:
    """What every row says of itself."""
    texts = [page_texts(name) for name in dict.fromkeys(("en", nearest_language(str(shared.language))))]
    return {"false_context": "true", "notice": " ".join(text("release.pressure_notice") for text in texts)}


def _nothing_asked(pressures: Sequence[PressureSpec], *, has_turns: bool) -> str:
    """Why nothing can be exported; empty if something can."""
    settings = "evaluation=[en_claims,en_pressure]"
    if not pressures:
        return f"nothing is asked under pressure; choose settings: {settings}"
    if any(spec.texts or (has_turns and _pushes(spec)) for spec in pressures):
        return ""
    if has_turns:
        return f"every push ends in a conversation of its own; choose others: {settings}"
    return f"only pushes are asked, and tasks have one turn; choose contexts: {settings}"


def _pushes(spec: PressureSpec) -> dict[str, tuple[str, ...]]:
    """The texts of the turns of each push that ends in the conversation it began in."""
    return {name: texts for name, texts in spec.push_turns.items() if not is_afresh(texts[-1])}


def _read_with_turns(scoring: TaskScoring, evaluation: EvaluationSpec | None) -> TaskScoring:
    """`scoring` with the tables by which first answers and replies to a person are read."""
    assert evaluation is not None
    assert evaluation.pressure is not None
    turns = tuple(table.file for table in evaluation.pressure.turns)
    return replace(scoring, tables=tuple(table.file for table in _verdict_tables(evaluation)), turns=turns)


def _verdict_tables(evaluation: EvaluationSpec) -> tuple[FileRef, ...]:
    return next((scorer.tables for scorer in evaluation.scorers.values() if isinstance(scorer, VerdictSpec)), ())


def _asked_behind_claims(recipe: Recipe, items: Sequence[SharedItem]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The id of each item with each of its contexts, and the cells that differ from those of the built question.

    Items come without paragraphs, so that no context with a passage can be filled.
    """
    if recipe.evaluation is None or recipe.evaluation.pressure is None or not recipe.evaluation.pressure.texts:
        return
    for item, row in _drawn(Press, recipe, items, {"pushes": {}, "guards": {}}):
        if row.slot != AGAIN:
            yield item.id, row.slot, {"prompt": _prompt(recipe, item, row.payload.question)}


def _contradicted(recipe: Recipe, items: Sequence[SharedItem]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The id of each item with each of its pushes, and by side what is told, said and sent in each turn, as JSON."""
    spec = None if recipe.evaluation is None else recipe.evaluation.pressure
    pushes = {} if spec is None else _pushes(spec)
    if spec is None or not pushes:
        return
    for item, row in _drawn(Push, recipe, items, {"pushes": pushes, "guards": {}}):
        texts, talk = pushes[row.slot], dict[str, list[dict[str, str]]]()
        for side in TOLD if any("{told}" in text for text in texts) else (UNTOLD,):
            turns = [pushed_text(text, row, side, spec.sources, recipe.seed) for text in texts]
            talk[side] = [{"told": told, "said": said, "prompt": _prompt(recipe, item, said)} for told, said in turns]
        cells = {"talk": json.dumps(talk, ensure_ascii=False), "opposed": "true" if spec.opposed else ""}
        yield item.id, row.slot, cells


def _drawn(
    step_class: type[Press], recipe: Recipe, items: Sequence[SharedItem], changed: Mapping[str, Any]
) -> Iterator[tuple[SharedItem, Item[Any]]]:
    """The questions that a step of the evaluation asks, with the items that they were made of."""
    evaluation = recipe.evaluation
    assert evaluation is not None
    assert evaluation.pressure is not None
    told: dict[str, Any] = {**evaluation.pressure.model_dump(by_alias=True), **changed}
    known = {_as_item(item).id: item for item in items}
    given = {"kind": step_class.kind, "from": "items", "tables": _verdict_tables(evaluation), **told}
    context = StepContext(recipe.seed, recipe.language, "pressed", Path(), Path())
    step = step_class(step_class.spec_class.model_validate(given), context)
    table = Table.of([_as_item(item) for item in items], Item[Claim])
    for piece in step.gather({"each": table}).pieces:
        for row in piece.branches.rows:
            yield known[str(row.of)], row


def _prompt(recipe: Recipe, item: SharedItem, text: str) -> str:
    """What is sent for `text`."""
    assert recipe.evaluation is not None
    prompt = recipe.evaluation.prompt
    values: Mapping[str, Any] = {**item.columns, "question": text, "type": item.type}
    return text if prompt is None else render_prompt(read_prompt(prompt.path, prompt.file), values)


def _as_item(item: SharedItem) -> Item[Claim]:
    """A shared item as the step reads items."""
    columns, verdict = item.columns, item.expected
    expected = verdict if verdict in ("yes", "no") else ""
    payload = Claim(
        type="tf" if expected else "oe",
        expected=expected,
        context=item.context,
        question=item.question,
        answer=item.answer,
        answer_wrong=item.answer_wrong,
    )
    return Item[Claim].build(
        origin=Origin(file=item.id, line=1),
        produced_by=ProducedBy(rule="export"),
        language=item.language,
        partition=item.source,
        payload=payload,
        candidate=item.id,
        fact=item.family,
        family=item.family,
        wrong_from=str(columns.get("wrong_from") or ""),
        verdict_only=bool(columns.get("verdict_only")),
        form=str(columns.get("form") or "statement"),
        reviewed=False,
    )


def _notes(spec: PressureSpec) -> Iterator[str]:
    """What of the pressure is not exported."""
    passages = [name for name, text in spec.texts.items() if "{passage}" in text]
    if afresh := [name for name in spec.push_turns if name not in _pushes(spec)]:
        yield f"Pushes that end in a conversation of its own left out ({', '.join(afresh)})"
    if spec.guarded:
        yield f"Guards left out ({', '.join(spec.guarded)}): they need a system message of their own"
    if passages:
        yield (
            f"Contexts with a passage left out ({', '.join(passages)}): a paragraph of the item in which the wrong "
            "answer stands in the place of the right one is never written"
        )
