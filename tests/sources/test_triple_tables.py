"""Triples from several tables, joined row by row and by column."""

from __future__ import annotations

from itertools import zip_longest
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_triple_tables import plain_read
from pydantic import ValidationError

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import schema_of
from benchbuilder.core.records.outcomes import EndOfFile, Kept
from benchbuilder.sources import triple_tables
from benchbuilder.sources.base import unpack_units
from benchbuilder.sources.columnar import cells, columns, duplicates, id_names
from benchbuilder.sources.columnar.cells import Cells

# --- triple tables ---------------------------------------------------------------------------------------------------

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


# --- triple tables bulk ----------------------------------------------------------------------------------------------

TABLES = {
    "path": "bios",
    "delimiter": "|",
    "header": False,
    "language_code": "CHS",
    "terms": {"file": "terms.txt", "width": 3, "columns": {"id": 0, "name": 1, "language": 2}},
    "relations": {"file": "relations.txt", "columns": {"head": 0, "relation": 1, "tail": 2}},
    "relation_names": {"file": "names.txt", "columns": {"id": 0, "language": 1, "name": 2}},
    "types": {"file": "types.txt", "columns": {"concept": 0, "type": 1}},
    "type_names": {"file": "network.txt", "columns": {"id": 0, "language": 1, "name": 2}},
}
CHOICES = {
    "id": ["C1", "C2", "C3", " C1", "C4\u3000", "C5 with a longer id", "C5 with a longer ie", "", "C9"],
    "relation": ["L1", "L2", "L3", "L1 ", ""],
    "type": ["T1", "T2", "T3", ""],
    "language": ["CHS", "CHS", "CHS", "ENG", " CHS", ""],
    "name": ["甲", "乙病", "abc def", "Abc Def", "ABC def", " 甲", "", '"丁', "戊\x1c", "a\\b"],
}
SHAPES = {
    "terms.txt": ("id", "name", "language"),
    "relations.txt": ("id", "relation", "id"),
    "names.txt": ("relation", "language", "name"),
    "types.txt": ("id", "type"),
    "network.txt": ("type", "language", "name"),
}
SURE = {
    "terms.txt": ["C1|甲|CHS", "C2|乙|CHS", "C3|x|ENG"],
    "relations.txt": ["C1|L1|C2", "C1|L2|C3", "C4|L1|C2"],
    "names.txt": ["L1|CHS|致", "L2|ENG|x", "L3|CHS|x"],
    "types.txt": ["C1|T1", "C2|T2", "C3|T1"],
    "network.txt": ["T1|CHS|病", "T2|CHS|症", "T3|ENG|x"],
}


def lines_of(draw: Random, file: str, count: int) -> str:
    lines = [*SURE[file]]
    for _ in range(draw.randrange(count + 1)):
        cells = [draw.choice(CHOICES[what]) for what in SHAPES[file]]
        line = "|".join(cells[: draw.randrange(1, 4)] if draw.random() < 0.1 else cells)
        lines += [line, *([""] if draw.random() < 0.05 else [])]
    return "\n".join(lines)


def read_by_column(source) -> list:
    found: list = []
    for units in source.read_batches():
        if isinstance(units, EndOfFile):
            found.append(units)
            continue
        assert units.rows.arrow.schema.equals(schema_of(source.output))
        found.extend(unpack_units(units))
    return found


@pytest.mark.full
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from([16, 200, 2_000_000]),
    bits=st.sampled_from([0, 1, 64]),
    case=st.sampled_from(["as_is", "title"]),
    quoting=st.booleans(),
    typed=st.sampled_from(["both", "types", "neither", "names"]),
)
def test_joined_by_the_column_as_one_by_one(write, make_source, monkeypatch, seed, size, bits, case, quoting, typed):
    draw, hashes = Random(seed), Cells.hashes
    for file in SHAPES:
        write(f"bios/{file}", lines_of(draw, file, 60))
    spec = {**TABLES, "head_case": case, "quoting": quoting}
    left_out = {"both": (), "types": ("type_names",), "names": ("types",), "neither": ("types", "type_names")}
    spec |= dict.fromkeys(left_out[typed])
    source = make_source("triple_tables", "bios", **spec)
    with monkeypatch.context() as patch:
        patch.setattr(columns, "BLOCK_BYTES", size)
        patch.setattr(triple_tables, "PART_ROWS", max(2, size // 50))
        patch.setattr(cells, "_MANY", size // 8)
        patch.setattr(id_names, "IN_MEMORY_BYTES", size)
        patch.setattr(duplicates, "MAX_IN_MEMORY", 5)
        patch.setattr(Cells, "hashes", lambda self: hashes(self) & np.uint64(2**bits - 1))
        fast = read_by_column(source)
    for one, other in zip_longest(fast, plain_read(source)):
        assert one == other


def test_one_by_one_is_the_same(write, make_source):
    draw = Random(7)
    for file in SHAPES:
        write(f"bios/{file}", lines_of(draw, file, 200))
    source = make_source("triple_tables", "bios", **TABLES, head_case="as_is", quoting=False)
    units = list(source.read())
    assert units == read_by_column(source) == plain_read(source)
    assert any(not isinstance(unit, EndOfFile) and isinstance(unit.outcome, Kept) for unit in units)


@pytest.mark.push
def test_ids_and_names_beyond_the_limits_of_memory(write, make_source, monkeypatch):
    many = "".join(f"C{n}|名{n}|CHS\nC{n}|又名{n}|CHS\n" for n in range(3000))
    write("bios/terms.txt", many)
    write("bios/relations.txt", "".join(f"C{n}|L1|C{(7 * n + 1) % 3000}\n" for n in range(3000)))
    write("bios/names.txt", "L1|CHS|致\n")
    monkeypatch.setattr(id_names, "IN_MEMORY_BYTES", 1000)
    monkeypatch.setattr(cells, "_MANY", 100)
    spec = {**TABLES, "types": None, "type_names": None, "head_case": "as_is", "quoting": False}
    source = make_source("triple_tables", "bios", **spec)
    assert read_by_column(source) == plain_read(source)


def test_what_lies_in_files_is_removed(write, make_source, tmp_path, monkeypatch):
    for file in SHAPES:
        write(f"bios/{file}", "\n".join(SURE[file]))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(id_names, "IN_MEMORY_BYTES", 0)
    spec = {**TABLES, "head_case": "as_is", "quoting": False}
    source = make_source("triple_tables", "bios", **spec)
    reading = source.read_batches()
    for units in reading:
        if not isinstance(units, EndOfFile) and len(units.rows):
            assert list((tmp_path / "temporary").glob("*/terms"))
            break
    reading.close()
    assert not list((tmp_path / "temporary").iterdir())
    with pytest.raises(DataError, match="language_code"):
        list(make_source("triple_tables", "bios", **{**spec, "language_code": "chi"}).read_batches())
    assert not list((tmp_path / "temporary").iterdir())
