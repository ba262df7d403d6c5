"""The scorer `set_answer` with the settings of the bundled recipes: Chinese and English answers to set questions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rated_world import answer, item

from benchbuilder.annotation.tasks import make_candidate_tasks
from benchbuilder.config.load import load_recipe
from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import NotApplicable
from benchbuilder.core.records.payloads import Item
from benchbuilder.core.records.roles import Answer, Candidate
from benchbuilder.core.registry import create_from_spec
from benchbuilder.evaluation.analysis.read_answers import Measure, ScorerChoice
from benchbuilder.evaluation.baselines.base import Baseline
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.evaluation.scorers.base import AspectScore
from benchbuilder.evaluation.scorers.set_answer import SetAnswerScorer

CONTEXT = StepContext(seed=1, language="zh", step="set_answer.jia", cache=Path("none"), workplace=Path("none"))
EVALUATED = {"zh": "care_mi", "en": "medicine_en"}


@cache
def scorer(language: str) -> SetAnswerScorer:
    evaluation: Any = load_recipe([f"recipe={EVALUATED[language]}"], environ={}).recipe.evaluation
    return SetAnswerScorer(evaluation.scorers["set_answer"], CONTEXT)


def asked(question: str, right: str, wrong: str, *tags: str, **fields: Any) -> Item[Any]:
    one = item(1, type="oe", tags=tags, **{"form": "set", **fields})
    texts = {"question": question, "answer": right, "answer_wrong": wrong}
    return one.model_copy(update={"payload": one.payload.model_copy(update=texts)})


ZH = asked(
    "多胎妊娠的并发症包括哪些？",
    "前置胎盘; 妊娠期高血压 / 妊高症; 早产; 妊娠期糖尿病",
    "糖尿病; 产后出血; 唐氏综合征; 胎膜早破",
)
EN = asked(
    "What are the complications of sickle cell disease?",
    "placenta praevia; preterm birth / premature birth; leukaemia; ulcer",
    "hypertension; diabetes; iron deficiency; fever",
)


def marks(text: str, one: Item[Any] = ZH, language: str = "zh", outcome: str = "complete") -> dict[str, AspectScore]:
    said = Answer.model_validate({**answer(one, text).model_dump(), "outcome": outcome})
    (found,) = scorer(language).score([(said, one)])
    assert isinstance(found, tuple)
    return {mark.aspect: mark for mark in found}


def figures(text: str, one: Item[Any] = ZH, language: str = "zh") -> list[float | None]:
    """Recall, precision and contradiction."""
    return [mark.value for mark in marks(text, one, language).values()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("早产；妊高症；前置胎盘；妊娠期糖尿病", [1, 1, 0]),
        ("妊娠期糖尿病、Ａ型流感、早泄和前置胎盘", [0.5, 0.5, 0]),
        ("多胎妊娠的并发症包括前置胎盘、早产等。", [0.5, 1, 0]),
        ("1. 前置胎盘：胎盘附着于子宫下段\n2. **妊高症**：血压升高\n3. 肝炎", [0.5, 2 / 3, 0]),
        ("- 前置胎盘\n- 产后出血\n- 糖尿病（孕前）", [0.25, 1 / 3, 0.5]),
        ("前置胎盘\n早产\n肾炎", [0.5, 2 / 3, 0]),
        ("1. 母体：前置胎盘、早产\n2. 肝炎：见于少数", [0.5, 2 / 3, 0]),
        ("并发症：前置 胎盘、“早产”", [0.5, 1, 0]),
        ("<think>糖尿病？</think>早产、前置胎盘", [0.5, 1, 0]),
    ],
)
def test_names_in_a_list_are_found_in_any_order(text: str, expected: list[float]):
    assert figures(text) == pytest.approx(expected)


def test_a_name_inside_a_longer_one_is_not_named():
    assert figures("妊娠期糖尿病") == [0.25, 1, 0]
    assert figures("糖尿病") == [0, 0, 0.25]
    assert figures("糖尿病和妊娠期糖尿病") == [0.25, 0.5, 0.25]


def test_a_name_of_words_is_found_by_whole_words_and_in_the_plural():
    text = "The complications include Placenta  Praevia, premature births, ulcers and anaemia."
    assert figures(text, EN, "en") == [0.75, 0.75, 0]
    assert figures("Ulceration in an environment", EN, "en") == [0, None, 0]


def test_a_similar_name_is_found_with_its_likeness():
    found = marks("妊娠高血压、早产")
    assert found["set_recall"].detail == "妊娠期高血压 (0.91); 早产"
    assert figures("1. Placenta previa\n2. Leukemia", EN, "en") == [0.5, 1, 0]


@pytest.mark.parametrize(
    ("one", "language", "text"),
    [
        (ZH, "zh", "妊娠期低血压、早产儿视网膜病变"),
        (EN, "en", "hypotension, hyperlipidaemia"),
        (
            asked("?", "1型糖尿病性肾脏疾病并发症; 早产", "2型糖尿病性肾脏疾病并发症; 流产"),
            "zh",
            "3型糖尿病性肾脏疾病并发症",
        ),
    ],
)
def test_what_is_only_alike_is_not_taken_for_the_name(one: Item[Any], language: str, text: str):
    assert "(0." not in "".join(mark.detail for mark in marks(text, one, language).values())


@pytest.mark.parametrize(
    ("one", "language", "text", "expected"),
    [
        (ZH, "zh", "不包括前置胎盘、早产，但可引起产后出血。", [0, 0, 0.25]),
        (ZH, "zh", "不会导致早产，而会导致前置胎盘。", [0.25, 1, 0]),
        (ZH, "zh", "不是早产，而是前置胎盘。没有糖尿病。", [0.25, 1, 0]),
        (ZH, "zh", "不仅有早产，还有前置胎盘。", [0.5, 1, 0]),
        (ZH, "zh", "一般不包括早产。也有人认为可见早产。", [0.25, 1, 0]),
        (EN, "en", "It does not include ulcers or fever, but hypertension may occur.", [0, 0, 0.25]),
        (EN, "en", "Without fever. It's not only an ulcer: leukaemia is seen.", [0.5, 1, 0]),
    ],
)
def test_what_is_denied_is_not_named(one: Item[Any], language: str, text: str, expected: list[float]):
    assert figures(text, one, language) == expected


def test_prose_is_no_list_and_only_known_names_count():
    found = marks("孕妇要注意休息，早产的风险会升高，还要多喝水。")
    assert (found["set_precision"].value, found["set_precision"].label) == (1, "no_list")
    english = marks("Patients should rest, drink, and see a doctor. An ulcer is likely.", EN, "en")
    assert (english["set_precision"].value, english["set_precision"].label) == (1, "no_list")


def test_what_else_a_list_names_counts_once_and_is_told():
    found = marks("- 前置胎盘\n- 肝炎\n- 肝炎\n- 其他并发症\n- 这一条不是名称而是对患者的一句很长的说明和劝告。")
    assert (found["set_precision"].value, found["set_precision"].detail) == (0.5, "肝炎")
    assert found["set_recall"].counts == (1, 2, 4)


def test_an_open_set_has_no_precision():
    one = asked("阿司匹林的副作用包括哪些？", "胃痛; 皮疹", "脱发; 口干", "open_set")
    found = marks("胃痛、耳鸣、口干", one)
    assert (found["set_precision"].value, found["set_precision"].label) == (None, "open_set")
    assert (found["set_recall"].value, found["set_contradiction"].value) == (0.5, 0.5)
    assert found["set_recall"].counts == (1, 2, 2)


def test_without_a_wrong_set_nothing_is_contradicted():
    found = marks("胃痛、耳鸣、口干", asked("阿司匹林的副作用包括哪些？", "胃痛; 皮疹", "", "open_set"))
    assert set(found) == {"set_recall", "set_precision"}
    assert found["set_recall"].value == 0.5


@pytest.mark.parametrize(
    ("text", "outcome", "label"),
    [("", "empty", "empty"), ("抱歉。早产", "refused", "refused"), ("<think>早产", "complete", "invalid")],
)
def test_no_answer_names_nothing(text: str, outcome: str, label: str):
    found = marks(text, outcome=outcome)
    assert [(mark.value, mark.label) for mark in found.values()] == [(0, label), (None, label), (0, label)]


def test_an_answer_that_was_cut_says_so():
    assert marks("早产、前置", outcome="truncated")["set_recall"].label == "truncated"


def test_items_of_another_form_and_missing_answers_are_not_applicable():
    other = asked("?", "前置胎盘", "早产", form="statement")
    missing = Answer.model_validate({**answer(ZH, "").model_dump(), "outcome": "missing"})
    found = scorer("zh").score([(answer(other, "早产"), other), (missing, ZH)])
    assert list(found) == [NotApplicable("no_set"), NotApplicable("missing")]


@pytest.mark.parametrize(("right", "what"), [("早产;; 流产", "no set of names"), ("", "no right member")])
def test_a_set_that_cannot_be_read_is_an_error(right: str, what: str):
    with pytest.raises(DataError, match=what):
        marks("早产", asked("?", right, "流产"))


@pytest.mark.parametrize("name", ["always_agree", "always_disagree", "echo"])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_rules_that_know_nothing_name_nothing(name: str, language: str):
    evaluation: Any = load_recipe([f"recipe={EVALUATED[language]}"], environ={}).recipe.evaluation
    baseline: Baseline = create_from_spec("baseline", evaluation.baselines[name])
    one = ZH if language == "zh" else EN
    assert figures(baseline.answer(one)[0], one, language) == [0, None, 0]


def test_the_analysis_of_items_takes_the_recall_of_a_set_and_never_what_is_wrong():
    evaluation: Any = load_recipe(["recipe=care_mi"], environ={}).recipe.evaluation
    choice = ScorerChoice(evaluation)
    ranks = [choice.rank(Measure("set_answer", f"set_{name}")) for name in ("recall", "precision", "contradiction")]
    assert ranks[0] is not None
    assert ranks[1:] == [None, None]


def test_people_and_judges_are_shown_the_whole_set():
    candidate = Candidate.build(
        origin=ZH.origin, produced_by=ZH.produced_by, language="zh", partition="p", type="oe", fact="f", form="set",
        question=ZH.payload.question, answer=ZH.payload.answer, answer_wrong=ZH.payload.answer_wrong,
    )  # fmt: skip
    (task,) = make_candidate_tasks([candidate], []).tasks
    assert dict(task.fields)["right"] == make_case(ZH, "").right == ZH.payload.answer
    assert dict(task.fields)["wrong"] == make_case(ZH, "").wrong == ZH.payload.answer_wrong
