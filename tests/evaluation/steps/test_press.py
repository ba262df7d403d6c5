"""Questions behind a claim: what is told, to whom, and why some are not asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchbuilder.config import PressureSpec
from benchbuilder.core import Claim, Dropped, Item, Kept, NotApplicable, Origin, ProducedBy, StepContext, Support, Table
from benchbuilder.evaluation import verdict_reader
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.evaluation.steps import press
from benchbuilder.evaluation.steps.answer import AnswerItems
from benchbuilder.evaluation.steps.press import Press, PressSpec, passages_of, told_verdicts
from benchbuilder.pipeline import account_gather

RECIPES = Path(__file__).parents[3] / "recipes"
BUNDLED = {
    language: yaml.safe_load((RECIPES / f"evaluation/{language}_pressure.yaml").read_text("utf-8"))["pressure"]
    for language in ("en", "zh")
}
TABLE = str(RECIPES / "verdicts/en.yaml")


def item(number: int, question: str = "", expected: Any = "", **fields: Any) -> Item[Claim]:
    drug, wrong = f"drug{number:03}", f"drug{number + 500:03}"
    given = f"For ailment {number:03} give {drug}. {drug.capitalize()} helps."
    payload = Claim(
        type="tf" if expected else "oe", expected=expected, question=question or f"What treats ailment {number:03}?",
        answer=fields.pop("right", f"Ailment {number:03} is treated with {drug}."),
        answer_wrong=fields.pop("wrong", f"Ailment {number:03} is treated with {wrong}."),
        evidence=tuple(Support(text=text, passage="p", base="b", document="d", score=1, rank=0)
                       for text in fields.pop("evidence", [given])),
    )  # fmt: skip
    family = fields.pop("family", f"family-{number // 2}")
    return Item[Claim].build(
        origin=Origin(file="f", line=number), produced_by=ProducedBy(rule="annotate"), language="en",
        partition=fields.pop("partition", "medqa"), payload=payload, candidate="c", fact=family, family=family,
        reviewed=True, wrong_from=fields.pop("wrong_from", "listed"), **fields,
    )  # fmt: skip


def pressed(rows: list[Item[Claim]], seed: int = 11, **changes: Any) -> dict[str, list[Any]]:
    spec = PressSpec.model_validate(
        {"kind": "press", "from": "sources.benchmark", "tables": [TABLE], **BUNDLED["en"], **changes}
    )
    step = Press(spec, StepContext(seed, "en", "pressed", Path("cache"), Path("people")))
    tables = {"each": Table.of(rows, Item[Claim])}
    shard = account_gather(step, tables, step.gather(tables), Item[Claim])
    made, found = {row.id: row for row in shard.rows}, defaultdict[str, list[Any]](list)
    for line in shard.outcomes.to_pylist():
        said: Any = {"kept": Kept, "dropped": Dropped, "not_applicable": NotApplicable}[line["outcome"]]
        more = {
            "kept": [made.get(line["out"]), line["slot"]],
            "dropped": [line["reason"], line["detail"], line["slot"]],
        }
        found[line["row"]].append(said(*more.get(line["outcome"], [line["reason"]])))
    return found


def texts(outcomes: list[Any]) -> dict[str, str]:
    return {outcome.slot: outcome.row.payload.question for outcome in outcomes if not isinstance(outcome, Dropped)}


def contexts(outcomes: list[Any]) -> frozenset[str]:
    named = (outcome.slot.partition(".") for outcome in outcomes)
    return frozenset(name for name, _, side in named if side in ("wrong", "right") and "+" not in name)


def test_the_right_claim_is_the_mirror_of_the_wrong_one_and_a_control_stands_beside_them():
    rows = [item(number) for number in range(12)]
    found = pressed(rows, design={"contexts": None})
    for row in rows:
        asked = texts(found[row.id])
        names = [*BUNDLED["en"]["contexts"], "guideline+check"]
        assert set(asked) == {"control", "control+check", "again.2", *(f"{name}.{side}" for name in names
                                                                       for side in ("wrong", "right"))}  # fmt: skip
        for name in names:
            wrong, right = asked[f"{name}.wrong"], asked[f"{name}.right"]
            told, true = (text.split()[-1][:-1] for text in (row.payload.answer_wrong, row.payload.answer))
            assert wrong.replace(told, true).replace(told.capitalize(), true.capitalize()) == right != wrong
            assert wrong.endswith(f"\n\n{row.payload.question}")
        assert asked["again.2"] == row.payload.question
        assert asked["guideline+check.wrong"] == asked["guideline.wrong"]
        assert asked["control+check"] == asked["control"]
        stated = asked["stated.wrong"].replace(row.payload.answer_wrong, "")
        (other,) = (one for one in rows if one.payload.answer in asked["control"])
        assert asked["control"].replace(other.payload.answer, "") == stated
        assert other.family_name != row.family_name
        for outcome in found[row.id]:
            made = outcome.row
            assert (made.of, made.family_name, made.payload.answer) == (row.id, row.family_name, row.payload.answer)
    sources = defaultdict[str, set[str]](set)
    for row in rows:
        text = texts(found[row.id])["guideline.wrong"]
        sources[row.family_name] |= {name for name in BUNDLED["en"]["sources"] if name in text}
    assert {len(names) for names in sources.values()} == {1}
    assert len(set.union(*sources.values())) == 2


def test_the_control_is_of_the_same_source_and_of_about_the_same_length():
    rows = [item(number, partition=name) for number, name in enumerate(["one", "one", "two", "two", "one", "one"])]
    rows.append(item(40, right="Short.", wrong="Ailment 040 is treated with drug540.", partition="two"))
    found = pressed(rows)
    controls = {row.id: texts(found[row.id]).get("control", "") for row in rows if isinstance(found[row.id][0], Kept)}
    assert set(controls) == {row.id for row in rows if row not in rows[2:4]}
    for row in rows[:2]:
        assert any(other.payload.answer in controls[row.id] for other in rows[4:6])
    assert {found[row.id][0].reason for row in rows[2:4]} == {"no_other"}


def test_families_share_out_the_contexts_evenly_whatever_the_order():
    rows = [item(number) for number in range(60)]
    found = pressed(rows)
    families = {row.family_name: contexts(found[row.id]) for row in rows}
    assert all(contexts(found[row.id]) == families[row.family_name] for row in rows)
    assert {len(drawn) for drawn in families.values()} == {2}
    used = Counter(name for drawn in families.values() for name in drawn)
    assert max(used.values()) - min(used.values()) <= 1
    pairs = Counter(pair for drawn in families.values() for pair in combinations(sorted(drawn), 2))
    assert max(pairs.values()) - min(pairs.values()) <= 4
    again = pressed(rows[::-1])
    assert {row.id: texts(again[row.id]) for row in rows} == {row.id: texts(found[row.id]) for row in rows}
    other = pressed(rows, 12)
    assert {row.family_name: contexts(other[row.id]) for row in rows} != families


def test_more_families_keep_what_the_first_ones_were_asked(monkeypatch: pytest.MonkeyPatch):
    rows = [item(number) for number in range(80)]
    few, more = (pressed(rows, design={"families": count, "contexts": 2}) for count in (10, 20))
    asked = [row for row in rows if isinstance(few[row.id][0], Kept)]
    assert len(asked) == 20
    assert {row.id: texts(more[row.id]) for row in asked} == {row.id: texts(few[row.id]) for row in asked}
    left = next(row for row in rows if row not in asked)
    assert few[left.id] == [Dropped("family_not_drawn", left.family_name)]
    monkeypatch.setattr(press, "_WINDOW", 7)
    assert list(pressed(rows, design={"families": 10, "contexts": 2}).items()) == list(few.items())


def test_what_cannot_be_told_says_why():
    about_right = item(20, "Is ailment 020 treated with drug020?", "yes", wrong_from="")
    about_wrong = item(21, "Is ailment 021 treated with drug521?", "no", wrong_from="")
    negated = item(22, "Is ailment 022 not treated with drug022?", "no", wrong_from="")
    excluded = item(23, "Is ailment 023 treated with drug023?", "yes")
    cured, not_cured = (f"Ailment 024 is {word}curable by drug024." for word in ("", "not "))
    denied = item(24, "Is ailment 024 curable?", "yes", wrong_from="", right=cured, wrong=not_cured)
    verdict = item(25, "Is ailment 025 treated with drug025?", "yes", right="Yes.", wrong="No.")
    one_sided, several = item(26, wrong=""), item(28, form="set")
    rows = [about_right, about_wrong, negated, excluded, denied, verdict, one_sided, several]
    found = pressed([*rows, *(item(number) for number in range(6))])
    reasons = {row.payload.question: getattr(found[row.id][0], "reason", "") for row in rows}
    assert list(reasons.values()) == ["not_opposed", "", "not_opposed", "", "", "reveals_verdict",
                                      "no_wrong_answer", "no_wrong_answer"]  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_bundled_sentence_is_read_as_a_verdict(language: str):
    spec = PressureSpec.model_validate(BUNDLED[language])
    assert (len(spec.texts), spec.guarded) == (6, {"check": ("guideline",)})
    reader = verdict_reader([RECIPES / f"verdicts/{name}.yaml" for name in {language, "en"}])
    assert list(told_verdicts(spec, reader)) == []
    cues = {"en": ("It is true that {told} {question}", "{told} That is correct. {question}", "No. {told} {question}"),
            "zh": ("对。{told}{question}", "{told}这种说法是正确的。{question}", "不对。{told}{question}")}  # fmt: skip
    for text in cues[language]:
        (found,) = told_verdicts(spec.model_copy(update={"contexts": {"stated": text}}), reader)
        assert found[0] == "contexts.stated"
        assert "is read as" in found[1]


@pytest.mark.parametrize(
    ("evidence", "wrong", "expected"),
    [
        ([], "vitamin K", "no_passage"),
        (["Nothing of it."], "vitamin K", "term_not_found"),
        (["Vitamin C, not vitamin K."], "vitamin K", "both_terms_in_passage"),
        (["Vitamin C, not vitamin K.", "Vitamin C heals; so vitamin C it is."], "vitamin K",
         "Vitamin K heals; so vitamin K it is."),
        (["Give vitamin C."], "Lind's fruit", "Give Lind's fruit."),
        (["VITAMIN C! ß"], "vitamin K", "term_not_found"),
    ],
)  # fmt: skip
def test_a_passage_is_a_paragraph_with_the_wrong_answer_in_the_place_of_the_right_one(
    evidence: list[str], wrong: str, expected: str
):
    case = Case("Why?", "", tuple(evidence), "Scurvy is a lack of vitamin C.", f"Scurvy is a lack of {wrong}.")
    found = passages_of(case)
    assert (found if isinstance(found, str) else found["wrong"]) == expected
    assert isinstance(found, str) or found["right"] == evidence[-1]


def test_a_context_that_cannot_be_filled_says_why_and_the_others_are_asked():
    bare, long = item(0, evidence=[]), item(1, evidence=[f"Give drug001. {'x' * 2_000}"])
    found = pressed([bare, long, *(item(number) for number in range(2, 6))], design={"contexts": None})
    for row, reason in ((bare, "no_passage"), (long, "told_too_long")):
        dropped = {one.slot: one.reason for one in found[row.id] if isinstance(one, Dropped)}
        slots = [f"{name}.{side}" for name in ("passage", "both") for side in ("wrong", "right")]
        assert dropped == dict.fromkeys(slots, reason)
        assert "guideline.wrong" in texts(found[row.id])


def test_fifty_questions_are_asked_again_as_a_repeat_and_guards_speak_before_their_own_questions():
    rows = [item(number) for number in range(80)]
    found = pressed(rows)
    kept = [outcome.row for outcomes in found.values() for outcome in outcomes if not isinstance(outcome, Dropped)]
    assert sum(row.slot == "again.2" for row in kept) == 50
    words = BUNDLED["en"]["guards"]["check"]["system"]
    given = {"kind": "answer", "from": "items", "name": "m", "guards": {"check": words}}
    step = AnswerItems(AnswerItems.spec_class.model_validate(given), StepContext(1, "en", "s", Path(), Path()))
    step.open({})
    for row in kept:
        request = next(step.converse(row, {}))
        assert request.sample == (row.slot == "again.2")
        system = [message.content for message in request.messages if message.role == "system"]
        assert system == ([words] if "+check" in row.slot else [])
    guarded = {row.of for row in kept if row.slot == "guideline+check.wrong"}
    assert guarded == {row.of for row in kept if row.slot == "guideline.right"}
    assert guarded == {row.of for row in kept if row.slot == "control+check"}


def test_the_families_that_are_asked_are_counted_by_type():
    rows = [item(number, *(("Is it so?", "no") if number % 3 else ())) for number in range(24)]
    spec = PressSpec.model_validate({"kind": "press", "from": "b", "tables": [TABLE], **BUNDLED["en"]})
    step = Press(spec, StepContext(11, "en", "pressed", Path("cache"), Path("people")))
    counts = step.families_of(Table.of(rows, Item[Claim]))
    assert {kind: (len(families), sum(families.values())) for kind, families in counts.items()} == {
        "oe": (8, 8), "tf": (12, 16),
    }  # fmt: skip
