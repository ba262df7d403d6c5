"""The scorer and the judge `similarity`, and the measures under them, against sacrebleu and worked examples."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from rated_world import answer, item
from sacrebleu.metrics import CHRF

from benchbuilder.core.context import StepContext
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import NotApplicable
from benchbuilder.core.records.payloads import Claim, Item
from benchbuilder.core.records.roles import Answer
from benchbuilder.core.registry import create_from_spec
from benchbuilder.core.stats.overlap import chrf, rouge_l
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.evaluation.judges.similarity import SimilarityJudge, SimilarityJudgeSpec
from benchbuilder.evaluation.scorers.base import AspectScore
from benchbuilder.evaluation.scorers.similarity import SimilarityScorer, SimilaritySpec
from benchbuilder.evaluation.stats.overlap import content_tokens, relative_closeness
from benchbuilder.retrieval.tokenizers.jieba import JiebaSpec
from benchbuilder.retrieval.tokenizers.simple import WhitespaceSpec

CONTEXT = StepContext(seed=1, language="zh", step="similarity.jia", cache=Path("none"), workplace=Path("none"))


def made(*measures: str, tokenizer: Any = None) -> SimilarityScorer:
    spec = SimilaritySpec.model_validate(
        {
            "kind": "similarity",
            "measures": measures or ("chrf", "rouge_l"),
            "tokenizer": tokenizer or JiebaSpec(kind="jieba"),
        }
    )
    scorer = SimilarityScorer(spec, CONTEXT)
    scorer.open()
    return scorer


def claim(right: str, wrong: str) -> Item[Claim]:
    one = item(1)
    return one.model_copy(update={"payload": one.payload.model_copy(update={"answer": right, "answer_wrong": wrong})})


ITEM = claim("新生儿黄疸多在出生后2～3天出现。", "新生儿黄疸多在出生后24小时内出现。")


def values(scorer: SimilarityScorer, text: str, one: Item[Claim] = ITEM) -> dict[str, float | None]:
    (marks,) = scorer.score([(answer(one, text), one)])
    assert isinstance(marks, tuple)
    assert all(mark.value is not None and 0 <= mark.value <= 1 for mark in marks)
    return {mark.aspect: mark.value for mark in marks}


def test_chrf_is_that_of_sacrebleu():
    pairs = [
        ("新生儿黄疸", "新生儿溶血"),
        ("the cat sat", "a cat sat down"),
        ("é", "e"),
        ("a b", "ab"),
        ("不是", "是的"),
    ]
    rng = random.Random(8)
    marks = "ab 的是不\t\u3000\x1c\u200b哺乳é"
    for _ in range(400):
        text = "".join(rng.choices(marks, k=rng.randint(1, 60)))
        cut = rng.randint(0, len(text))
        pairs.append((text, text[cut:] + text[:cut] + rng.choice(marks)))
        pairs.append((text, "".join(rng.choices(marks, k=rng.randint(1, 9)))))
    for text, reference in pairs:
        if text.strip() and reference.strip():
            assert chrf(text, reference) == CHRF().sentence_score(text, [reference]).score / 100
    assert chrf("ab", "ab") == 1
    assert chrf(" ", "ab") == chrf("ab", "") == 0


def test_chrf_of_a_worked_example():
    """One character: precision 1/2, recall 1; only unigrams exist on both sides."""
    precision, recall = 1 / 2, 1
    assert chrf("ab", "a") == pytest.approx(5 * precision * recall / (4 * precision + recall))


def _lcs(left: list[str], right: list[str]) -> int:
    table = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def test_rouge_l_is_the_f_measure_of_the_longest_common_subsequence():
    rng = random.Random(5)
    for _ in range(200):
        left = [rng.choice("abcd") for _ in range(rng.randint(1, 12))]
        right = [rng.choice("abcd") for _ in range(rng.randint(1, 12))]
        common = _lcs(left, right)
        precision, recall = common / len(left), common / len(right)
        wanted = 2 * precision * recall / (precision + recall) if common else 0.0
        assert rouge_l(left, right) == pytest.approx(wanted)
    # Lin 2004, section 3: "police killed the gunman" against two candidates, 3/4 and 2/4
    reference = ["police", "killed", "the", "gunman"]
    assert rouge_l(["police", "kill", "the", "gunman"], reference) == pytest.approx(3 / 4)
    assert rouge_l(["the", "gunman", "kill", "police"], reference) == pytest.approx(2 / 4)


def test_only_what_holds_letters_or_digits_is_a_word():
    assert content_tokens("Breast milk, 2 L (!) है ที่", str.split) == ["breast", "milk,", "2", "l", "है", "ที่"]
    assert relative_closeness(0.8, 0.4) == pytest.approx(0.7)


def test_right_and_wrong_statements_pull_apart():
    scorer = made()
    right, wrong = values(scorer, ITEM.payload.answer), values(scorer, ITEM.payload.answer_wrong)
    assert list(right) == ["chrf_right", "chrf_difference", "rouge_l_right", "rouge_l_difference"]
    assert right["chrf_right"] == right["rouge_l_right"] == 1
    for measure in ("chrf", "rouge_l"):
        assert right[f"{measure}_difference"] > 0.55
        assert wrong[f"{measure}_difference"] == pytest.approx(1 - right[f"{measure}_difference"], abs=0.03)


def test_punctuation_reasoning_and_company_do_not_count():
    scorer = made()
    plain = values(scorer, "黄疸多在出生后2～3天出现")
    assert values(scorer, "<think>24小时内出现</think>黄疸多在出生后2～3天出现") == plain
    assert values(scorer, "<think>黄疸多在出生后2～3天出现") == values(scorer, "")
    together = scorer.score([(answer(ITEM, text), ITEM) for text in ("x", "黄疸多在出生后2～3天出现", "")])
    marks = list(together)[1]
    assert isinstance(marks, tuple)
    assert {mark.aspect: mark.value for mark in marks} == plain


def test_an_answer_without_text_is_similar_to_nothing():
    assert values(made("chrf"), "") == {"chrf_right": 0, "chrf_difference": 0.5}


@pytest.mark.parametrize("outcome", ["refused", "truncated", "empty", "filtered"])
def test_the_label_is_what_became_of_the_request(outcome):
    one: Answer = answer(ITEM, "黄疸").model_copy(update={"outcome": outcome})
    (marks,) = made("chrf").score([(one, ITEM)])
    assert isinstance(marks, tuple)
    assert {mark.label for mark in marks} == {outcome}


def test_what_cannot_be_compared_has_a_reason():
    scorer = made("chrf")
    nothing = claim("", "x")
    missing: Answer = answer(ITEM, "").model_copy(update={"outcome": "missing"})
    verdicts = ITEM.model_copy(update={"verdict_only": True})
    names = ITEM.model_copy(update={"form": "set"})
    pairs = [(answer(one, "x"), one) for one in (nothing, verdicts, names)]
    found = scorer.score([(missing, ITEM), *pairs])
    reasons = ["missing", "no_reference", "verdict_only", "name_set"]
    assert list(found) == list(map(NotApplicable, reasons))
    assert set(reasons) == set(scorer.reasons)


def test_without_a_wrong_statement_there_is_no_difference():
    one = claim("叶酸", "")
    (marks,) = made("chrf").score([(answer(one, "叶酸"), one)])
    assert marks == (AspectScore("chrf_right", 1.0),)


def test_tokens_are_those_of_the_recipe_s_tokenizer():
    one = claim("abc def", "abc xyz")
    assert values(made("rouge_l", tokenizer=WhitespaceSpec(kind="whitespace")), "abc", one)["rouge_l_right"] == 2 / 3
    with pytest.raises(DataError, match="no tokenizer"):
        SimilarityScorer(SimilaritySpec(kind="similarity", measures=("rouge_l",)), CONTEXT)
    assert set(made("chrf").fingerprint()) | {"jieba"} == set(made().fingerprint()) | {"sacrebleu"}


def test_of_a_huge_answer_only_the_beginning_is_compared_and_that_is_said():
    one = answer(ITEM, "多在出生后2～3天出现。" + "哈" * 3_000_000)
    (marks,) = made("chrf").score([(one, ITEM)])
    (short,) = made("chrf").score([(answer(ITEM, one.text[:20_000]), ITEM)])
    assert [mark.value for mark in marks] == [mark.value for mark in short]
    assert all("the first 20,000 of 3,000,012 characters" in mark.detail for mark in marks)
    assert not any("characters" in mark.detail for mark in short)


RIGHT, WRONG = "新生儿黄疸多在出生后2～3天出现。", "新生儿黄疸多在出生后24小时内出现。"


def judge(measure: str = "chrf") -> SimilarityJudge:
    spec = SimilarityJudgeSpec.model_validate(
        {"kind": "similarity", "aspect": "correctness", "measure": measure, "tokenizer": JiebaSpec(kind="jieba")}
    )
    made = create_from_spec("judge", spec)
    made.ready()
    made.open(None)
    return made


def case(answer: str, right: str = RIGHT, wrong: str = WRONG) -> Case:
    return Case(question="新生儿黄疸多在什么时候出现？", answer=answer, evidence=("黄疸",), right=right, wrong=wrong)


@pytest.mark.parametrize("measure", ["chrf", "rouge_l"])
def test_the_right_statement_scores_above_the_wrong_one(measure):
    right, near, neither, wrong = judge(measure).score(
        [case(RIGHT), case("多在出生后2～3天出现"), case("早上好"), case(WRONG)]
    )
    assert 1 >= right > neither > wrong >= 0
    assert 1 >= near > neither
    assert neither == pytest.approx(0.5, abs=0.05)
    assert right + wrong == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("measure", ["chrf", "rouge_l"])
def test_a_case_scores_alone_as_in_company(measure):
    cases = [case(text) for text in ("2～3天", "", "24小时内", "2～3天", "<think>24小时内</think>2～3天")]
    together = judge(measure).score(cases)
    assert together == [judge(measure).score([one])[0] for one in cases]
    assert together[0] == together[3] == together[4]
    assert together == judge(measure).score([one.without_evidence() for one in cases])


def test_without_statements_or_text_it_cannot_tell():
    assert judge().score([case(""), case("2～3天", right="", wrong="")]) == [0.5, 0.5]


def test_it_needs_no_training_and_its_fingerprint_names_what_it_computes():
    assert not SimilarityJudge.trains
    assert set(judge().fingerprint()) == {"sacrebleu"}
    assert set(judge("rouge_l").fingerprint()) == {"jieba"}
    with pytest.raises(DataError, match="no tokenizer"):
        SimilarityJudge(SimilarityJudgeSpec(kind="similarity", aspect="correctness", measure="rouge_l"))
