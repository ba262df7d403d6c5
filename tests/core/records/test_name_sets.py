"""The format of answers that are sets of names."""

from __future__ import annotations

import pytest

from benchbuilder.core.records.name_sets import join_members, set_members

SET = "前置胎盘; 妊娠期高血压 / 妊高症; 早产"
MEMBERS = (("前置胎盘",), ("妊娠期高血压", "妊高症"), ("早产",))


def test_a_set_is_written_and_read_again():
    assert set_members(SET) == MEMBERS
    assert join_members(MEMBERS) == SET
    assert join_members([]) == ""


def test_a_slash_inside_a_name_does_not_divide_it():
    assert set_members("HIV/AIDS; TB") == (("HIV/AIDS",), ("TB",))


@pytest.mark.parametrize("text", ["前置胎盘;", "前置胎盘; ; 早产", "早产 / ; 前置胎盘", " / 早产"])
def test_an_empty_name_is_refused(text: str):
    with pytest.raises(ValueError, match="has an empty name"):
        set_members(text)


@pytest.mark.parametrize("name", ["早产; 流产", "早产 / 流产", " 早产"])
def test_a_name_that_would_be_read_otherwise_is_refused(name: str):
    with pytest.raises(ValueError, match="cannot be read again"):
        join_members([[name]])
