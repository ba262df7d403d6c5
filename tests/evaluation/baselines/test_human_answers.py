"""The human baseline: answers out of the review app and out of sheets."""

import csv
import io
import sys

import pytest
from rated_world import Review, full, item, jsonl

from benchbuilder.core.errors import DataError, InstallationError
from benchbuilder.evaluation.baselines.people import PeopleAnswers, PeopleSpec, answer_sheet

ITEMS = [item(number) for number in range(5)]


def opened(workplace, **changes):
    baseline = PeopleAnswers(PeopleSpec(**{"kind": "people", **changes}))
    baseline.open(workplace)
    return baseline


def told(baseline):
    return [baseline.answer(one) for one in ITEMS]


@pytest.fixture
def review(tmp_path):
    made = Review(tmp_path, "human_baseline")
    made.lay_out(ITEMS)
    return made


@pytest.mark.push
def test_before_anybody_wrote_all_answers_are_missing(tmp_path, review):
    empty = opened(tmp_path / "elsewhere")
    assert told(empty) == [("", "missing")] * 5
    assert empty.external_inputs(tmp_path / "elsewhere") == {}
    assert not (tmp_path / "elsewhere").exists()
    assert told(opened(review.workplace)) == [("", "missing")] * 5


def test_answers_of_the_app_and_its_digest(review):
    before = opened(review.workplace).external_inputs(review.workplace)
    review.judge("林医生", lambda _, task: None if "第2问" in task.text else f" 关于{task.text}：\n是的。")
    baseline = opened(review.workplace)
    assert baseline.external_inputs(review.workplace) != before
    assert list(baseline.external_inputs(review.workplace)) == ["answers in the app (human_baseline)"]
    answers = told(baseline)
    assert answers[2] == ("", "missing")
    assert answers[0] == (f"关于{full(ITEMS[0])}：\n是的。", "complete")
    assert [outcome for _, outcome in answers].count("complete") == 4


def test_an_export_says_what_the_app_says(review, tmp_path):
    review.judge("林医生", lambda _, task: "=1，\n'以上" if "第1问" in task.text else f"{task.text}是。")
    exported = opened(tmp_path / "nowhere", file=str(review.export(tmp_path / "votes.csv")))
    assert told(exported) == told(opened(review.workplace))
    assert exported.answer(ITEMS[1]) == ("=1，\n'以上", "complete")
    assert exported.external_inputs(tmp_path / "nowhere") == {}


@pytest.mark.push
def test_of_several_people_one_is_drawn_for_each_item(tmp_path):
    review = Review(tmp_path, "human_baseline", "reviews.human_baseline.per_task=3")
    many = [item(number) for number in range(60)]
    review.lay_out(many)
    for name in ("甲", "乙", "丙"):
        review.judge(name, lambda _, task, name=name: name)

    def answers(**settings: str) -> list[tuple[str, str]]:
        baseline = opened(review.workplace, **settings)
        return [baseline.answer(one) for one in many]

    drawn = [text for text, _ in answers()]
    assert drawn == [text for text, _ in answers()]
    assert all(12 <= drawn.count(name) <= 28 for name in ("甲", "乙", "丙"))
    assert {text for text, _ in answers(person="A2")} == {"乙"}
    assert set(answers(person="A9")) == {("", "missing")}


def test_what_was_written_to_another_wording_of_the_item_does_not_count(review):
    review.judge("林医生", lambda _, task: "是的。")
    changed = ITEMS[0].model_copy(
        update={"payload": ITEMS[0].payload.model_copy(update={"question": "改过的问题吗？"})}
    )
    assert opened(review.workplace).answer(ITEMS[0]) == ("是的。", "complete")
    assert opened(review.workplace).answer(changed) == ("", "missing")


def test_tasks_that_are_not_asked_any_more_still_count(review):
    review.judge("林医生", lambda _, task: "是的。")
    review.lay_out(ITEMS[:1])
    assert told(opened(review.workplace)) == [("是的。", "complete")] * 5


def test_a_sheet(tmp_path):
    file = tmp_path / "answers.csv"
    with file.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "source", "question", "answer", "person"])
        writer.writerow([ITEMS[0].id, "medqa", full(ITEMS[0]), "是的，\n因为……", "甲"])
        writer.writerow(["", "", full(ITEMS[1]), "不是。", ""])
        writer.writerow([ITEMS[2].id, "", "", "   ", "甲"])
        writer.writerow([ITEMS[0].id, "medqa", "", "对。", "乙"])
    sheet = opened(tmp_path, file=str(file))
    assert told(sheet)[1:] == [("不是。", "complete"), *[("", "missing")] * 3]
    assert sheet.answer(ITEMS[0])[0] in ("是的，\n因为……", "对。")
    assert opened(tmp_path, file=str(file), person="乙").answer(ITEMS[0]) == ("对。", "complete")


def test_what_is_wrong_in_a_sheet_is_told_with_its_line(tmp_path):
    rows = [{"id": "i1", "answer": "甲", "person": "a"}, {"answer": "乙"}, {"id": "i1", "answer": "丙", "person": "a"}]
    with pytest.raises(DataError) as caught:
        opened(tmp_path, file=str(jsonl(tmp_path / "a.jsonl", rows)))
    assert "a.jsonl:2: there is neither `id` nor `question`" in str(caught.value)
    assert "a.jsonl:3: a answered this before, at a.jsonl:1" in str(caught.value)
    with pytest.raises(DataError, match="no column `answer`"):
        opened(tmp_path, file=str(jsonl(tmp_path / "b.jsonl", [{"id": "i1", "reply": "x"}])))


def test_an_answer_beside_another_question_is_refused(tmp_path):
    rows = [{"id": ITEMS[0].id, "question": full(ITEMS[1]), "answer": "是的。"}]
    baseline = opened(tmp_path, file=str(jsonl(tmp_path / "a.jsonl", rows)))
    with pytest.raises(DataError, match="is for another question") as caught:
        baseline.answer(ITEMS[0])
    assert caught.value.where == "a.jsonl:1"


def test_a_sheet_goes_out_empty_and_comes_back_filled(tmp_path):
    review = Review(tmp_path, "human_baseline", "reviews.human_baseline.rows.sample=20")
    many = [item(number, "=1+1等于2吗？" if number == 4 else "") for number in range(50)]
    shown = {task.text for task in review.lay_out(many)}
    data = answer_sheet(many, 20, 1).decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(data, newline="")))
    by_id = {one.id: one for one in many}
    assert {full(by_id[row[0]]) for row in rows[1:]} == shown
    assert len(rows) == 21
    everything = list(csv.reader(io.StringIO(answer_sheet(many, 50, 1).decode("utf-8-sig"), newline="")))
    assert "'=1+1等于2吗？" in {row[2] for row in everything}
    assert not [row for row in everything if row[2].startswith("=")]
    filled = tmp_path / "filled.csv"
    with filled.open("w", encoding="gb18030", newline="") as stream:
        csv.writer(stream, delimiter=";").writerows(
            [everything[0], *([*row[:3], "是的。", "甲"] for row in everything[1:])]
        )
    baseline = opened(tmp_path, file=str(filled))
    assert {baseline.answer(one) for one in many} == {("是的。", "complete")}


def test_without_the_libraries_of_the_app_it_says_what_to_install(review, monkeypatch):
    monkeypatch.delitem(sys.modules, "benchbuilder.annotation.database.store", raising=False)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(InstallationError, match=r"(?s)needs sqlalchemy.*benchbuilder\[review\]"):
        opened(review.workplace)
