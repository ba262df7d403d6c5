from __future__ import annotations

from typing import Any

import pytest
from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import Dropped, NotApplicable
from benchbuilder.core.records.payloads import Claim, Item
from benchbuilder.core.records.roles import Answer
from benchbuilder.evaluation.scorers.base import AspectScore
from benchbuilder.models.base import Reply
from benchbuilder.models.providers.replay import ReplaySpec
from benchbuilder.testing import check_kind, check_scorer

from benchbuilder_cmhe.dd.case import Diagnosis, PatientCase
from benchbuilder_cmhe.dd.classification import open_classification
from benchbuilder_cmhe.dd.icd10 import DictionarySpec, Icd10, Icd10Spec
from benchbuilder_cmhe.dd.mentions import MentionFinder

from .dd_sample import PROMPTS, ROW, classification, context, part

HAY_FEVER = Diagnosis(name="过敏性鼻炎", code="J30.400", how="exact", chapter="X", block="J30-J39", category="J30")
STROKE = Diagnosis(name="脑梗死", code="I63.900", how="exact", chapter="IX", block="I60-I69", category="I63")
PRESSURE = Diagnosis(name="高血压", code="I10.x00", how="alias", chapter="IX", block="I10-I15", category="I10")


def item(*diagnoses: Diagnosis) -> Item[Any]:
    payload = PatientCase(text="病情。", diagnoses=diagnoses, setting="exam")
    return Item[PatientCase].build(payload=payload, candidate="", fact="f", reviewed=True, partition="exam", **ROW)


def answer(text: str, to: Item[Any], outcome: str = "complete") -> Answer:
    return Answer.child(to, produced_by=ROW["produced_by"], model="m", text=text, outcome=outcome)


def raw(**changes: Any) -> dict[str, Any]:
    spec = part("evaluation/cmhe_dd.yaml")["scorers"]["icd10"]
    spec["classification"] = classification().model_dump()
    spec["prompt"] = {"path": spec["prompt"], "resolved_path": str(PROMPTS / spec["prompt"])}
    return spec | changes


def scorer(**changes: Any) -> Icd10:
    return Icd10(Icd10Spec.model_validate(raw(**changes)), context())


def marks(text: str, *diagnoses: Diagnosis, outcome: str = "complete") -> list[AspectScore]:
    to = item(*diagnoses)
    (scored,) = scorer().score([(answer(text, to, outcome), to)])
    assert isinstance(scored, tuple)
    return list(scored)


def counts(text: str, *diagnoses: Diagnosis) -> list[tuple[int, ...]]:
    return [mark.counts for mark in marks(text, *diagnoses)]


def test_near_misses_count_as_far_as_they_agree() -> None:
    assert counts("诊断：过敏性鼻炎", HAY_FEVER) == [(1, 1, 1)] * 3
    assert counts("诊断：慢性鼻炎", HAY_FEVER) == [(1, 1, 1), (1, 1, 1), (0, 1, 1)]
    assert counts("支气管炎", HAY_FEVER) == [(1, 1, 1), (0, 1, 1), (0, 1, 1)]
    assert counts("胃溃疡", HAY_FEVER) == [(0, 1, 1)] * 3


def test_several_diseases_are_sets_at_each_level() -> None:
    assert counts("脑出血，高血压", STROKE, PRESSURE) == [(1, 1, 1), (2, 2, 2), (1, 2, 2)]
    assert counts("心绞痛", STROKE, PRESSURE) == [(1, 1, 1), (0, 1, 2), (0, 1, 2)]
    values = [mark.value for mark in marks("高血压", STROKE, PRESSURE)]
    assert values == [1.0, pytest.approx(2 / 3), pytest.approx(2 / 3)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("最可能的诊断是过敏性鼻炎，需与慢性鼻炎鉴别。", ["J30"]),
        ("最可能的诊断是过敏性鼻炎。慢性鼻炎没有季节性。", ["J30"]),
        ("患者无高血压、心绞痛，考虑急性阑尾炎。", ["K35"]),
        ("排除肺炎，支持支气管哮喘。", ["J45"]),
        ("肺炎可能性不大。", []),
        ("诊断：2型糖尿病；高血压", ["E11", "I10"]),
        ("<think>也许是肺炎</think>痛风。", ["M10"]),
        ("慢性支气管炎（支气管炎）", ["J42"]),
        ("麻疹。麻疹传染性强。", ["B05"]),
        ("发热、头痛，具体不清楚。", []),
        ("他有高血压病史，此次考虑为脑出血。", ["I61"]),
        ("综合考虑，诊断为Ⅱ 型糖尿病。", ["E11"]),
        ("最可能的诊断是肺炎，也可能是支气管炎。", ["J18", "J40"]),
        ("诊断为肺炎。其次可能是支气管炎。", ["J18"]),
        ("不是支气管炎而是肺炎。", ["J18"]),
        ("排除心绞痛后考虑肺炎。", ["J18"]),
        ("结合病史考虑肺炎。", ["J18"]),
        ("否认高血压、2型糖尿病、心绞痛、胃溃疡病史。", []),
        ("肺炎。鉴别诊断：支气管炎、支气管哮喘、过敏性鼻炎", ["J18"]),
        ("肺炎可能性小。", []),
        ("", []),
    ],
)
def test_what_an_answer_names(text: str, found: list[str]) -> None:
    detail = marks(text, HAY_FEVER)[2].detail
    assert detail.partition(" | ")[0] == (" ".join(found) or "nothing")


def test_an_answer_without_a_disease_gives_nothing_and_is_wanted_all_the_same() -> None:
    assert counts("不知道。", HAY_FEVER) == [(0, 0, 1)] * 3
    refused = marks("", HAY_FEVER, outcome="refused")
    assert [(mark.value, mark.label, mark.counts) for mark in refused] == [(0.0, "refused", (0, 0, 1))] * 3
    labels = [marks(text, HAY_FEVER)[2].label for text in ("过敏性鼻炎", "慢性鼻炎", "过敏性鼻炎、痛风", "不清楚")]
    assert labels == ["right", "wrong", "part", "nothing"]


def test_what_cannot_be_scored() -> None:
    to = item(HAY_FEVER)
    assert list(scorer().score([(answer("", to, "missing"), to)])) == [NotApplicable("missing")]
    bare = item(Diagnosis(name="a cold"))
    claim = Item[Claim].build(payload=Claim.examples()[0], candidate="", fact="f", reviewed=True, partition="x", **ROW)
    for other in (bare, claim):
        assert list(scorer().score([(answer("痛风", other), other)])) == [NotApplicable("no_case")]


def test_names_inside_words_do_not_count_where_words_are_written_apart(tmp_path: Any) -> None:
    file = tmp_path / "names.tsv"
    file.write_text("code\tname\nM10.9\tgout\nJ30.1\they fever\nJ30.4\thay fever\n", encoding="utf-8")
    spec = classification(names={"list": {"file": str(file), "code": "code", "name": "name"}}, aliases={}, spellings={})
    dictionary = part("evaluation/cmhe_dd.yaml")["scorers"]["icd10"]["dictionary"]
    reading = DictionarySpec.model_validate(dictionary | {"whole_words": True}).mention_rules()
    found = MentionFinder(open_classification(spec), reading).find("Ragouts are no disease. Gout, and nothing else.")
    assert [mention.match.code for mention in found] == ["M10.9"]


MODEL = {"model": ReplaySpec(kind="replay", replies=FileRef(path="x"), name="m")}


def ask(text: str, replies: list[Reply], **changes: Any) -> Any:
    made = scorer(**{**MODEL, "sampling": {"temperature": 0.5}, **changes})
    made.open()
    to = item(HAY_FEVER)
    talk = made.converse(answer(text, to), to)
    sent = []
    try:
        sent.append(next(talk))
        for reply in replies:
            sent.append(talk.send(reply))
    except StopIteration as end:
        return end.value, sent
    raise AssertionError("it asks for more")


def test_a_model_lists_names_and_the_classification_codes_them() -> None:
    scored, sent = ask(
        "大概是花粉引起的过敏性鼻炎</answer>", [Reply('{"diseases": ["过敏性鼻炎", "痛风"]}', "complete")]
    )
    assert [mark.counts for mark in scored] == [(1, 2, 1)] * 3
    assert "‹/answer>" in sent[0].messages[0].content
    assert sent[0].schema is not None


def test_a_name_that_the_model_made_up_counts_as_given_or_not() -> None:
    reply = [Reply('{"diseases": ["过敏性鼻炎", "鼻腔风动症候群"]}', "complete")]
    assert ask("x", reply)[0][2].counts == (1, 2, 1)
    assert ask("x", reply, unknown="ignored")[0][2].counts == (1, 1, 1)
    assert ask("x", [Reply('{"diseases": ["发热"]}', "complete")])[0][2].counts == (0, 0, 1)  # no disease here


def test_a_reply_that_cannot_be_read_is_asked_for_once_more() -> None:
    broken = Reply("过敏性鼻炎", "complete")
    scored, sent = ask("x", [broken, Reply('好的：{"diseases": []}', "complete")])
    assert scored[2].counts == (0, 0, 1)
    assert [request.sample for request in sent] == [0, 1]
    dropped, _ = ask("x", [broken, broken])
    assert isinstance(dropped, Dropped)
    assert dropped.reason == "reply_malformed"
    assert ask("x", [Reply("", "refused")])[0].reason == "reply_refused"
    assert ask(" ", [])[0][2].counts == (0, 0, 1)  # nothing to ask about


def test_a_model_needs_a_prompt() -> None:
    with pytest.raises(DataError, match="no prompt"):
        scorer(**MODEL, prompt=None)


def test_contract() -> None:
    check_kind("scorer", "icd10", Icd10)
    texts = ("过敏性鼻炎", "慢性鼻炎和痛风", "", "不知道", "脑出血；高血压")
    pairs = []
    for text in texts:
        to = item(HAY_FEVER, PRESSURE)
        pairs.append((answer(text, to), to))
    assert len(check_scorer(scorer, pairs)) == len(texts)
