"""The judge `similarity`: nearer to the right statement than to the wrong one, without any training."""

from __future__ import annotations

import pytest

from benchbuilder.core.errors import DataError, InstallationError
from benchbuilder.core.registry import create_from_spec
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.evaluation.judges.similarity import SimilarityJudge, SimilarityJudgeSpec
from benchbuilder.retrieval.tokenizers.jieba import JiebaSpec

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


def test_it_needs_no_training_and_says_what_it_needs(monkeypatch):
    assert not SimilarityJudge.trains
    assert set(judge().fingerprint()) == {"sacrebleu"}
    assert set(judge("rouge_l").fingerprint()) == {"jieba"}
    with pytest.raises(DataError, match="no tokenizer"):
        SimilarityJudge(SimilarityJudgeSpec(kind="similarity", aspect="correctness", measure="rouge_l"))
    monkeypatch.setattr("benchbuilder.evaluation.judges.base.find_spec", lambda name: None)
    with pytest.raises(InstallationError, match="sacrebleu"):
        judge()
