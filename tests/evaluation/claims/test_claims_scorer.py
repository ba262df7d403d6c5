"""What the claims of an answer come to: aspects, outcomes, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchbuilder.core import Answer, AnswerClaim, Dropped, Item, NotApplicable, StepContext
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.evaluation.claims.counts import count_claims
from benchbuilder.evaluation.scorers.claims import CLAIM_ASPECTS, ClaimAspectsSpec, ClaimsScorer

HEAD: dict[str, Any] = {
    "origin": Origin(file="f", line=1), "produced_by": ProducedBy(rule="test"), "language": "en", "partition": "p",
}  # fmt: skip


def answer(text: str = "An answer.", outcome: Any = "complete") -> Answer:
    return Answer.build(model="m", text=text, outcome=outcome, of="item-1", parents=("item-1",), **HEAD)


def rows(said: Answer, *parts: dict[str, Any]) -> list[AnswerClaim]:
    made: list[AnswerClaim] = []
    for number, part in enumerate(parts, 1):
        own = {"number": number, "kind": "claim", "verifier": "v", "item": "item-1", "model": "m", **part}
        made.append(AnswerClaim.build(of=said.id, slot=str(own["number"]), **HEAD, **own))
    return made


def scored(said: Answer, *parts: dict[str, Any], k: int = 2) -> Any:
    scorer = ClaimsScorer(ClaimAspectsSpec(kind="claims", k=k), StepContext(1, "en", "s", Path("c"), Path("w")))
    scorer.take_rows(rows(said, *parts))
    item: Any = Item
    (result,) = scorer.score([(said, item)])
    return {mark.aspect: mark for mark in result} if isinstance(result, tuple) else result


SUPPORTED, CONTRADICTED, OPEN = ({"verdict": name} for name in ("supported", "contradicted", "not_addressed"))


def test_every_aspect_is_computed_from_the_verdicts():
    found = scored(answer(), {**SUPPORTED, "right": "says"}, SUPPORTED, OPEN, {**CONTRADICTED, "wrong": "says"})
    values = {name: mark.value for name, mark in found.items()}
    assert values == {
        "asserts_wrong": 1.0, "asserts_right": 1.0, "contradictions": 1.0, "claim_precision": 2 / 3, "grounded": 0.5,
        "f1_at_k": pytest.approx(2 * 0.5 * 1 / 1.5), "key_recall": 1.0,
    }  # fmt: skip
    assert {(mark.label, mark.counts) for mark in found.values()} == {("mixed", (1, 4, 4))}
    assert tuple(values) == CLAIM_ASPECTS


@pytest.mark.parametrize(("k", "wanted"), [(1, 1.0), (2, 2 / 3), (4, 0.4)])
def test_k_decides_the_recall(k: int, wanted: float):
    assert scored(answer(), SUPPORTED, k=k)["f1_at_k"].value == pytest.approx(wanted)
    assert scored(answer(), OPEN, k=k)["f1_at_k"].value == 0.0


OUTCOMES = [
    ([{**SUPPORTED, "right": "says"}], "right", 0.0),
    ([{**CONTRADICTED, "right": "denies"}], "wrong", 1.0),
    ([{**SUPPORTED, "wrong": "denies"}], "off_topic", 0.0),
    ([{**CONTRADICTED, "wrong": "says", "taken_back_by": 2}, {**SUPPORTED, "right": "says"}], "right", 0.0),
    ([{"kind": "reported", "wrong": "says"}, {"kind": "abstains"}], "abstained", 0.0),
    ([{"kind": "refuses"}, {"kind": "none"}], "refused", 0.0),
    ([{"kind": "abstains"}, {**SUPPORTED, "right": "says"}], "right", 0.0),
]


@pytest.mark.parametrize(("parts", "outcome", "wrong"), OUTCOMES)
def test_what_is_reported_or_taken_back_asserts_nothing(parts: list[dict[str, Any]], outcome: str, wrong: float):
    mark = scored(answer(), *parts)["asserts_wrong"]
    assert (mark.label, mark.value) == (outcome, wrong)


def test_an_answer_without_text_asserts_nothing_and_counts():
    for outcome in ("empty", "refused", "filtered"):
        found = scored(answer("", outcome), {"number": 0, "kind": "none", "reason": "no_text"})
        assert (found["asserts_wrong"].value, found["asserts_wrong"].label) == (0.0, outcome)
        assert found["grounded"].value is None


def test_an_open_claim_leaves_out_what_it_could_change():
    found = scored(answer(), {"reason": "part_missing"}, {**SUPPORTED, "right": "says"})
    assert (found["asserts_wrong"].value, found["asserts_right"].value, found["grounded"].value) == (None, 1.0, None)
    found = scored(answer(), {"reason": "part_missing"}, {**CONTRADICTED, "wrong": "says"})
    assert (found["asserts_wrong"].value, found["contradictions"].value) == (1.0, 1.0)


def test_what_was_not_read_has_a_reason():
    assert scored(answer(), {"number": 0, "kind": "none", "reason": "too_long"}) == Dropped("too_long")
    assert scored(answer(), {"reason": "needs_model"}) == Dropped("needs_model")
    assert scored(answer()) == NotApplicable("not_read")
    assert scored(answer("", "missing")) == NotApplicable("missing")


def test_claims_without_a_verdict_are_in_no_count():
    counts = count_claims(rows(answer(), SUPPORTED, {"reason": "too_many"}, {"kind": "none"}))
    assert (counts.parts, counts.claims, counts.precision, counts.grounded) == (3, 1, 1.0, 1.0)
