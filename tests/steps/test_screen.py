import pickle

import pytest
from preparation_rows import choice, make, triple, zh
from pydantic import ValidationError

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Choice, Fact, Triple
from benchbuilder.retrieval.base import Tokenizer

WORDS = ("心律失常", "正常", "异常", "血常规", "常见", "常", "可能", "主要", "可能性")


class Vocabulary(Tokenizer):
    """Cuts out the longest of WORDS; every other character is a token."""

    kind = "jieba"

    def fingerprint(self):
        return {"vocabulary": "1"}

    def tokens(self, text):
        found = []
        while text:
            word = next((word for word in sorted(WORDS, key=len, reverse=True) if text.startswith(word)), text[0])
            found.append(word)
            text = text[len(word) :]
        return found


@pytest.fixture(autouse=True)
def _vocabulary(monkeypatch):
    monkeypatch.setattr("benchbuilder.steps.screen.create_from_spec", lambda slot, spec, *args: Vocabulary(spec))


def screened(step, *rows):
    stage = make("screen", **zh(step), tokenizer={"kind": "jieba"})
    result = stage.screen(Table.of(rows, Fact[Choice]))
    assert set(filter(None, result.reasons)) <= set(stage.reasons)
    return result


def question_outcome(question, answer="先天性心脏病", context=""):
    row = choice(question, answer, options=(answer, "肺炎"), context=context)
    return screened("screen_questions", row).reasons[0]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("婴儿最常见的心脏疾病是", None),
        ("婴儿常见的心脏疾病是", "ambiguous"),
        ("血常规正常的患儿诊断为", None),
        ("婴儿心律失常的病因是", None),
        ("最为常见的畸形的原因是", None),
        ("该患儿最有可能的诊断是", None),
        ("该患儿可能的诊断是", "ambiguous"),
        ("该患儿可能性最大的诊断是", None),
        ("最可能的主要病因是", "ambiguous"),
        ("不属于婴儿疾病的是", "negative"),
        ("不应期延长见于患儿的", None),
        ("维生素D缺乏的患儿诊断为", None),
        ("肝内胆汁清除障碍的患儿是", None),
        ("患儿应首选下列哪种药物", "meta"),
        ("3岁以下小儿的疾病是", None),
        ("以下属于畸形的是", "meta"),
        ("哺乳期疾病的特征之一是", "one_of_several"),
        ("诊断是", "question_too_short"),
    ],
)
def test_the_bundled_checks_of_questions(question, reason):
    assert question_outcome(question) == reason


def test_a_short_question_stays_behind_a_case_and_a_cut_context_goes():
    assert question_outcome("诊断是", context="患儿，6个月，方颅，夜惊。") is None
    assert question_outcome("诊断是", "肺炎", context="男。") == "question_too_short"
    assert question_outcome("该患儿最有可能的诊断是", context="，方颅，夜惊。") == "cut_context"


def test_lengths_are_bounds_of_the_spec():
    assert question_outcome("一二三四五六", "七八九十") == "too_short"
    assert question_outcome("一二三四五六七", "七八九十") is None
    assert question_outcome("一二三四五六", "一" * 11) == "answer_too_long"
    assert question_outcome("一" * 21, "二" * 9) is None
    assert question_outcome("一" * 21, "二" * 10) == "too_long"


def test_what_stands_before_the_question_may_not_speak_of_options():
    assert question_outcome("也属于先天畸形的疾病是", context="下列疾病中，") == "meta_before"


@pytest.mark.parametrize(
    ("option", "dropped"),
    [
        ("以上都不是", True),
        ("以上各项均正确", True),
        ("以上均不对", True),
        ("都是", True),
        ("A和B都对", True),
        ("任何一种都可", True),
        ("包括以上各项", True),
        ("全身症状轻", False),
        ("80％以上不能被重吸收", False),
        ("县级以上人民政府", False),
        ("AB型", False),
        ("宫口开全后行牵引", False),
    ],
)
def test_the_bundled_checks_of_options(option, dropped):
    row = choice("婴儿最常见的心脏疾病是", "肺炎", options=("肺炎", option))
    assert screened("screen_options", row).reasons == ["all_or_none" if dropped else None]


def test_the_detail_says_what_was_found_and_the_tally_counts_it():
    rows = [choice("错误的做法是哪一个呢", line=1), choice("错误的诊断是什么病呢", line=2)]
    result = screened("screen_questions", *rows)
    assert result.details == ["错误", "错误"]
    assert result.tallies["checks", "medqa", "negative: 错误"] == 2


def test_a_clone_adds_and_takes_away_patterns_and_checks():
    checks = {
        "odd": {"because": "It is odd.", "fields": ["head"], "patterns": {"a": "甲", "b": None}},
        "gone": None,
    }
    stage = make("screen", joiner="", checks=checks)
    result = stage.screen(Table.of([triple("甲状腺", "是", "腺体"), triple("乙", "是", "丙")], Fact[Triple]))
    assert result.reasons == ["odd", None]
    assert stage.reasons == {"odd": "It is odd."}
    assert stage.fingerprint() == {}


def test_patterns_may_be_a_list():
    stage = make("screen", joiner="", checks={"odd": {"because": "Odd.", "fields": ["head"], "patterns": ["甲", "乙"]}})
    assert stage.screen(Table.of([triple("乙", "是", "丙")], Fact[Triple])).reasons == ["odd"]


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ({"mode": "regex", "patterns": {"a": "("}}, "not a regular expression"),
        ({}, "either `patterns` or a length"),
        ({"patterns": {"a": "x"}, "at_most": 3}, "either `patterns` or a length"),
        ({"patterns": {"a": {"find": ["x"], "unless": ["["]}}}, "not a regular expression"),
    ],
)
def test_a_check_that_makes_no_sense_is_refused(check, message):
    with pytest.raises(ValidationError, match=message):
        make("screen", joiner="", checks={"odd": {"because": "Odd.", "fields": ["head"], **check}})


def test_a_field_that_the_rows_lack_is_named():
    stage = make("screen", joiner="", checks={"long": {"because": "Long.", "fields": ["question"], "at_most": 3}})
    with pytest.raises(DataError, match="no text 'question'") as caught:
        stage.screen(Table.of([triple("甲", "是", "乙")], Fact[Triple]))
    assert "head" in caught.value.why


def test_words_are_in_the_key_and_the_stage_can_be_pickled():
    stage = make("screen", **zh("screen_questions"), tokenizer={"kind": "jieba"})
    assert stage.fingerprint() == {"vocabulary": "1"}
    assert pickle.loads(pickle.dumps(stage)).reasons == stage.reasons


def test_what_must_not_be_told_is_named_by_its_pattern():
    private = {"because": "Private.", "fields": ["head"], "mode": "regex", "patterns": {"phone": "[0-9]{5,}"}}
    rows = Table.of([triple("请打12345678", "是", "乙")], Fact[Triple])
    told = [
        make("screen", joiner="", checks={"private": private | more}).screen(rows) for more in ({}, {"quoted": False})
    ]
    assert [result.details for result in told] == [["12345678"], ["phone"]]
    assert all("12345678" not in key for _, _, key in told[1].tallies)
