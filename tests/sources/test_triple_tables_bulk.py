from __future__ import annotations

from itertools import zip_longest
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain_triple_tables import plain_read

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import schema_of
from benchbuilder.core.records.outcomes import EndOfFile, Kept
from benchbuilder.sources import triple_tables
from benchbuilder.sources.base import unpacked
from benchbuilder.sources.columnar import columns, first_seen, id_keys, id_names
from benchbuilder.sources.columnar.cells import Cells

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
    for units in source.bulk():
        if isinstance(units, EndOfFile):
            found.append(units)
            continue
        assert units.rows.arrow.schema.equals(schema_of(source.output))
        found.extend(unpacked(units))
    return found


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
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
        patch.setattr(id_keys, "_MANY", size // 8)
        patch.setattr(id_names, "IN_MEMORY_BYTES", size)
        patch.setattr(first_seen, "IN_MEMORY", 5)
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
    assert any(not isinstance(unit, EndOfFile) and isinstance(unit.fate, Kept) for unit in units)


def test_ids_and_names_beyond_the_limits_of_memory(write, make_source, monkeypatch):
    many = "".join(f"C{n}|名{n}|CHS\nC{n}|又名{n}|CHS\n" for n in range(3000))
    write("bios/terms.txt", many)
    write("bios/relations.txt", "".join(f"C{n}|L1|C{(7 * n + 1) % 3000}\n" for n in range(3000)))
    write("bios/id_names.txt", "L1|CHS|致\n")
    monkeypatch.setattr(id_names, "IN_MEMORY_BYTES", 1000)
    monkeypatch.setattr(id_keys, "_MANY", 100)
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
    reading = source.bulk()
    for units in reading:
        if not isinstance(units, EndOfFile) and len(units.rows):
            assert list((tmp_path / "temporary").glob("*/terms"))
            break
    reading.close()
    assert not list((tmp_path / "temporary").iterdir())
    with pytest.raises(DataError, match="language_code"):
        list(make_source("triple_tables", "bios", **{**spec, "language_code": "chi"}).bulk())
    assert not list((tmp_path / "temporary").iterdir())
