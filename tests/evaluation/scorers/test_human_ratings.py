"""People's ratings as scores: out of files of every form, out of the app, and what is refused."""

import pytest
from rated_world import Review, answer, full, item, jsonl

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.roles import Rating
from benchbuilder.core.records.row import ProducedBy
from benchbuilder.core.text.names import recipe_name
from benchbuilder.evaluation.scorers.base import AspectScore, outcomes_of
from benchbuilder.evaluation.scorers.ratings import RatingsScorer, RatingsSpec

ITEMS = [item(number) for number in range(4)]
BASE = {"kind": "ratings", "aspects": ("correctness", "interpretability"), "at_least": 3, "tolerance": 0.25,
        "threshold": 0.5}  # fmt: skip
RATERS = ("r1", "r2", "r3")


def opened(folder, **changes):
    context = StepContext(seed=1, language="zh", step="ratings.jia", cache=folder, workplace=folder / "annotation")
    scorer = RatingsScorer(RatingsSpec(**BASE | changes), context)
    scorer.open()
    return scorer


def of_file(file, **changes):
    return opened(file.parent, file=str(file), **changes)


def scored(scorer, one, text="是的。", model="jia"):
    (found,) = scorer.score([(answer(one, text, model), one)])
    return found


def long(one, aspect, values, model="jia", **more):
    return [
        {"id": one.id, "model": model, "aspect": aspect, "rater": rater, "value": value} | more
        for rater, value in zip(RATERS, values, strict=False)
    ]


def given(*values):
    return tuple(Rating(rater=rater, value=value) for rater, value in zip(RATERS, values, strict=True))


def test_the_mean_of_three_with_each_of_them(tmp_path):
    rows = long(ITEMS[0], "correctness", [1, 0.75, "０．５"]) + long(ITEMS[0], "interpretability", ["0,1", 0, 0.05])
    marks = scored(of_file(jsonl(tmp_path / "a.jsonl", rows)), ITEMS[0])
    assert marks == (
        AspectScore("correctness", 0.75, "mean", "n=3", given(1, 0.75, 0.5)),
        AspectScore("interpretability", 0.05, "mean", "n=3", given(0.1, 0, 0.05)),
    )
    outcomes = outcomes_of(marks, answer(ITEMS[0], "x", "jia"), ITEMS[0], "ratings", ProducedBy(rule="t"))
    assert [
        (outcome.row.aspect, outcome.row.value, len(outcome.row.ratings))
        for outcome in outcomes
        if isinstance(outcome, Kept)
    ] == [("correctness", 0.75, 3), ("interpretability", 0.05, 3)]


def test_the_wide_form_says_the_same_as_the_long_form(tmp_path):
    numbers = {"correctness": (0.9, 0.8, 0.4), "interpretability": (0.0, 1.0, 0.35)}
    values = {(a, r): value for a, given in numbers.items() for r, value in zip(RATERS, given, strict=True)}
    header = ["item", "model", "note", *(f"{aspect}.{rater}" for aspect, rater in values)]
    wide = tmp_path / "wide.csv"
    line = [ITEMS[1].id, "jia", "n.a.", *map(str, values.values())]
    wide.write_text("\n".join([",".join(header), ",".join(line)]), encoding="utf-8")
    rows = [{"id": ITEMS[1].id, "model": "jia", "aspect": a, "rater": r, "value": v} for (a, r), v in values.items()]
    narrow = jsonl(tmp_path / "long.jsonl", rows)
    assert scored(of_file(wide), ITEMS[1]) == scored(of_file(narrow), ITEMS[1])
    assert [mark.value for mark in scored(of_file(wide), ITEMS[1])] == [0.7, 0.45]


def test_found_by_id_else_by_question_and_by_either_name_of_the_model(tmp_path):
    rows = long(ITEMS[0], "correctness", [1, 1, 1], "Qwen/Qwen2-7B", question=full(ITEMS[1]))
    rows += [row | {"id": None, "question": f" {full(ITEMS[2])}\n"} for row in long(ITEMS[2], "correctness", [0, 0, 0])]
    rows += [
        row | {"id": "item-of-old", "question": full(ITEMS[3])} for row in long(ITEMS[3], "correctness", [1, 0, 0.5])
    ]
    scorer = of_file(jsonl(tmp_path / "a.jsonl", rows))
    assert scored(scorer, ITEMS[0], model="qwen_qwen2_7b")[0].value == 1
    assert scored(scorer, ITEMS[0], model="Qwen/Qwen2-7B")[0].value == 1
    assert scored(scorer, ITEMS[2])[0].value == 0
    assert scored(scorer, ITEMS[3])[0].value == 0.5
    assert scored(scorer, ITEMS[0]) == Dropped("unrated")


def test_twins_by_question_are_not_mixed(tmp_path):
    rows = [row | {"question": "问？"} for one, value in zip(ITEMS[:2], (1, 0), strict=True)
            for row in long(one, "correctness", [value] * 3)]  # fmt: skip
    stranger = item(7, "问？", context="")
    (mark,) = scored(of_file(jsonl(tmp_path / "a.jsonl", rows)), stranger)
    assert (mark.value, len(mark.ratings)) == (1, 3)


def test_nobody_or_too_few_or_one_aspect_only(tmp_path):
    rows = long(ITEMS[0], "correctness", [1, 0.5]) + long(ITEMS[1], "correctness", [1, 0.5, 0]) + long(
        ITEMS[1], "interpretability", [1, None, ""]
    ) + long(ITEMS[2], "style", [1, 1, 1])  # fmt: skip
    scorer = of_file(jsonl(tmp_path / "a.jsonl", rows))
    assert scored(scorer, ITEMS[0]) == Dropped("too_few", "correctness: 2 of 3")
    assert [mark.aspect for mark in scored(scorer, ITEMS[1])] == ["correctness"]
    assert scored(scorer, ITEMS[2]) == scored(scorer, ITEMS[3]) == Dropped("unrated")
    assert {"unrated", "too_few", "in_dispute", "other_answer"} == set(scorer.reasons)
    assert scored(of_file(tmp_path / "a.jsonl", at_least=1), ITEMS[0])[0].value == 0.75


def test_ratings_of_another_text_are_no_ratings_of_this_answer(tmp_path):
    rows = long(ITEMS[0], "correctness", [1, 1, 1], answer="是的。  真的")
    rows += long(ITEMS[0], "correctness", [0, 0, 0], answer="不是。")
    scorer = of_file(jsonl(tmp_path / "a.jsonl", rows))
    assert scored(scorer, ITEMS[0], "是的。\n真的")[0].value == 1
    assert scored(scorer, ITEMS[0], "不是。")[0].value == 0
    assert scored(scorer, ITEMS[0], "<think>也许？</think>不是。")[0].value == 0, "people saw no thoughts"
    assert scored(scorer, ITEMS[0], "也许。") == Dropped("other_answer", "rated was what stands at a.jsonl:1")


def test_in_dispute_an_adjudicator_decides(tmp_path):
    rows = (
        long(ITEMS[0], "correctness", [0.6, 0.8, 0.7])
        + long(ITEMS[1], "correctness", [0.2, 0.8, 0.3])
        + long(ITEMS[2], "correctness", [0.45, 0.55, 0.5])
    )
    rows += [
        {"id": one.id, "model": "jia", "aspect": "correctness", "rater": "J1", "role": "adjudicator", "value": 0.1}
        for one in ITEMS[:2]
    ]
    file = jsonl(tmp_path / "a.jsonl", rows)
    judged = of_file(file, rule="adjudicate")
    assert scored(judged, ITEMS[0])[0].value == pytest.approx(0.7)
    (mark,) = scored(judged, ITEMS[1])
    assert (mark.value, mark.label, mark.detail) == (0.1, "adjudicated", "J1")
    assert [rating.value for rating in mark.ratings] == [0.2, 0.8, 0.3]
    assert scored(judged, ITEMS[2]) == Dropped("in_dispute", "correctness: 0.45, 0.55, 0.5")
    assert scored(of_file(file), ITEMS[1])[0].value == pytest.approx(1.3 / 3, abs=1e-6)


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"value": 1.05}, "'1.05' is not a number from 0 to 1"), ({"value": "good"}, "correctness of r2: 'good'"),
     ({"value": -0.1}, "'-0.1'"), ({"value": True}, "'True'"), ({"value": "nan"}, "'nan'"),
     ({"model": ""}, "model or item is missing"), ({"id": ""}, "model or item is missing"),
     ({"rater": " "}, "rater of correctness"),
     ({"role": "boss"}, "role is 'boss'"), ({"rater": "r1"}, "r1: correctness of jia on item-")],
)  # fmt: skip
def test_what_cannot_be_used_is_told_with_its_line(tmp_path, changed, told):
    rows = long(ITEMS[0], "correctness", [1, 1, 1])
    rows[1] |= changed
    with pytest.raises(DataError) as caught:
        of_file(jsonl(tmp_path / "a.jsonl", rows))
    assert "a.jsonl:2: " in str(caught.value)
    assert told in str(caught.value)


def test_all_problems_at_once_and_in_wide_files_too(tmp_path):
    file = tmp_path / "a.csv"
    lines = ["id,model,correctness.r1,correctness.r2", f"{ITEMS[0].id},jia,2,high", f"{ITEMS[0].id},jia,0.5,0.5",
             f"{ITEMS[0].id},jia,0.5,"]  # fmt: skip
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        of_file(file)
    told = str(caught.value)
    assert "3 problems" in told
    assert "a.csv:2: correctness of r1: '2' is not a number from 0 to 1" in told
    assert "a.csv:2: correctness of r2: 'high' is not a number from 0 to 1" in told
    assert f"a.csv:4: r1: correctness of jia on {ITEMS[0].id} was rated before, at a.csv:3" in told
    file.write_text("id,model,right.r1\nx,jia,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="holds no ratings of correctness, interpretability"):
        of_file(file)


def test_two_decisions_on_one_answer_are_refused(tmp_path):
    one = {"id": ITEMS[0].id, "model": "jia", "aspect": "correctness", "role": "adjudicator", "value": 1}
    with pytest.raises(DataError, match="ratings that cannot be used"):
        of_file(jsonl(tmp_path / "a.jsonl", [one | {"rater": "J1"}, one | {"rater": "J2"}]))


def test_what_is_left_over_is_counted(tmp_path):
    rows = long(ITEMS[0], "correctness", [1, 1, 1]) + long(ITEMS[3], "correctness", [1, 1], "bing")
    scorer = of_file(jsonl(tmp_path / "a.jsonl", rows))
    assert list(scorer.unused_ratings(ITEMS, ["jia", "bing"])) == []
    items, models = scorer.unused_ratings(ITEMS[:1], ["jia", "yi"])
    assert items == "2 ratings are of other items than the benchmark's (the first: a.jsonl:4)"
    assert models == "2 ratings are of models that do not answer here: bing"


# --- the app

VALUES = {"correctness": {"甲": 0.9, "乙": 0.6, "丙": 0.3}, "interpretability": {"甲": 0.1, "乙": 0.2, "丙": 0.15}}


@pytest.fixture
def review(tmp_path):
    rows = [
        {"id": one.id, "model": model, "question": full(one), "answer": text, "reference": one.payload.answer,
         "evidence": ["一段。"]}
        for one in ITEMS[:3] for model, text in (("jia", "是的。"), ("yi", "是的。" if one is ITEMS[0] else "不是。"))
    ]  # fmt: skip
    made = Review(tmp_path, "answers", f"paths.answers={jsonl(tmp_path / 'rows.jsonl', rows)}")
    assert len(made.lay_out()) == 5
    return made


def rate(review, *names):
    for name in names or "甲乙丙":
        review.judge(name, lambda question, task, name=name: VALUES[question][name])


@pytest.mark.push
def test_ratings_of_the_app(review, tmp_path):
    assert opened(tmp_path).external_inputs().keys() == {"ratings in the app (answers)"}
    before = opened(tmp_path).external_inputs()
    rate(review)
    scorer = opened(tmp_path)
    assert scorer.external_inputs() != before
    for one, model, text in ((ITEMS[0], "jia", "是的。"), (ITEMS[0], "yi", "是的。"), (ITEMS[1], "yi", "不是。")):
        first, second = scored(scorer, one, text, model)
        assert (first.value, second.value) == (0.6, 0.15)
        assert [rating.rater for rating in first.ratings] == ["A1", "A2", "A3"]
    assert scored(scorer, ITEMS[1], "不是。", "jia").reason == "other_answer"
    assert scored(scorer, ITEMS[3]) == Dropped("unrated")


@pytest.mark.push
def test_an_export_of_the_app_says_what_the_app_says(review, tmp_path):
    rate(review)
    file = review.export(tmp_path / "votes.csv")
    exported, direct = of_file(file), opened(tmp_path)
    for one in ITEMS:
        for model, text in (("jia", "是的。"), ("yi", "不是。"), ("yi", "是的。")):
            theirs, ours = scored(exported, one, text, model), scored(direct, one, text, model)
            if isinstance(ours, Dropped):
                assert theirs.reason == ours.reason
            else:
                assert theirs == ours
    assert exported.external_inputs() == {}


def test_a_workplace_without_a_database_rates_nothing(tmp_path):
    scorer = opened(tmp_path)
    assert scorer.external_inputs() == {}
    assert scored(scorer, ITEMS[0]) == Dropped("unrated")
    assert not (tmp_path / "annotation").exists()


@pytest.mark.push
def test_two_of_three_are_too_few_in_the_app_too(review, tmp_path):
    rate(review, "甲", "乙")
    assert scored(opened(tmp_path), ITEMS[0]).reason == "too_few"
    assert scored(opened(tmp_path, at_least=2), ITEMS[0])[0].value == 0.75


def test_one_model_under_two_spellings_is_refused(tmp_path):
    """Otherwise its raters would count several times, and two models could become one."""
    rows = long(ITEMS[0], "correctness", [1, 1, 1], "GPT-4") + long(ITEMS[0], "correctness", [0, 0, 0], "GPT 4")
    with pytest.raises(DataError) as caught:
        of_file(jsonl(tmp_path / "a.jsonl", rows))
    assert "'GPT 4'" in str(caught.value)
    assert "'GPT-4' at a.jsonl:1" in str(caught.value)
    assert "a.jsonl:4" in str(caught.value)
    wide = tmp_path / "wide.csv"
    lines = ["id,model,correctness.r1,correctness.r2,correctness.r3",
             *(f"{ITEMS[0].id},{name},1,1,1" for name in ("GPT-4", "gpt_4"))]  # fmt: skip
    wide.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError, match=r"'GPT-4' at wide\.csv:2"):
        of_file(wide)


def test_models_with_names_in_other_letters_are_told_apart(tmp_path):
    names = {"文心一言": 1.0, "通义千问": 0.0}
    rows = [row for name, value in names.items() for row in long(ITEMS[0], "correctness", [value] * 3, name)]
    scorer = of_file(jsonl(tmp_path / "a.jsonl", rows))
    for name, value in names.items():
        for known in (name, recipe_name(name)):
            assert scored(scorer, ITEMS[0], model=known)[0].value == value
