"""Questions as form fields."""

from __future__ import annotations

from dataclasses import replace

import pytest
from review_world import claim_tasks, claims_spec, form_tasks, forms_spec, rating_tasks, ratings_spec

from benchbuilder.annotation.app.forms import hash_subjects, make_task_form, parse_answers
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.core import load_languages
from benchbuilder.web import PostedForm

PAIRS = [
    (claim_tasks(1)[0], claims_spec()), (rating_tasks()[0], ratings_spec()), (form_tasks()[0], forms_spec()),
    (rating_tasks()[0], claims_spec()),
]  # fmt: skip


@pytest.mark.parametrize(("task", "spec"), PAIRS)
def test_a_form_asks_what_the_rules_ask(task: object, spec: object) -> None:
    sheet = make_task_form(task, spec)  # type: ignore[arg-type]
    asked = judgement_requests([task], spec)  # type: ignore[list-item, arg-type]
    assert {entry.subject for entry in sheet.fields()} == set(asked)
    assert [entry.step for entry in sheet.fields()] == list(range(1, len(asked) + 1))
    assert all(asked[entry.subject].question == entry.name for entry in sheet.fields())
    assert sheet.shown_hash == hash_subjects(asked)


def test_a_question_about_an_empty_field_is_not_asked() -> None:
    spec, (first, *_) = claims_spec(), claim_tasks(1)
    asked = spec.model_copy(
        update={"questions": {name: q.model_copy(update={"field": "wrong"} if name == "wrong_is_wrong" else {})
                              for name, q in spec.questions_about().items()}}
    )  # fmt: skip
    bare = replace(first, fields=tuple((name, "" if name == "wrong" else text) for name, text in first.fields))
    found = [[one.name for one in make_task_form(task, asked).fields()] for task in (first, bare)]
    assert set(found[0]) - set(found[1]) == {"wrong_is_wrong"}
    assert len(judgement_requests([bare], asked)) == len(found[1])


def test_evidence_is_at_the_position_of_its_first_question() -> None:
    sheet = make_task_form(claim_tasks(1)[0], claims_spec())
    assert [entry.name for entry in sheet.before_evidence] == ["single_answer", "norm", "accurate_answer"]
    assert [entry.name for entry in sheet.after_evidence] == ["fluent", "wrong_is_wrong"]
    assert [len(entries) for _, entries in sheet.paragraphs] == [1, 1, 1, 1]


def test_the_band_of_a_border_is_the_higher_one() -> None:
    sheet = make_task_form(rating_tasks()[0], ratings_spec())
    first = sheet.fields()[0]

    def here(text: str) -> list[float]:
        entry = make_task_form(rating_tasks()[0], ratings_spec(), {first.field_name: text}).fields()[0]
        return [band.low for band, inside in entry.bands if inside]

    assert [here(text) for text in ("0.8", "0.79", "1", "0", "", "x")] == [[0.8], [0.6], [0.8], [0.0], [], []]


def test_errors_are_in_the_language_of_the_page() -> None:
    sheet = make_task_form(claim_tasks(1)[0], claims_spec())
    first = sheet.fields()[0].field_name
    values, errors = parse_answers(sheet.fields(), PostedForm([(first, "2")]), load_languages({})["zh"])
    assert not values
    assert errors[first] == "请选择 1 或 0。"
    assert len(errors) == 9


def test_the_last_of_two_fields_counts_and_control_characters_go() -> None:
    form = PostedForm([("a", "1"), ("a", "2\r\nx\x00\x1b\ty\r")])
    assert form("a") == "2\nx\ty\n"
    assert form.get_all("a") == ["1", "2\nx\ty\n"]
    assert form("b") == ""
