"""A model drafts translations of facts: all parts in one request, without the key, and never against people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claim_rows import PROMPTS, talk
from test_translated_facts import DRUG, TEXTS, fact, step, table

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept, NotApplicable
from benchbuilder.core.records.payloads import Choice, Fact, LabelledClaim
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.core.registry import find_kind
from benchbuilder.models.base import Reply
from benchbuilder.steps.draft_translation import DraftTranslation, DraftTranslationSpec
from benchbuilder.testing import check_step

MODEL = find_kind("model", "openai").load().spec_class(kind="openai", name="tiny")
TRANSLATED = dict(zip(("Which drug, 5 mg, is given first?", "Oxytocin.", "Insulin.", "Digoxin."), TEXTS, strict=True))


def prompt(name: str) -> dict[str, str]:
    return {"path": f"en/{name}", "resolved_path": str(PROMPTS / "en" / name)}


def drafter(*, opened: bool = True, **spec: Any) -> DraftTranslation:
    given = {
        "kind": "draft_translation", "from": "rows", "strategy": "rules_then_model", "original": "en", "target": "es",
        "model": MODEL, "prompt": prompt("translate_fact.j2"), "repair": prompt("translate_fact.repair.j2"),
        "repair_rounds": 1, **spec,
    }  # fmt: skip
    context = StepContext(seed=1, language="es", step="draft", cache=Path("cache"), workplace=Path("people"))
    made = DraftTranslation(DraftTranslationSpec.model_validate(given), context)
    if opened:
        made.open({})
    return made


def shown(request: Any) -> dict[str, str]:
    """The texts that a request shows, by name."""
    lines = request.messages[-1].content.partition("Texts:\n")[2].partition("\nAnswer with")[0]
    return dict(line.split(": ", 1) for line in lines.splitlines() if ": " in line)


def reply(row: Any = DRUG, made: DraftTranslation | None = None, **changed: str | None) -> str:
    """What a good model replies about `row`; ``None`` leaves a part out."""
    _, [request] = talk(made or drafter(repair_rounds=0), row, "")
    said: dict[str, str | None] = {name: TRANSLATED.get(text, text) for name, text in shown(request).items()}
    return json.dumps({name: text for name, text in (said | changed).items() if text is not None}, ensure_ascii=False)


def test_all_parts_are_one_request_and_each_answer_stays_at_its_place():
    [outcome], [request] = talk(drafter(), DRUG, f"Here it is:\n```json\n{reply()}\n```")
    row = outcome.row
    assert row.payload == DRUG.payload.map_texts(lambda text: TRANSLATED.get(text, text))
    assert (row.payload.answer_key, row.payload.answer, row.language, row.of) == ("B", "Insulina.", "es", DRUG.id)
    assert row.produced_by.rule == "draft_translation/model:tiny"
    assert request.schema["required"] == ["question", "option_1", "option_2", "option_3"]
    assert request.schema["additionalProperties"] is False


def test_the_key_is_hidden_and_options_stand_in_a_drawn_order():
    first = []
    for number in range(40):
        row = fact(f"Which drug is number {number}?", "Oxytocin.", "Insulin.", "Digoxin.")
        _, [request] = talk(drafter(repair_rounds=0), row, "")
        assert "answer_key" not in request.messages[-1].content
        assert sorted(list(shown(request).values())[1:]) == ["Digoxin.", "Insulin.", "Oxytocin."]
        first.append(shown(request)["option_1"])
    assert {first.count(text) > 5 for text in ("Oxytocin.", "Insulin.", "Digoxin.")} == {True}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"option_2": None}, "part_missing"),
        ({"option_2": "  "}, "part_missing"),
        ({"option_2": "B"}, "part_missing"),
        ({"answer": "Insulina."}, "part_unasked"),
        ({"option_1": "Insulina.", "option_2": "insulina."}, "parts_equal"),
        ({"question": "¿Qué\u202e fármaco?"}, "reply_odd_characters"),
        ({"question": "¿Qué **fármaco**?"}, "reply_markup"),
    ],
)
def test_a_faulty_reply_is_asked_for_again_with_its_fault(changed, reason):
    wrong = reply(**changed)
    [outcome], requests = talk(drafter(), DRUG, wrong, reply())
    assert isinstance(outcome, Kept)
    assert [message.role for message in requests[1].messages][-2:] == ["assistant", "user"]
    assert "Write the whole JSON object again" in requests[1].messages[-1].content
    [outcome], _ = talk(drafter(), DRUG, wrong, wrong)
    assert isinstance(outcome, Dropped)
    assert outcome.reason == reason


@pytest.mark.parametrize("text", ["No.", "[1, 2]", '{"question": "¿Qué'])
def test_a_reply_that_is_no_object_is_malformed(text):
    [outcome], _ = talk(drafter(repair_rounds=0), DRUG, text)
    assert outcome.reason == "reply_malformed"


def test_a_reply_that_was_cut_or_refused_keeps_its_own_reason():
    for end in ("truncated", "refused"):
        [outcome], _ = talk(drafter(repair_rounds=0), DRUG, Reply(reply(), end))
        assert outcome.reason == f"reply_{end}"


def test_terms_of_the_glossary_that_the_texts_name_are_in_the_prompt(tmp_path):
    path = tmp_path / "glossary.tsv"
    path.write_text("term\ttranslation\tforbidden\noxytocin\toxitocina\toxígeno\nkidney\triñón\t\n", "utf-8")
    _, [request] = talk(drafter(glossary=str(path), repair_rounds=0), DRUG, "")
    assert "oxytocin: oxitocina (never oxígeno)" in request.messages[-1].content
    assert "kidney" not in request.messages[-1].content


def test_what_people_translate_is_not_drafted_not_even_where_they_have_only_begun(tmp_path):
    begun = table(tmp_path, DRUG, [TEXTS[0], "", "", ""])
    [outcome], requests = talk(drafter(translations=begun), DRUG)
    assert isinstance(outcome, NotApplicable)
    assert (outcome.reason, requests) == ("translated", [])
    empty = table(tmp_path, DRUG, ["", "", "", ""])
    [outcome], _ = talk(drafter(translations=empty), DRUG, reply())
    assert isinstance(outcome, Kept)


def test_without_a_model_facts_wait_for_people():
    [outcome] = drafter(model=None).map(DRUG, {})
    assert isinstance(outcome, Dropped)
    assert outcome.reason == "needs_model"


def test_a_claim_has_its_parts_by_name():
    claim = Fact[LabelledClaim].build(
        payload=LabelledClaim(text="Cats sleep.", label="true", premise="A cat sleeps."),
        origin=Origin(file="claims.csv", line=1), produced_by=ProducedBy(rule="claims"), language="en",
        partition="claims",
    )  # fmt: skip
    [outcome], [request] = talk(drafter(), claim, '{"text": "Los gatos duermen.", "premise": "Un gato duerme."}')
    assert shown(request) == {"text": "Cats sleep.", "premise": "A cat sleeps."}
    assert (outcome.row.payload.text, outcome.row.payload.premise) == ("Los gatos duermen.", "Un gato duerme.")


def test_the_drafting_step_keeps_its_promises():
    check_step(lambda: drafter(opened=False, model=None), {"each": Table.of([DRUG], Fact[Choice])})


def drafts(row: Any = DRUG, **changed: str | None) -> dict[str, Table[Any]]:
    """The lookups of the step `translate`: a fact, its draft, and the draft translated back."""
    [outcome], _ = talk(drafter(), row, reply(row, **changed))
    draft = outcome.row
    back = type(draft).child(
        draft, produced_by=ProducedBy(rule="draft_translation/model:tiny"), payload=row.payload, language="en"
    )
    return {name: Table.of([one], Fact[Choice]) for name, one in (("facts", row), ("drafts", draft), ("back", back))}


def translated(lookups: dict[str, Table[Any]], translations: str | None = None) -> Any:
    made = step(translations, **{"from": {"each": "rows", "facts": "rows", "drafts": "draft", "back": "back"}})
    made.open(lookups)
    (found,) = made.map(DRUG, {})
    return found


def test_a_draft_is_taken_and_says_that_a_model_wrote_it():
    row = translated(drafts()).row
    assert row.payload.question == TEXTS[0]
    assert (row.payload.answer_key, row.payload.answer) == ("B", "Insulina.")
    assert row.produced_by.rule == "translate/model:tiny"


def test_a_draft_is_checked_as_the_table_of_people_is():
    found = translated(drafts(question="¿Qué fármaco, 50 mg, se administra primero?"))
    assert (type(found), found.reason) == (Dropped, "number_changed")


def test_the_translation_back_shows_a_lost_denial():
    row = fact("Which drug is not given first?", "Oxytocin.", "Insulin.", "Digoxin.")
    lookups = drafts(row, question="¿Qué fármaco se administra primero?")
    lost = row.payload.map_texts(lambda text: text.replace(" not", ""))
    [back] = lookups["back"]
    lookups["back"] = Table.of([back.model_copy(update={"payload": lost})], Fact[Choice])
    made = step(None, **{"from": {"each": "rows", "facts": "rows", "drafts": "draft", "back": "back"}})
    made.open(lookups)
    (found,) = made.map(row, {})
    assert (type(found), found.reason) == (Dropped, "negation_changed")


def test_the_table_of_people_wins_for_the_whole_fact(tmp_path):
    own = ["¿Cuál, 5 mg, se da primero?", *TEXTS[1:]]
    row = translated(drafts(), table(tmp_path, DRUG, own)).row
    assert row.payload.question == own[0]
    assert row.produced_by.rule == "translate/people+p1"
    half = translated(drafts(), table(tmp_path, DRUG, [own[0], "", "", ""]))
    assert half.reason == "no_translation"


def test_a_draft_that_a_person_took_over_is_of_both(tmp_path):
    kept = translated({}, table(tmp_path, DRUG, TEXTS, author="model:tiny")).row
    assert kept.produced_by.rule == "translate/people+model:tiny+p1"


@pytest.mark.parametrize(("ports", "right"), [
    (("facts", "drafts"), True), (("facts", "drafts", "back"), True), (("drafts",), False), (("facts",), False),
    (("facts", "back"), False), (("back",), False),
])  # fmt: skip
def test_drafts_are_wired_with_their_originals(ports, right):
    rows = {"each": Fact[Choice], **dict.fromkeys(ports, Fact[Choice])}
    assert [issue.key for issue in step(None).validate_inputs(rows)] == ([] if right else ["from"])
