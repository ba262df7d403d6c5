"""The questions that a step gets, and the file in which a speaker states a few of each shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchbuilder.authoring.dry_run.run import rows_before
from benchbuilder.config import LoadedRecipe
from benchbuilder.core import LengthUnit, Problem, RecipeError, comparison_form, count_phrase
from benchbuilder.pipeline import Plan, Store, Watcher
from benchbuilder.steps import PAIR_COLUMNS, AskedFact, QuestionShape, StatementPair, StatePairsSpec, render_rows


def state_pairs_step(loaded: LoadedRecipe) -> tuple[str, StatePairsSpec]:
    """The step of a recipe that states questions by example, with its spec; RecipeError if there is none."""
    for name, spec in loaded.recipe.steps.items():
        if isinstance(spec, StatePairsSpec):
            if spec.pairs is None or spec.accepted is None:
                key = "pairs" if spec.pairs is None else "accepted"
                hint = f"set paths.{key}, for instance paths.{key}=../pairs/{loaded.recipe.name}.tsv"
                raise RecipeError([Problem("no file is named here", key=f"steps.{name}.{key}", hint=hint)])
            return name, spec
    hint = "`benchbuild new NAME --language xx --source questions:multiple_choice` makes a recipe with one"
    raise RecipeError([Problem("no step of this recipe states questions by example (kind state_pairs)",
                               where=f"recipe={loaded.recipe.name}", hint=hint)])  # fmt: skip


def asked_facts(plan: Plan, store: Store, step: str, watcher: Watcher) -> tuple[list[AskedFact], list[str]]:
    """The questions that a step gets, and the options of all of them; the steps before it are built."""
    spec: Any = plan.recipe.steps[step]
    facts: list[AskedFact] = []
    options: list[str] = []
    for row in rows_before(plan, store, step, watcher):
        fact: Any = row
        facts.append(AskedFact(row.id, spec.split(fact.payload.question)[1], fact.payload.answer))
        options += [option.text for option in fact.payload.options]
    return facts, options


def render_pairs(shapes: Iterable[QuestionShape], kept: Sequence[StatementPair], unit: LengthUnit, total: int) -> str:
    """The file of pairs: what is filled in already, then three questions of each shape with an empty statement."""
    known = {comparison_form(pair.question) for pair in kept}
    blocks = [("written by a speaker", [(pair.question, pair.answer, pair.statement) for pair in kept])] if kept else []
    for number, shape in enumerate(shapes, 1):
        share = round(100 * shape.count / max(total, 1))
        comment = f"shape {number}: {shape.text(unit)} | {count_phrase(shape.count, 'question')}, {share} %"
        rows = [
            (fact.question, fact.answer, "") for fact in shape.examples if comparison_form(fact.question) not in known
        ]
        blocks.append((comment, rows))
    return render_rows(PAIR_COLUMNS, blocks)
