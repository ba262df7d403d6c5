"""The steps that prepare questions: they convert scripts, clean options and split stems."""

import pickle
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preparation_rows import choice, make, triple, zh
from pydantic import ValidationError

from benchbuilder.core.records.answered import QuestionAnswer
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Choice, Fact, LabelledClaim, MultipleAnswerChoice, Option, Term, Triple
from benchbuilder.core.records.procedures import Procedure
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.core.text.normalise import Conversion, convert_script
from benchbuilder.pipeline.accounting.shard import account_batch, account_map
from benchbuilder.steps.language.normal_form import rewrite_texts

# --- convert script --------------------------------------------------------------------------------------------------


def test_traditional_rows_are_converted_and_the_original_is_kept():
    row = triple("嬰兒濕疹", "臨床表現", "紅斑", head_terms=("嬰兒濕疹", "奶癬"))
    (outcome,) = make("convert_script", convert="t2s").map(row, {})
    out = outcome.row
    assert (out.payload.head, out.payload.relation, out.payload.tail) == ("婴儿湿疹", "临床表现", "红斑")
    assert out.payload.head_terms == ("婴儿湿疹", "奶癣")
    assert "嬰兒濕疹" in out.original
    assert out.of == row.id
    assert out.id != row.id
    assert type(out) is type(row)
    assert out.produced_by.rule == "convert_script/t2s"


def test_rows_that_nothing_changes_pass_as_they_are():
    row = choice("佝偻病患儿缺乏的维生素是")
    assert make("convert_script", convert="t2s").map(row, {}) == [Kept(row)]
    traditional = triple("嬰兒", "是", "病人")
    assert make("convert_script", convert=None).map(traditional, {}) == [Kept(traditional)]


def test_the_version_of_opencc_is_in_the_key_only_where_it_is_used():
    assert set(make("convert_script", convert="t2s").fingerprint()) == {"opencc"}
    assert make("convert_script", convert=None).fingerprint() == {}


def test_an_unknown_conversion_is_refused():
    with pytest.raises(ValidationError, match="t2s"):
        make("convert_script", convert="traditional")


def test_the_stage_can_be_pickled():
    pickle.loads(pickle.dumps(make("convert_script", convert="t2s")))


def by_the_column(stage, table):
    """The rows and outcomes of a table, and the same made row by row."""
    rows = list(table)
    rowwise = account_map(stage, rows, [list(stage.map(row, {})) for row in rows], table.row)
    columnar = account_batch(stage, table, stage.map_columns(table), table.row)
    assert columnar.outcomes.equals(rowwise.outcomes)
    assert columnar.rows.arrow.equals(rowwise.rows.arrow)
    return columnar


TEXT = st.text(
    st.sampled_from(["湿", "嬰", "兒", "著", "名", "e", "\u0301", "\n", "\r", "\x00", "ﬁ", "車", "甲"]), max_size=5
)
DONE = st.sampled_from(
    [{"convert": "t2s"}, {"convert": None}, {"convert": "s2twp"}, {"convert": None, "normal_form": "NFC"},
     {"convert": "tw2sp", "normal_form": "NFKD"}]
)  # fmt: skip


@pytest.mark.push
@given(DONE, st.lists(st.tuples(TEXT, TEXT, st.lists(TEXT, max_size=3)), max_size=6), st.integers(0, 2))
def test_triples_are_converted_by_the_column_as_row_by_row(done, texts, start):
    rows = [
        triple(head, "名著", tail, line=line, head_terms=tuple(terms)) for line, (head, tail, terms) in enumerate(texts)
    ]
    table = Table(Table.of(rows, Fact[Triple]).arrow.slice(start), Fact[Triple])
    by_the_column(make("convert_script", **done), table)


def test_questions_are_converted_by_the_column_where_only_an_option_changes():
    rows = [choice("诊断是"), choice("诊断是", "濕疹", options=("濕疹", "肺炎")), choice("诊断\n是", line=2)]
    shard = by_the_column(make("convert_script", convert="t2s"), Table.of(rows, Fact[Choice]))
    assert [row.produced_by.rule for row in shard.rows] == ["reader", "convert_script/t2s", "reader"]


WORD = st.text(
    st.sampled_from(["濕", "疹", "著", "名", "慰", "藉", "e", "\u0301", "\x1f", "\x00", " ", "甲"]), max_size=6
)
WORDS = st.lists(WORD, max_size=3).map(tuple)
OPTIONS = st.lists(WORD.map(lambda text: Option(key="A", text=text)), max_size=3).map(tuple)
PAYLOADS = {
    Choice: st.builds(Choice, context=WORD, question=WORD, options=OPTIONS, answer_key=st.just("A"), answer=WORD,
                      category=WORD),
    LabelledClaim: st.builds(LabelledClaim, text=WORD, label=st.just("true"), premise=WORD, quote=WORD, gold=WORDS),
    Procedure: st.builds(Procedure, title=WORD, steps=st.lists(WORD, min_size=2, max_size=4).map(tuple)),
    QuestionAnswer: st.builds(QuestionAnswer, question=WORD, answers=st.lists(WORD, min_size=1, max_size=3).map(tuple),
                              wrong=WORDS, gold=WORDS),
    MultipleAnswerChoice: st.builds(MultipleAnswerChoice, context=WORD, question=WORD, options=OPTIONS,
                                    answer_keys=WORDS),
    Term: st.builds(Term, text=WORD, original=WORDS, lists=WORDS, translated_by=WORDS, note=WORD),
}  # fmt: skip


@pytest.mark.push
@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda cls: cls.kind)
@settings(max_examples=40)
@given(st.data(), DONE, st.integers(0, 2))
def test_every_payload_of_fields_is_converted_by_the_column_as_row_by_row(payload, data, done, start):
    payloads = data.draw(st.lists(PAYLOADS[payload], max_size=6))
    rows = [
        Fact[payload].build(
            origin=Origin(file="made.jsonl", line=line), produced_by=ProducedBy(rule="reader"), language="zh",
            partition="made", payload=one, original="before" if line % 3 == 0 else "",
        )
        for line, one in enumerate(payloads)
    ]  # fmt: skip
    table = Table(Table.of(rows, Fact[payload]).arrow.slice(start), Fact[payload])
    by_the_column(make("convert_script", **done), table)


class ShoutedTerm(Term):
    """A payload with a cell that no field has."""

    def flat_cells(self):
        return {"text": self.text.upper()}


def test_a_payload_that_does_not_convert_by_field_is_looked_at_row_by_row():
    assert make("convert_script", convert="t2s").map_columns(Table.of([], Fact[ShoutedTerm])) is None


def test_a_table_in_which_nothing_changes_is_not_copied():
    table = Table.of([triple("婴儿", "是", "病人")], Fact[Triple])
    assert make("convert_script", convert="t2s").map_columns(table).rows is table


PIECES = ["慰藉", "憑藉", "深沈", "PN接面", "SQL隱碼攻擊", "價效比", "惡名昭著", "昭著", "檀板", "豈", "A", "。"]


@pytest.mark.parametrize("conversion", get_args(Conversion))
@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(PIECES).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: p[n:] or p)),
                         max_size=4).map("".join), max_size=6))  # fmt: skip
def test_texts_converted_at_one_go_do_not_touch_each_other(conversion, texts):
    at_once = rewrite_texts(texts, lambda text: convert_script(text, conversion))
    assert at_once == [convert_script(text, conversion) for text in texts]


# --- clean choice ----------------------------------------------------------------------------------------------------


def cleaned(question, **changes):
    (outcome,) = make("clean_choice", **{**zh("clean"), **changes}).map(choice(question), {})
    return outcome.row.payload.question


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("1．患儿缺乏的维生素是（　　）。", "患儿缺乏的维生素是（ ）。"),
        ("12、患儿缺乏的维生素是?（　　）", "患儿缺乏的维生素是（ ）"),
        ("1．21-三体综合征的核型是", "21-三体综合征的核型是"),
        ("2.5岁小儿的头围是", "2.5岁小儿的头围是"),
        ("5-羟色胺的作用是？", "5-羟色胺的作用是"),
        ("患儿夜惊3天。3．首选的检查是", "患儿夜惊3天。首选的检查是"),
        ("有糖尿病史。3．4年后该患者发现", "有糖尿病史。4年后该患者发现"),
        ("外周血白细胞减少3．该病人的诊断是", "外周血白细胞减少。该病人的诊断是"),
        ("WBC 10×109/L3．治疗药物首选", "WBC 10×109/L。治疗药物首选"),
        ("血钾3．5mmol/L，首选的检查是", "血钾3．5mmol/L，首选的检查是"),
    ],
)
def test_marks_and_numbers_are_taken_out(stem, expected):
    assert cleaned(stem) == expected


def test_the_number_of_a_sub_question_can_be_deleted_without_a_break():
    changes = {"numbering": None, "inner_numbering": "[0-9]．", "inner": "delete", "remove": []}
    assert cleaned("1．白细胞减少3．诊断是？", **changes) == "白细胞减少诊断是？"


def test_white_space_takes_one_form_in_question_options_and_answer():
    row = choice("患儿　　缺乏的是", "维生素 D", options=("维生素 D", "维生素　A"))
    (outcome,) = make("clean_choice", **zh("clean")).map(row, {})
    assert outcome.row.payload.question == "患儿 缺乏的是"
    assert [option.text for option in outcome.row.payload.options] == ["维生素 D", "维生素 A"]


def test_an_option_that_becomes_the_answer_is_a_drop():
    row = choice("患儿缺乏的是", "维生素 D", options=("维生素 D", "维生素　D"))
    assert make("clean_choice", **zh("clean")).map(row, {}) == [Dropped("options_alike", "维生素 D")]


def test_nothing_left_is_a_drop_with_what_stood_there():
    assert make("clean_choice", **zh("clean")).map(choice("3．？"), {}) == [Dropped("no_question", "3．？")]


def test_a_clean_row_passes_as_it_is():
    row = choice("佝偻病患儿缺乏的维生素是（）。")
    assert make("clean_choice", **zh("clean")).map(row, {}) == [Kept(row)]


def test_with_a_context_the_number_is_taken_off_the_context():
    row = choice("3．诊断是？", context="2．患儿发热。")
    (outcome,) = make("clean_choice", **zh("clean")).map(row, {})
    assert (outcome.row.payload.context, outcome.row.payload.question) == ("患儿发热。", "诊断是")


# --- split stem ------------------------------------------------------------------------------------------------------


def split(stem, context="", **changes):
    (outcome,) = make("split_stem", **{**zh("stem"), **changes}).map(choice(stem, context=context), {})
    return outcome.row.payload.context, outcome.row.payload.question


@pytest.mark.parametrize(
    ("stem", "context", "question"),
    [
        ("患儿，6个月。方颅，夜惊。最可能的诊断是（　　）。", "患儿，6个月。方颅，夜惊。", "最可能的诊断是"),
        ("患儿夜惊3天.首选的检查是( )", "患儿夜惊3天.", "首选的检查是"),
        ("血红蛋白6.5g/L的患儿诊断为（）。", "", "血红蛋白6.5g/L的患儿诊断为"),
        ("E.coli引起的新生儿疾病是", "", "E.coli引起的新生儿疾病是"),
        ("感染S. aureus的新生儿首选", "", "感染S. aureus的新生儿首选"),
        ("患儿最可能的诊断是（）。。", "", "患儿最可能的诊断是"),
        (
            "足月新生儿出生后第二天出现皮肤黄染并逐渐加重，首选的检查是（）。",
            "足月新生儿出生后第二天出现皮肤黄染并逐渐加重。",
            "首选的检查是",
        ),
    ],
)
def test_the_last_sentence_is_the_question(stem, context, question):
    assert split(stem) == (context, question)


@pytest.mark.parametrize("opening", ["（　　），", "，", "。、"])
def test_a_context_begins_with_no_mark(opening):
    stem = f"{opening}女，30岁。停经8周，首选的检查是（）。"
    assert split(stem) == ("女，30岁。", "停经8周，首选的检查是")
    assert split("首选的检查是（）。", context="，女，30岁。") == ("女，30岁。", "首选的检查是")


def test_a_question_of_just_the_limit_is_not_cut():
    question = "甲" * 10 + "，" + "乙" * 9
    assert split(question) == ("", question)
    assert split(question + "丙") == ("甲" * 10 + "。", "乙" * 9 + "丙")


def test_a_clause_that_leans_on_the_one_before_stays_with_it():
    assert split("甲" * 10 + "，" + "乙" * 9 + "，并伴有发热的是") == ("甲" * 10 + "。", "乙" * 9 + "，并伴有发热的是")
    assert split("甲" * 20 + "，并伴有发热的是") == ("", "甲" * 20 + "，并伴有发热的是")
    assert split("甲" * 20 + "，并发症是") == ("甲" * 20 + "。", "并发症是")


@pytest.mark.parametrize(
    ("before", "mark"),
    [
        ("患儿，男，3岁，夜间哭闹，方颅，出牙延迟，抽搐2次", "。"),
        ("孕妇，妊娠34周，尿蛋白阳性，血压升高，体重增加较快", "。"),
        ("根据《母婴保健法》有关婚前医学检查的规定", "，"),
        ("新生儿出生后24小时内出现黄疸，且逐日加重时", "，"),
        ("婴儿腹泻，补液后尿量增多，为明确有无低钾血症", "，"),
        ("婴儿肺炎，除抗感染和对症治疗以外", "，"),
        ("新生儿窒息复苏的过程中", "，"),
        ("对牛奶蛋白过敏、体重增长缓慢的患儿", "，"),
        ("门诊接诊了一位反复呕吐、体重不增的患儿", "。"),
    ],
)
def test_a_case_that_is_split_off_is_a_sentence_and_an_introduction_is_none(before, mark):
    assert split(f"{before}，最应该首先进行的检查是") == (before + mark, "最应该首先进行的检查是")


def test_without_a_stop_of_its_own_what_is_split_off_keeps_its_mark():
    assert split("甲" * 20 + "，并发症是", cut_stop="") == ("甲" * 20 + "，", "并发症是")


@pytest.mark.parametrize(
    ("stem", "kept"),
    [("13-该患儿的诊断是", "该患儿的诊断是"), ("5-羟色胺的前体是", "5-羟色胺的前体是"),
     ("21-三体综合征是", "21-三体综合征是"), ("2．该患儿的诊断是", "该患儿的诊断是")],
)  # fmt: skip
def test_the_number_of_a_sub_question_goes(stem, kept):
    (outcome,) = make("clean_choice", **zh("clean")).map(choice(stem), {})
    assert outcome.row.payload.question == kept


@pytest.mark.parametrize(
    ("given", "cleaned"),
    [
        ("17..", "17."),
        ("窦道。。", "窦道。"),
        ("a…", "a…"),
        ("b...", "b..."),
        ('肺炎\n"', "肺炎"),
        ('又称 "肺炎"', '又称 "肺炎"'),
    ],
)
def test_of_two_stops_at_the_end_of_an_option_one_stays(given, cleaned):
    row = choice("该患儿的诊断是", given, options=(given, f"非{given}"))
    (outcome,) = make("clean_choice", **zh("clean")).map(row, {})
    assert outcome.row.payload.answer == cleaned
    assert [option.text for option in outcome.row.payload.options] == [cleaned, f"非{cleaned}"]


def test_a_long_question_without_clauses_stays():
    assert split("甲" * 30) == ("", "甲" * 30)


def test_a_context_that_stands_already_is_kept_before():
    assert split("发热3天。诊断是", context="患儿。") == ("患儿。发热3天。", "诊断是")


def test_half_width_stops_can_be_left_alone():
    assert split("夜惊3天.首选的检查是", soft_stops=[]) == ("", "夜惊3天.首选的检查是")


def test_a_stem_without_a_question_is_a_drop():
    assert make("split_stem", **zh("stem")).map(choice("（　　）。"), {}) == [Dropped("no_question", "（　　）。")]
