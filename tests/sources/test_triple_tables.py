from __future__ import annotations

import pytest
from pydantic import ValidationError

from benchbuilder.core.errors import DataError

BIOS = {
    "path": "bios",
    "delimiter": "|",
    "quoting": False,
    "header": False,
    "language_code": "CHS",
    "head_case": "as_is",
    "terms": {"file": "terms.txt", "width": 4, "columns": {"id": 0, "name": 2, "language": 3}},
    "relations": {"file": "relations.txt", "columns": {"head": 1, "tail": 2, "relation": 3}},
    "relation_names": {"file": "names.txt", "columns": {"id": 0, "language": 1, "name": 2}},
    "types": {"file": "types.txt", "columns": {"concept": 0, "type": 1}},
    "type_names": {"file": "network.txt", "columns": {"id": 0, "language": 1, "name": 2}},
}
TERMS = """\
C1|S1|子痫前期|CHS
C1|S2|pre-eclampsia|ENG
C1|S3|先兆子痫|CHS
C1|S3|先兆子痫|CHS
C2|S4|"蛋白尿"|CHS
C2|S5
C3|S6|early birth|ENG
C4|S7|子痫前期|CHS
C9|S8|无关|CHS
"""
RELATIONS = """\
R1|C1|C2|L1
R2|C1|C1|L1
R3|C3|C2|L1
R4|C1|C2|L2
R5|C4|C2|L1
R6|C1
R7|C1|C4|L1
R8|C2|C1|L3
R9||C1|L1
"""


@pytest.fixture
def bios(write):
    write("bios/terms.txt", TERMS)
    write("bios/relations.txt", RELATIONS)
    write("bios/names.txt", "L1|CHS|可导致\nL1|ENG|may cause\nL1|CHS|致\nL2|ENG|treats\nL3|CHS|可导致（反向）\n")
    write("bios/types.txt", "C1|T1\nC1|T2\nC2|T2\nC9|T3\n")
    write("bios/network.txt", "T1|CHS|疾病或综合征\nT2|CHS|体征\nT3|CHS|其他\n")
    return BIOS


def test_triples_with_all_terms_and_types(bios, read_source):
    result = read_source("triple_tables", "bios", **bios)
    first, reversed_ = (row.payload for row in result.rows)
    assert (first.head, first.relation, first.tail) == ("子痫前期", "可导致", '"蛋白尿"')
    assert (first.head_terms, first.tail_terms) == (("子痫前期", "先兆子痫"), ('"蛋白尿"',))
    assert (first.head_type, first.tail_type) == ("疾病或综合征", "体征")
    assert reversed_.relation == "可导致（反向）"
    assert result.lines == [1, 8]


def test_drops_name_reason_and_line(bios, read_source):
    result = read_source("triple_tables", "bios", **bios)
    assert [drop[1:] for drop in result.drops if drop[0] == "bios/relations.txt"] == [
        (2, "head_equals_tail", "C1"),
        (3, "no_term", "head C3"),
        (4, "unnamed_relation", "L2"),
        (5, "duplicate", "kept: bios/relations.txt:1"),
        (6, "malformed", "2 columns, expected at least 4"),
        (7, "head_equals_tail", "子痫前期"),
        (9, "missing_field", "head"),
    ]
    assert [drop for drop in result.drops if drop[0] != "bios/relations.txt"] == [
        ("bios/terms.txt", 6, "malformed_auxiliary", "malformed: 2 columns, expected 4")
    ]


def test_auxiliary_files_are_accounted_to_their_end(bios, read_source):
    ends = read_source("triple_tables", "bios", **bios).ends
    assert ends["bios/terms.txt"].auxiliary == {
        "malformed": 1, "not_referenced": 1, "other_language": 2, "repeated": 1, "used": 4,
    }  # fmt: skip
    assert ends["bios/names.txt"].auxiliary == {"other_language": 2, "repeated": 1, "used": 2}
    assert ends["bios/types.txt"].auxiliary == {"not_referenced": 1, "repeated": 1, "used": 2}
    assert ends["bios/network.txt"].auxiliary == {"not_referenced": 1, "used": 2}
    assert ends["bios/relations.txt"].auxiliary is None
    assert ends["bios/relations.txt"].units == 9


def test_the_order_of_the_files_is_that_of_reading(bios, make_source):
    source = make_source("triple_tables", "bios", **bios)
    assert [ref.path for ref in source.files()][-1] == "bios/relations.txt"


def test_types_are_optional(bios, read_source):
    rows = read_source("triple_tables", "bios", **{**bios, "types": None, "type_names": None}).rows
    assert [(row.payload.head_type, row.payload.tail_type) for row in rows] == [("", ""), ("", "")]


def test_a_language_that_does_not_occur(bios, make_source):
    with pytest.raises(DataError, match=r"sources\.bios\.language_code") as raised:
        list(make_source("triple_tables", "bios", **{**bios, "language_code": "chi"}).read())
    assert "the languages 'CHS', 'ENG'" in str(raised.value)


def test_a_missing_table_names_key_and_file(bios, write, make_source, tmp_path):
    (tmp_path / "bios/types.txt").unlink()
    with pytest.raises(DataError, match=r"sources\.bios\.path: types\.txt is missing") as raised:
        make_source("triple_tables", "bios", **bios).check()
    assert "terms.txt" in str(raised.value)
    assert "sources.bios.types.file" in raised.value.next


def test_a_wrong_delimiter_is_a_wrong_shape(bios, make_source):
    with pytest.raises(DataError, match="wrong shape"):
        make_source("triple_tables", "bios", **{**bios, "delimiter": "\t"}).check()


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd"])
def test_a_table_lies_below_the_folder(name, make_source):
    with pytest.raises(ValidationError, match="below the source's path"):
        make_source("triple_tables", **{**BIOS, "types": {"file": name, "columns": {"concept": 0, "type": 1}}})


def test_heads_can_be_displayed_in_title_case(bios, write, read_source):
    write("bios/terms.txt", "C1|S1|HELLP综合征|CHS\nC1|S2|hellp syndrome|CHS\nC2|S3|DIC|CHS\n")
    write("bios/relations.txt", "R1|C1|C2|L1\n")
    (plain,) = read_source("triple_tables", "bios", **bios).rows
    assert plain.payload.head == "HELLP综合征"
    (row,) = read_source("triple_tables", "bios", **{**bios, "head_case": "title"}).rows
    assert (row.payload.head, row.payload.tail) == ("Hellp综合征", "DIC")
    assert row.payload.head_terms == ("Hellp综合征", "HELLP综合征", "hellp syndrome")  # the topic still finds them
