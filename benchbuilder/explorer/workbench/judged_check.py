"""Checks judged rows without a build: the rows are those of the judgements, the rules those of the recipe as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchbuilder.config import LoadedRecipe, display_path
from benchbuilder.core import Problem, StepContext, create_from_spec
from benchbuilder.explorer.workbench.judged_rows import (
    JudgedResult,
    JudgedShare,
    judge_again,
    read_judged,
    row_of,
    share_of,
)
from benchbuilder.explorer.workbench.rule_files import judged_file, steps_with_rules
from benchbuilder.explorer.workbench.trial_bench import rule_outcomes, tried_row
from benchbuilder.steps import Map

_NAMED = 3


@dataclass(frozen=True)
class JudgedSet:
    """The judged rows of a step, in `file`, with what becomes of each under the rules of the recipe."""

    step: str
    file: Path
    results: tuple[JudgedResult, ...]

    @property
    def share(self) -> JudgedShare:
        """How many are as people want them."""
        return share_of(self.results)

    def problems(self) -> Iterator[Problem]:
        """A warning for good rows that are lost, and one for bad rows that are still made."""
        texts = {
            "broken": ("rows that were judged good are not made any more", "look at them: benchbuild view recipe=..."),
            "still_wrong": ("rows that were judged bad are still made", "change the rule that makes them"),
        }
        for verdict, (message, hint) in texts.items():
            found = [result.judged for result in self.results if result.verdict == verdict]
            if found:
                shown = "; ".join(f"{row.question} {row.answer}" for row in found[:_NAMED])
                more = f"; {len(found) - _NAMED} more" if len(found) > _NAMED else ""
                yield Problem(f"{len(found)} {message}", key=f"steps.{self.step}", where=display_path(self.file),
                              actual=shown + more, hint=hint)  # fmt: skip


def check_judged(loaded: LoadedRecipe) -> list[JudgedSet]:
    """The judged rows of every step that needs nothing but its row; DataError if a file of them is broken."""
    found: list[JudgedSet] = []
    recipe, nowhere = loaded.recipe, Path()
    for step, rules in steps_with_rules(loaded).items():
        rows = read_judged(judged_file(loaded, rules), step)
        if not rows:
            continue
        context = StepContext(seed=recipe.seed, language=recipe.language, step=step, cache=nowhere, workplace=nowhere)
        producer = create_from_spec("step", recipe.steps[step], context)
        needs_more = any(port.mode != "each" and not port.optional for port in producer.ports.values())
        if not isinstance(producer, Map) or needs_more:
            continue
        producer.open({})
        cls, opened = producer.ports["each"].row, producer
        results = judge_again(
            rows, lambda judged, opened=opened, cls=cls: tried_row(rule_outcomes(opened, row_of(judged, cls), {}))
        )
        found.append(JudgedSet(step, judged_file(loaded, rules), tuple(results)))
    return found
