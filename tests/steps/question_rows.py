"""Questions with answers for the tests of the steps that work on them, and the bundled rules for wrong answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from claim_rows import PROMPTS, RECIPES

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.answered import QuestionAnswer
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Fact
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.steps.wrong_answers import WrongAnswers

FACT = Fact[QuestionAnswer]


def question(text: str, *answers: str, line: int = 1, partition: str = "reader", **more: Any) -> Any:
    """A question with the answers that are known to be right."""
    return FACT.build(
        payload=QuestionAnswer(question=text, answers=answers, **more),
        origin=Origin(file="questions.json", line=line),
        produced_by=ProducedBy(rule="reader"),
        language="en",
        partition=partition,
    )


def wrong_rules(language: str = "en") -> dict[str, Any]:
    """The bundled rules of a language."""
    rules = yaml.safe_load((RECIPES / "rules" / f"{language}_reading.yaml").read_text("utf-8"))["wrong_answers"]
    for name in ("prompt", "check", "system"):
        rules[name] = {"path": rules[name], "resolved_path": str(PROMPTS / rules[name])}
    return rules


def wrong_step(folder: Path, facts: list[Any], passages: list[Any] | None = None, **spec: Any) -> Any:
    """The opened step over `facts`, which also lend and are known."""
    table = Table.of(facts, FACT)
    lookups: dict[str, Table[Any]] = {"pool": table, "known": table}
    if passages is not None:
        lookups["passages"] = Table.of(passages, Passage)
    context = StepContext(seed=1, language="en", step="wrong", cache=folder, workplace=folder)
    given = {"kind": "wrong_answers", "from": "rows", **wrong_rules(), **spec}
    step = WrongAnswers(WrongAnswers.spec_class.model_validate(given), context)
    step.open(lookups)
    return step
