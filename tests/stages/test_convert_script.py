import pickle

import pytest
from preparation_rows import choice, make, triple
from pydantic import ValidationError

from benchbuilder.records.fates import Kept


def test_traditional_rows_are_converted_and_the_original_is_kept():
    row = triple("嬰兒濕疹", "臨床表現", "紅斑", head_terms=("嬰兒濕疹", "奶癬"))
    (fate,) = make("convert_script", convert="t2s").map(row, {})
    out = fate.row
    assert (out.payload.head, out.payload.relation, out.payload.tail) == ("婴儿湿疹", "临床表现", "红斑")
    assert out.payload.head_terms == ("婴儿湿疹", "奶癣")
    assert "嬰兒濕疹" in out.original
    assert out.of == row.id
    assert out.id != row.id
    assert type(out) is type(row)
    assert out.made_by.rule == "convert_script/t2s"


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
