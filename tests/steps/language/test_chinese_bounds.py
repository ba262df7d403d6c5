"""The Chinese bounds: on which side of a bound a replaced number is wrong."""

from __future__ import annotations

import pytest
from claim_rows import RULES

from benchbuilder.steps.language.bounds import NumberRules, NumberUnit, NumericBound, bound_before, may_be_implied

REPLACE = RULES["replace_choice"]
BOUNDS = tuple(NumericBound(**bound) for bound in REPLACE["bounds"])
NUMBERS = NumberRules(BOUNDS, tuple(NumberUnit(**unit) for unit in REPLACE["units"]), REPLACE["ignore"])


@pytest.mark.parametrize(
    ("before", "side"),
    [
        ("极低体重儿出生体重低于", "lower"),
        ("贫血时血红蛋白小于", "lower"),
        ("白细胞总数少于", "lower"),
        ("每日饮水不超过", "lower"),
        ("输液速度不得超过", "lower"),
        ("住院不应超过", "lower"),
        ("成人每日食盐不多于", "lower"),
        ("血压不高于", "lower"),
        ("初产妇总产程不足", "lower"),
        ("用药最多", "lower"),
        ("发热时体温高于", "higher"),
        ("巨大儿体重大于", "higher"),
        ("血压超过", "higher"),
        ("疗程至少是", "higher"),
        ("疗程至少为", "higher"),
        ("观察时间至少", "higher"),
        ("每日睡眠不少于", "higher"),
        ("室温不低于", "higher"),
        ("换药间隔不得少于", "higher"),
        ("隔离不应少于", "higher"),
        ("保存期最少为", "higher"),
        ("年龄已满", "higher"),
        ("未满", "lower"),
        ("正常成人呼吸次数是", ""),
    ],
)
def test_a_bound_says_on_which_side_a_number_is_wrong(before, side):
    assert bound_before(before, BOUNDS) == side


@pytest.mark.parametrize(
    ("before", "answer", "option", "implied"),
    [
        ("室温不低于", "20℃", "18℃", True),
        ("室温不低于", "20℃", "24℃", False),
        ("输液速度不得超过", "40滴", "60滴", True),
        ("输液速度不得超过", "40滴", "20滴", False),
        ("疗程至少为", "6周", "2周", True),
        ("疗程至少为", "6周", "3个月", False),
        ("应在", "72小时内", "48小时内", True),  # what is done within 48 hours is done within 72
        ("应在", "72小时内", "7天内", True),
        ("疗程是", "1～3个月", "1～2个月", True),
        ("疗程是", "1～3个月", "2～4个月", False),
        ("疗程是", "1～3个月", "4～6个月", False),
        ("疗程是", "3个月", "2个月", False),
        ("体重少于", "1500g", "1000g", False),  # the sentence says what the bound is
    ],
)
def test_a_number_that_the_bound_implies_is_no_wrong_one(before, answer, option, implied):
    assert may_be_implied(option, answer, "", bound_before(before, BOUNDS), NUMBERS) is implied
