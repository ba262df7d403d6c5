"""What claims find as one score: alone, in an evaluation, and with a verifier that asks a model."""

from __future__ import annotations

from typing import Any

import pytest
from claim_cases import DRUG, LISTS, TOWN, case_of

from benchbuilder.core import DataError, Dropped, create_from_spec
from benchbuilder.core.registry import find_kind
from benchbuilder.evaluation.claims.judge import ClaimsJudge
from benchbuilder.models import Reply

PROMPTS = LISTS.parents[1] / "prompts" / "en"
PROMPT = {"path": "en/verify_claims.j2", "resolved_path": str(PROMPTS / "verify_claims.j2")}
LEXICAL = {"kind": "lexical", "words": [str(LISTS / "en.yaml")]}
ASKING = {"kind": "prompted", "prompt": PROMPT, "model": {"kind": "openai", "name": "some"}, "repair_rounds": 0}


def judge(verifier: dict[str, Any], **more: Any) -> ClaimsJudge:
    def spec(slot: str, given: dict[str, Any]) -> Any:
        return find_kind(slot, given["kind"]).load().spec_class.model_validate(given)

    given = {**verifier, **more}
    if "model" in given:
        given["model"] = spec("model", given["model"])
    made = {"kind": "claims", "aspect": "correctness", "verifier": spec("verifier", given)}
    found = create_from_spec("judge", spec("judge", made))
    found.open(None)
    return found


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("Lindau is the capital.", 1.0),
        ("Lindau is the capital. Morbach lies on the river.", 0.5),
        ("Lindau and Morbach are the capital of the province.", 0.5),
        ("Morbach is the capital.", 0.0),
        ("Morbach is the largest port of the province.", 0.0),
        ("I am not sure.", 0.0),
    ],
)
def test_the_score_is_what_the_claims_assert(answer: str, score: float):
    assert judge(LEXICAL).score([case_of(TOWN, answer)]) == [score]


def test_an_answer_that_is_not_read_has_no_score():
    long = case_of(DRUG, "Give penicillin. " * 20)
    for more, reason in (({"longest": 100}, "too_long"), ({"most": 3}, "too_many")):
        with pytest.raises(StopIteration) as ended:
            next(judge(LEXICAL, **more).converse(long))
        assert isinstance(ended.value.value, Dropped)
        assert ended.value.value.reason == reason
        with pytest.raises(DataError, match="cannot be read"):
            judge(LEXICAL, **more).score([long])


def test_items_of_other_types_are_not_read():
    assert [judge(LEXICAL).reads(type) for type in ("oe", "", "tf")] == [True, True, False]
    assert judge(LEXICAL, types=["tf"]).reads("tf")


def test_a_verifier_that_asks_makes_a_judge_that_asks():
    asking = judge(ASKING)
    assert (asking.model_spec is not None, asking.lacks_model, judge(LEXICAL).lacks_model) == (True, False, False)
    assert judge({**ASKING, "model": {"kind": "none"}}).lacks_model
    conversation = asking.converse(case_of(TOWN, "Lindau is the capital."))
    assert "[1] Lindau is the capital." in next(conversation).messages[-1].content
    with pytest.raises(StopIteration) as ended:
        conversation.send(Reply("no object", "complete"))
    assert ended.value.value == Dropped("reply_malformed")
    with pytest.raises(TypeError, match="conversations"):
        asking.score([case_of(TOWN, "Lindau is the capital.")])
