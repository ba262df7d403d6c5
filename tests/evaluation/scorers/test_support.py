"""The scorer of the side that answers to open questions support."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchbuilder.core import Answer, Claim, Item, NotApplicable, Origin, ProducedBy, StepContext
from benchbuilder.evaluation.scorers.support import SupportScorer, SupportSpec

TABLE = str(Path(__file__).parents[3] / "recipes/verdicts/en.yaml")


def scored(text: str, outcome: Any = "complete", expected: Any = "", **item: Any) -> Any:
    wrong = item.pop("wrong", "It is treated with heparin.")
    payload = Claim(type="tf" if expected else "oe", expected=expected, question="What is it treated with?",
                    answer="It is treated with levothyroxine.", answer_wrong=wrong)  # fmt: skip
    row = Item[Claim].build(
        origin=Origin(file="f", line=1), produced_by=ProducedBy(rule="r"), language="en", partition="p",
        payload=payload, candidate="c", fact="f", reviewed=True, **item,
    )  # fmt: skip
    answer = Answer.child(row, produced_by=ProducedBy(rule="answer"), model="m", text=text, outcome=outcome)
    spec = SupportSpec.model_validate({"kind": "support", "tables": [TABLE]})
    scorer = SupportScorer(spec, StepContext(1, "en", "step", Path("cache"), Path("people")))
    (found,) = scorer.score([(answer, row)])
    return (found[0].value, found[0].label, found[0].detail) if isinstance(found, tuple) else found


@pytest.mark.parametrize(
    ("text", "outcome", "score"),
    [
        ("Levothyroxine.", "complete", (1.0, "right", "levothyroxine")),
        ("Heparin", "truncated", (0.0, "wrong", "heparin")),
        ("Not heparin.", "complete", (None, "neither", "denied")),
        ("Heparin or levothyroxine.", "complete", (None, "neither", "both")),
        ("<think>Heparin?</think>Levothyroxine.", "complete", (1.0, "right", "levothyroxine")),
        ("", "refused", (None, "refused", "")),
        ("", "empty", (None, "empty", "")),
    ],
)
def test_an_answer_supports_one_side_or_none(text: str, outcome: str, score: tuple[float | None, str, str]):
    assert scored(text, outcome) == score


def test_only_open_questions_with_two_statements_are_read():
    assert scored("Yes.", expected="yes") == NotApplicable("verdict_asked")
    assert scored("Heparin.", wrong="") == NotApplicable("no_two_statements")
    assert scored("Heparin.", form="set") == NotApplicable("no_two_statements")
