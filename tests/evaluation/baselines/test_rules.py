"""Baselines by rule: the same words, the question, the nearest sentence."""

from pathlib import Path

import pytest
from rated_world import full, item

from benchbuilder.core.errors import DataError
from benchbuilder.core.registry import known
from benchbuilder.evaluation.baselines.best_evidence import BestEvidence, BestEvidenceSpec
from benchbuilder.evaluation.baselines.constant import Constant, ConstantSpec
from benchbuilder.evaluation.baselines.echo import Echo, EchoSpec
from benchbuilder.retrieval.tokenizers.jieba import JiebaSpec
from benchbuilder.retrieval.tokenizers.whitespace import WhitespaceSpec

NOWHERE = Path("/nowhere")
ZH = {"stops": ("。", "？"), "soft_stops": (".",), "k1": 1.5, "b": 0.75}


def nearest(tokenizer=None, **changes):
    tokenizer = tokenizer or JiebaSpec(kind="jieba")
    baseline = BestEvidence(BestEvidenceSpec(**{"kind": "best_evidence", "tokenizer": tokenizer, **ZH, **changes}))
    baseline.open(NOWHERE)
    return baseline


def test_every_kind_is_there_and_makes_its_spec():
    found = known("baseline")
    assert set(found) >= {"constant", "echo", "best_evidence", "recorded", "people"}
    for name, kind in found.items():
        assert kind.load().kind == name
        assert kind.load().spec_class.model_fields["kind"]


def test_a_constant_goes_by_type():
    spec = ConstantSpec(kind="constant", texts={"tf": "是的。", "oe": None, "poll": ""}, otherwise="不知道。")
    said = Constant(spec).answer
    assert said(item(0)) == ("是的。", "complete")
    assert said(item(1)) == ("", "missing")
    assert Constant(spec.model_copy(update={"texts": {}})).answer(item(0)) == ("不知道。", "complete")
    assert Constant(spec.model_copy(update={"texts": {"tf": ""}})).answer(item(0)) == ("", "empty")
    assert Constant(ConstantSpec(kind="constant", texts={})).answer(item(0)) == ("", "missing")


def test_an_echo_holds_the_context():
    one = item(3)
    assert one.payload.context
    assert Echo(EchoSpec(kind="echo")).answer(one) == (full(one), "complete")


def test_the_nearest_sentence_wins():
    paragraphs = (
        "妊娠晚期应注意休息。胎动减少时应及时就诊。",
        "神经管缺陷可以预防。叶酸应从孕前3个月开始补充，每日0.4mg. 孕12周后可以停用。",
    )
    baseline = nearest()
    assert baseline.answer(item(0, evidence=paragraphs)) == ("叶酸应从孕前3个月开始补充，每日0.4mg.", "complete")
    assert baseline.answer(item(0, evidence=paragraphs[::-1]))[0].startswith("叶酸")
    assert baseline.answer(item(0, evidence=("", paragraphs[0])))[0] in paragraphs[0]


def test_what_the_context_says_counts_too():
    paragraphs = ("妊娠38周的孕妇应数胎动。叶酸可预防神经管缺陷。",)
    asked = {"question": "叶酸有何作用？", "evidence": paragraphs}
    assert nearest().answer(item(1, **asked, context=""))[0].startswith("叶酸")
    assert nearest().answer(item(1, **asked, context="孕妇，妊娠38周，胎动减少，数胎动。"))[0].startswith("妊娠38周")


def test_rare_words_weigh_more_and_stop_words_nothing(tmp_path):
    words = WhitespaceSpec(kind="whitespace")
    asked = {"question": "the iron of the mother", "context": ""}
    evidence = ("the milk of the mother. the mother of the child. of the iron. the sleep of the child.",)
    english = {"tokenizer": words, "stops": (".",), "soft_stops": ()}
    one = item(1, evidence=(evidence[0].replace(".", " ."),), **asked)
    assert nearest(**english).answer(one)[0] == "of the iron ."
    stop = tmp_path / "stop.txt"
    stop.write_text("iron\n.\n", encoding="utf-8")
    assert nearest(**english, stop_words=str(stop)).answer(one)[0] != "of the iron ."


def test_without_evidence_the_answer_is_missing_and_of_equals_the_first_is_taken():
    assert nearest().answer(item(0)) == ("", "missing")
    assert nearest().answer(item(0, evidence=(" ", "\n"))) == ("", "missing")
    assert nearest().answer(item(0, evidence=("猫睡觉。狗散步。",))) == ("猫睡觉。", "complete")
    stop_only = nearest(WhitespaceSpec(kind="whitespace"))
    assert stop_only.answer(item(0, evidence=("一 二。三 四。",)))[0] == "一 二。"


def test_sentences_do_not_go_over_line_breaks():
    assert (
        nearest().answer(item(0, evidence=("叶酸补充\n叶酸应从孕前3个月开始补充",)))[0] == "叶酸应从孕前3个月开始补充"
    )


def test_no_tokenizer_is_an_error_that_says_so():
    with pytest.raises(DataError, match="no tokenizer"):
        BestEvidence(BestEvidenceSpec(**{"kind": "best_evidence", **ZH}))
    fingerprint = nearest().fingerprint()
    assert {"rank-bm25", "jieba"} <= set(fingerprint)
