"""Procedures: which are read, and the questions about the order of their steps."""

from __future__ import annotations

import pytest
from claim_rows import envelope, make
from pydantic import ValidationError

from benchbuilder.core import Fact, NotApplicable, Procedure

STEPS = ("Boil water.", "Add the leaves.", "Wait.", "Pour.")


def fact(*steps, line=1):
    return Fact[Procedure].build(payload=Procedure(title="Tea", steps=steps), **envelope(line, "recipes"))


def test_yes_no_questions_follow_the_order_of_the_steps():
    found = set()
    for seed in range(5):
        step = make("order_claims", {"sentence": "{title}: is “{a}” before “{b}”?"}, seed=seed)
        outcomes = step.map(fact(*STEPS), {})
        assert len(outcomes) == 3
        for outcome in outcomes:
            claim = outcome.row.payload
            a, b = (part for part in claim.text.split("“")[1:])
            first, second = (STEPS.index(part.split("”")[0]) for part in (a, b))
            assert claim.label == ("true" if first < second else "false")
            assert claim.asked
            found.add(claim.label)
        assert {outcome.row.payload.label for outcome in outcomes} == {"true", "false"}
    assert found == {"true", "false"}


def test_the_title_is_the_context_unless_the_sentence_has_it():
    for sentence, context in (("Is “{a}” before “{b}”?", "Tea"), ("{title}: is “{a}” before “{b}”?", "")):
        assert {
            one.row.payload.premise for one in make("order_claims", {"sentence": sentence}).map(fact(*STEPS), {})
        } == {context}
    made = make("order_questions", {"sentence": "What comes right after “{a}”?"}).map(fact(*STEPS), {})
    assert {one.row.payload.context for one in made} == {"Tea"}


@pytest.mark.parametrize("kind", ["order_claims", "order_questions"])
def test_without_a_sentence_nothing_is_asked_and_check_says_so(kind):
    step = make(kind, {"sentence": ""})
    assert step.map(fact(*STEPS), {}) == [NotApplicable("no_sentence", "0")]
    [remark] = step.remarks()
    assert "forms.comes_before" in remark.message


def test_wrong_next_steps_are_not_next_to_the_step():
    step = make("order_questions", {"sentence": "What comes right after “{a}”?"})
    for outcome in step.map(fact(*STEPS), {}):
        payload = outcome.row.payload
        place = next(at for at, text in enumerate(STEPS) if text in payload.question)
        assert payload.answers == (STEPS[place + 1],)
        assert payload.wrong == tuple(text for at, text in enumerate(STEPS) if abs(at - place) > 1)
    assert step.map(fact(*STEPS[:2]), {}) == [NotApplicable("no_other_step", "0")]
    with pytest.raises(ValidationError, match="must stand in it"):
        make("order_questions", {"sentence": "What is next?"})
