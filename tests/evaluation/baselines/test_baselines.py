"""Baselines: by a rule, and from recorded answers."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rated_world import full, item, jsonl

from benchbuilder.core.errors import DataError
from benchbuilder.core.registry import kinds_of_slot
from benchbuilder.evaluation.baselines.best_evidence import BestEvidenceBaseline, BestEvidenceSpec
from benchbuilder.evaluation.baselines.recorded import RecordedAnswers, RecordedSpec, recorded_answer_models
from benchbuilder.evaluation.baselines.rules import ConstantBaseline, ConstantSpec, EchoBaseline, EchoSpec
from benchbuilder.retrieval.tokenizers.jieba import JiebaSpec
from benchbuilder.retrieval.tokenizers.simple import WhitespaceSpec

# --- rules -----------------------------------------------------------------------------------------------------------

NOWHERE = Path("/nowhere")
ZH = {"stops": ("。", "？"), "soft_stops": (".",), "k1": 1.5, "b": 0.75}


def nearest(tokenizer=None, **changes):
    tokenizer = tokenizer or JiebaSpec(kind="jieba")
    baseline = BestEvidenceBaseline(
        BestEvidenceSpec(**{"kind": "best_evidence", "tokenizer": tokenizer, **ZH, **changes})
    )
    baseline.open(NOWHERE)
    return baseline


def test_every_kind_is_there_and_makes_its_spec():
    found = kinds_of_slot("baseline")
    assert set(found) >= {"constant", "echo", "best_evidence", "recorded", "people"}
    for name, kind in found.items():
        assert kind.load().kind == name
        assert kind.load().spec_class.model_fields["kind"]


def test_a_constant_goes_by_type():
    spec = ConstantSpec(kind="constant", texts={"tf": "是的。", "oe": None, "poll": ""}, otherwise="不知道。")
    said = ConstantBaseline(spec).answer
    assert said(item(0)) == ("是的。", "complete")
    assert said(item(1)) == ("", "missing")
    assert ConstantBaseline(spec.model_copy(update={"texts": {}})).answer(item(0)) == ("不知道。", "complete")
    assert ConstantBaseline(spec.model_copy(update={"texts": {"tf": ""}})).answer(item(0)) == ("", "empty")
    assert ConstantBaseline(ConstantSpec(kind="constant", texts={})).answer(item(0)) == ("", "missing")


def test_an_echo_holds_the_context():
    one = item(3)
    assert one.payload.context
    assert EchoBaseline(EchoSpec(kind="echo")).answer(one) == (full(one), "complete")


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
        BestEvidenceBaseline(BestEvidenceSpec(**{"kind": "best_evidence", **ZH}))
    fingerprint = nearest().fingerprint()
    assert {"rank-bm25", "jieba"} <= set(fingerprint)


# --- recorded --------------------------------------------------------------------------------------------------------

ITEMS = [item(number) for number in range(4)]


def opened(path, model="jia"):
    baseline = RecordedAnswers(RecordedSpec(kind="recorded", file=str(path), model=model))
    baseline.open(Path("/nowhere"))
    return baseline


def row(one, text, model="jia", **more):
    return {"id": one.id, "model": model, "answer": text, **more}


def refused(path, *parts, model="jia"):
    with pytest.raises(DataError) as caught:
        opened(path, model).answer(ITEMS[0])
    told = str(caught.value)
    assert all(part in told for part in parts), told


def test_answers_by_id_and_the_models_in_order(tmp_path):
    file = jsonl(tmp_path / "a.jsonl", [
        row(ITEMS[0], "是的。", "Yi 7B"), row(ITEMS[0], " 不是。\n"), row(ITEMS[1], "否", "Yi 7B", note="x", n=[1]),
    ])  # fmt: skip
    assert recorded_answer_models(file) == ["Yi 7B", "jia"]
    assert opened(file).answer(ITEMS[0]) == ("不是。", "complete")
    assert opened(file).answer(ITEMS[1]) == ("", "missing")
    assert opened(file, "Yi 7B").answer(ITEMS[1]) == ("否", "complete")


def test_outcomes(tmp_path):
    outcomes = {"refused": "抱歉", "truncated": "一半", "filtered": ""}
    rows = [row(one, text, outcome=name) for one, (name, text) in zip(ITEMS, outcomes.items(), strict=False)]
    file = jsonl(
        tmp_path / "a.jsonl", [*rows, row(ITEMS[3], None), row(item(9), "  "), row(item(8), "", outcome="complete")]
    )
    told = opened(file)
    assert [told.answer(one) for one in ITEMS] == [
        ("抱歉", "refused"), ("一半", "truncated"), ("", "filtered"), ("", "missing")
    ]  # fmt: skip
    assert told.answer(item(9)) == told.answer(item(8)) == ("", "empty")
    jsonl(file, [row(ITEMS[0], "x", outcome="lost")])
    refused(file, "a.jsonl:1", "'lost'", "truncated")


def test_answers_by_the_whole_question_whatever_its_white_space(tmp_path):
    one = ITEMS[0]
    assert one.payload.context
    bare = item(1)
    rows = [{"question": f"  {full(one)} ", "model": "jia", "answer": "甲"},
            {"question": one.payload.question, "model": "jia", "answer": "丙"},
            {"id": "item-of-another-build", "question": full(bare), "model": "jia", "answer": "乙"}]  # fmt: skip
    told = opened(jsonl(tmp_path / "a.jsonl", rows))
    assert told.answer(one) == ("甲", "complete")
    assert told.answer(bare) == ("乙", "complete")


def test_the_id_goes_before_the_question_and_must_not_contradict_it(tmp_path):
    one, twin = item(0), item(6, "第0问：叶酸应从孕前3个月开始补充吗？", context="孕妇，28岁，妊娠38周。")
    assert full(one) == full(twin)
    assert one.id != twin.id
    rows = [row(one, "甲", question=full(one)), row(twin, "乙", question=full(twin))]
    told = opened(jsonl(tmp_path / "a.jsonl", rows))
    assert (told.answer(one)[0], told.answer(twin)[0]) == ("甲", "乙")
    third = item(12, "第0问：叶酸应从孕前3个月开始补充吗？", context="孕妇，28岁，妊娠38周。")
    with pytest.raises(DataError, match="lines 1, 2 answer one question differently"):
        told.answer(third)
    bare = jsonl(tmp_path / "b.jsonl", [row(one, "甲", question=one.payload.question)])
    assert opened(bare).answer(one) == ("甲", "complete")
    refused(jsonl(tmp_path / "c.jsonl", [row(one, "甲", question="另一个问题？")]), "c.jsonl:1", "另一个问题")


@pytest.mark.parametrize("second", ["是的。", "不是。"])
def test_two_answers_of_one_model_are_refused(tmp_path, second):
    file = jsonl(tmp_path / "a.jsonl", [row(ITEMS[0], "是的。"), row(ITEMS[1], "x"), row(ITEMS[0], second)])
    also = "the same" if second == "是的。" else "another"
    refused(file, "a.jsonl:3", "line 1 has " + also, ITEMS[0].id)
    by_question = [{"question": q, "model": "jia", "answer": second} for q in ("问  一", "问 一")]
    refused(jsonl(tmp_path / "b.jsonl", by_question), "b.jsonl:2", "line 1 has the same")
    with pytest.raises(DataError):
        recorded_answer_models(file)


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"model": ""}, "no `model`"), ({"id": None}, "neither `id` nor"), ({"answer": ["x"]}, "answer is list"),
     ({"answer": 3}, "answer is int"), ({"model": {}}, "model is dict")],
)  # fmt: skip
def test_rows_that_cannot_be_used(tmp_path, changed, told):
    file = jsonl(tmp_path / "a.jsonl", [row(ITEMS[1], "x"), row(ITEMS[0], "x") | changed])
    refused(file, "a.jsonl:2", told)


def test_a_row_without_an_answer_is_a_fault_but_a_null_is_not(tmp_path):
    refused(jsonl(tmp_path / "a.jsonl", [{"id": "x", "model": "jia"}]), "a.jsonl:1", "no `answer`")
    assert opened(jsonl(tmp_path / "b.jsonl", [row(ITEMS[0], None)])).answer(ITEMS[0]) == ("", "missing")


def test_an_unknown_model_and_an_unknown_file(tmp_path):
    refused(jsonl(tmp_path / "a.jsonl", [row(ITEMS[0], "x")]), "no answer of the model 'bing'", "jia", model="bing")
    refused(tmp_path / "none.jsonl", "none.jsonl cannot be read", "No such file")
    (tmp_path / "a.docx").write_bytes(b"x")
    refused(tmp_path / "a.docx", "'.docx'", "Parquet")
    refused(jsonl(tmp_path / "empty.jsonl", []), "it has no answers")


def test_all_formats_say_the_same(tmp_path):
    text = '他说："先看看"，\n再说\t吧, ok'
    rows = [row(ITEMS[0], text), row(ITEMS[1], "=1+1", "yi")]
    quoted = text.replace('"', '""')
    files = [jsonl(tmp_path / "a.jsonl", rows), tmp_path / "a.parquet"]
    pq.write_table(pa.Table.from_pylist(rows), files[1])
    for name, mark, code in (("a.csv", ",", "utf-8"), ("b.csv", ";", "utf-8-sig"), ("c.csv", ",", "gb18030"),
                             ("d.tsv", "\t", "utf-8"), ("e.csv", "\t", "utf-16")):  # fmt: skip
        lines = [("model", "id", "answer"), ("jia", ITEMS[0].id, f'"{quoted}"'), ("yi", ITEMS[1].id, "=1+1")]
        (tmp_path / name).write_bytes("\r\n".join(mark.join(cells) for cells in lines).encode(code))
        files.append(tmp_path / name)
    for file in files:
        assert opened(file).answer(ITEMS[0]) == (text.strip(), "complete"), file
        assert opened(file, "yi").answer(ITEMS[1]) == ("=1+1", "complete"), file


def test_lines_of_delimited_files_are_those_of_an_editor(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text('id,model,answer\ni1,jia,"one\ntwo"\n\ni2,,x\n', encoding="utf-8")
    refused(file, "a.csv:5", "no `model`")
    file.write_text("id,model,answer\ni1,jia,a,b\n", encoding="utf-8")
    refused(file, "a.csv:2", "it has 4 cells, the header has 3")
    file.write_text('id,model,answer\ni1,jia,"open\n', encoding="utf-8")
    refused(file, "a.csv:2", "unexpected end of data")
    file.write_text("id,model,id,answer\n", encoding="utf-8")
    refused(file, "a.csv:1", "two columns are named 'id'")
    (tmp_path / "b.jsonl").write_text('{"id": "i1"\n', encoding="utf-8")
    refused(tmp_path / "b.jsonl", "b.jsonl:1", "it is not JSON")
    (tmp_path / "b.jsonl").write_text("[1]\n", encoding="utf-8")
    refused(tmp_path / "b.jsonl", "b.jsonl:1", "not a JSON object")


def test_a_file_that_was_changed_is_read_again(tmp_path):
    file = jsonl(tmp_path / "a.jsonl", [row(ITEMS[0], "是的。")])
    assert opened(file).answer(ITEMS[0])[0] == "是的。"
    jsonl(file, [row(ITEMS[0], "不是这样。")])
    assert opened(file).answer(ITEMS[0])[0] == "不是这样。"


def test_half_a_character_in_an_answer_is_replaced_and_the_rest_kept(tmp_path):
    file = tmp_path / "a.jsonl"
    said = ('"\\ud83d 是的"', '"\\ud83d\\ude00"')
    file.write_text(
        "\n".join(
            f'{{"id": "{one.id}", "model": "jia", "answer": {text}}}' for one, text in zip(ITEMS, said, strict=False)
        ),
        encoding="utf-8",
    )
    told = opened(file)
    assert told.answer(ITEMS[0]) == ("\ufffd 是的", "complete")
    assert told.answer(ITEMS[1]) == ("\U0001f600", "complete")
