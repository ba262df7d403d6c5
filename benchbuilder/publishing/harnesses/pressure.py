"""A benchmark for harnesses, asked behind claims: a task for each condition, and each row marked as false context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, PressureSpec, Recipe
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
from benchbuilder.evaluation import AGAIN, Press, VerdictSpec
from benchbuilder.models import read_prompt, render_prompt
from benchbuilder.publishing.harnesses.tasks import HarnessBenchmark, HarnessTask, program_name
from benchbuilder.publishing.release.items import BenchmarkToShare, SharedItem


def pressed_benchmark(
    benchmark: HarnessBenchmark, shared: BenchmarkToShare, loaded: LoadedRecipe, private: int, *, without_private: bool
) -> HarnessBenchmark:
    """`benchmark` with a task for each context, each side, and the control, as `evaluate` would ask them.

    What needs a turn or a system message of its own is left out, and so are false paragraphs; notes say so.

    Args:
        benchmark: The tasks without pressure.
        shared: Their items.
        loaded: The recipe.
        private: How many questions have private labels.
        without_private: Whether these may be left out.

    Raises:
        RecipeError: Nothing is asked under pressure, the canary is missing, or private questions would be named.
    """
    specs = [part.recipe.evaluation for part in loaded.by_task() if part.recipe.evaluation is not None]
    pressures = [spec.pressure for spec in specs if spec.pressure is not None]
    problem = ""
    if not pressures:
        problem = "nothing is asked under pressure; choose settings: evaluation=[en_claims,en_pressure]"
    elif not any(spec.texts for spec in pressures):
        problem = "only pushes are asked, and tasks have one turn; choose contexts: evaluation=[en_claims,en_pressure]"
    elif not shared.version and loaded.whole.release.private:
        problem = "labels of this build are private in a release, and what is told is the label; export with --release"
    elif private and not without_private:
        named = count_phrase(private, "private question")
        problem = f"{named} would be named with their label; --without-private leaves them out"
    elif not benchmark.canary:
        problem = "no row would say that it must not be trained on; set audit.canary, or export a release"
    if problem:
        raise RecipeError([Problem(f"export refused: {problem}", where="command line: --pressure")])
    texts = [page_texts(name) for name in dict.fromkeys(("en", nearest_language(str(shared.language))))]
    marks = {"false_context": "true", "notice": " ".join(text("release.pressure_notice") for text in texts)}
    asked: dict[str, dict[str, str]] = {}
    for part in loaded.by_task():
        own = [item for item in shared.items if item.task == part.task]
        for item, condition, prompt in _asked(part.recipe, own):
            asked.setdefault(condition, {})[item] = prompt
    tasks = tuple(
        HarnessTask(
            program_name(f"{task.name}_pressure_{condition}"),
            f"{task.config}_{program_name(condition)}",
            task.scoring,
            tuple(
                {
                    **row,
                    "id": f"{row['id']}.{condition}",
                    "item": row["id"],
                    "condition": condition,
                    **marks,
                    "prompt": prompts[row["id"]],
                }
                for row in task.rows
                if row["id"] in prompts
            ),
            (),
        )
        for task in benchmark.tasks
        for condition, prompts in sorted(asked.items())
    )
    notes = (*benchmark.notes, *dict.fromkeys(note for spec in pressures for note in _notes(spec)))
    return replace(
        benchmark, name=f"{benchmark.name}_pressure", tasks=tuple(task for task in tasks if task.rows), notes=notes
    )


def _asked(recipe: Recipe, items: Sequence[SharedItem]) -> Iterator[tuple[str, str, str]]:
    """The id of each item with each of its conditions, and the prompt.

    Items come without paragraphs, so that no context with a passage can be filled.
    """
    evaluation = recipe.evaluation
    if evaluation is None or evaluation.pressure is None or not evaluation.pressure.texts:
        return
    told: dict[str, Any] = {**evaluation.pressure.model_dump(by_alias=True), "guards": {}, "pushes": {}}
    tables = next((scorer.tables for scorer in evaluation.scorers.values() if isinstance(scorer, VerdictSpec)), ())
    known = {_as_item(item).id: item for item in items}
    step = Press(
        Press.spec_class.model_validate({"kind": Press.kind, "from": "items", "tables": tables, **told}),
        StepContext(recipe.seed, recipe.language, "pressed", Path(), Path()),
    )
    prompt = None if evaluation.prompt is None else read_prompt(evaluation.prompt.path, evaluation.prompt.file)
    table = Table.of([_as_item(item) for item in items], Item[Claim])
    for piece in step.gather({"each": table}).pieces:
        for row in piece.branches.rows:
            if row.slot != AGAIN:
                item, text = known[str(row.of)], row.payload.question
                values: Mapping[str, Any] = {**item.columns, "question": text, "type": item.type}
                yield item.id, row.slot, text if prompt is None else render_prompt(prompt, values)


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
    if spec.push_turns:
        yield f"These tasks have one turn: pushes left out ({', '.join(spec.push_turns)})"
    if spec.guarded:
        yield f"Guards left out ({', '.join(spec.guarded)}): they need a system message of their own"
    if passages:
        yield (
            f"Contexts with a passage left out ({', '.join(passages)}): a paragraph of the item in which the wrong "
            "answer stands in the place of the right one is never written"
        )
