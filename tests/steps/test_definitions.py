"""Definitions become triples, by the bundled Chinese patterns."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from claim_rows import RECIPES, make, tokenizer
from preparation_rows import page
from pydantic import ValidationError

from benchbuilder.core.records.outcomes import Kept, NotApplicable


def finder(**spec: Any) -> Any:
    rules = yaml.safe_load((RECIPES / "rules" / "zh_definitions.yaml").read_text("utf-8"))["definitions"]
    rules = {name: value for name, value in rules.items() if name not in ("kind", "from")}
    return make("definitions", {**rules, "tokenizer": tokenizer("jieba"), **spec})


@pytest.mark.parametrize(
    ("text", "head", "tail", "type_"),
    [
        ("李斯特菌是一种在低温下能够繁殖的细菌。后文。", "李斯特菌", "一种在低温下能够繁殖的细菌", "细菌"),
        ("红豆（学名：甲）是一种豆科植物，产于南方。", "红豆", "一种豆科植物，产于南方", "豆科植物"),
        (
            "重症肌无力是一种由抗体攻击受体，导致肌肉无力的疾病。",
            "重症肌无力",
            "一种由抗体攻击受体，导致肌肉无力的疾病",
            "疾病",
        ),
        ("交叉污染是指微生物从生食转移到熟食的过程。", "交叉污染", "微生物从生食转移到熟食的过程", "过程"),
        ("硫醚是有机硫化合物的一种，通式为甲。", "硫醚", "有机硫化合物的一种，通式为甲", "化合物"),
        ("科幻小说是以科幻为题材的小说。", "科幻小说", "以科幻为题材的小说", "小说"),
    ],
)
def test_a_definition_is_a_triple_with_the_type_of_its_tail(text, head, tail, type_):
    [outcome] = finder().map(page(text), {})
    assert isinstance(outcome, Kept), outcome
    triple = outcome.row.payload
    assert (triple.head, triple.relation, triple.tail) == (head, "is_a", tail)
    assert (triple.head_type, triple.tail_type) == (type_, type_)


@pytest.mark.parametrize(
    "text",
    [
        "今天天气很好。李斯特菌是一种细菌。",
        "它是一种细菌。",
        "建于1988年是一座教堂。",
        "手指头的长度各不相同。",
        "传统上乔治亚是一个农业国家。",
        "道士的服装称为道袍是一种汉服。",
        "甲是乙的其中之一。",
        "目前最重要的是一种药物。",
        "这种病是什么原因造成的？",
    ],
)
def test_other_sentences_are_no_definitions(text):
    assert finder().map(page(text), {}) == [NotApplicable("no_definition")]


def test_further_sentences_count_where_the_recipe_says_so():
    text = "李斯特菌是一种细菌。很好。绿豆是一种豆科植物。"
    outcomes = finder(where="any").map(page(text), {})
    assert [(outcome.slot, outcome.row.payload.head) for outcome in outcomes] == [("1", "李斯特菌"), ("3", "绿豆")]


def test_a_pattern_without_both_ends_is_refused():
    with pytest.raises(ValidationError, match="needs the groups head and tail"):
        finder(patterns={"odd": "(?P<head>.+)是"})
