from __future__ import annotations

import json

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from benchbuilder.core.errors import DataError

CPUBMED = {"format": "tsv", "columns": {"head": 0, "relation": 1, "tail": 2}, "type_separator": "@@", "header": True}
NAMED = {"columns": {"head": "head", "relation": "relation", "tail": "tail", "head_type": "ht"}}


def test_typed_entities_malformed_lines_and_numbering(write, read_source):
    text = (
        "entity1\trelation\tentity2\n"
        "子痫前期@@疾病\t临床表现\t蛋白尿@@症状\n"
        "子痫前期@@疾病\t临床表现\n"
        "\n"
        '"早产"@@疾病\t病因\t胎膜早破@@疾病\r\n'
        "早产\t病因\t感染@@疾病\n"
        "早产@@疾病\t病因\t早产@@症状\n"
        "@@疾病\t病因\t感染@@疾病\n"
        "子痫前期@@疾病\t临床表现\t蛋白尿@@症状\n"
        "A@@B@@疾病\t病因\t感染@@疾病"
    )
    result = read_source("triples", "cpubmed", path=write("kg.tsv", text), **CPUBMED)
    assert result.lines == [2, 5, 10]
    first, quoted, nested = (row.payload for row in result.rows)
    assert (first.head, first.head_type, first.relation, first.tail, first.tail_type) == (
        "子痫前期", "疾病", "临床表现", "蛋白尿", "症状",
    )  # fmt: skip
    assert (first.head_terms, first.tail_terms) == (("子痫前期",), ("蛋白尿",))
    assert quoted.head == '"早产"'
    assert (nested.head, nested.head_type) == ("A@@B", "疾病")
    assert result.dropped() == [
        (3, "malformed"), (6, "malformed"), (7, "head_equals_tail"), (8, "missing_field"), (9, "duplicate"),
    ]  # fmt: skip
    assert result.detail(3) == "2 columns, expected 3"
    assert result.detail(6) == "no @@ in the head '早产'"
    assert result.detail(9) == "kept: kg.tsv:2"
    assert result.ends["kg.tsv"].units == 8


def test_a_mark_for_nothing_is_no_name(write, read_source):
    rows = ["Loire\tempties into\tn/a", "Rhine\tempties into\tNorth Sea", "-\tempties into\tBlack Sea", "Po\tin\t–"]
    path = write("kg.tsv", "\n".join(["head\trelation\ttail", *rows]) + "\n")
    columns = {name: name for name in ("head", "relation", "tail")}
    result = read_source("triples", path=path, format="tsv", columns=columns)
    assert [row.payload.tail for row in result.rows] == ["North Sea"]
    assert result.dropped() == [(2, "missing_field"), (4, "missing_field"), (5, "missing_field")]
    assert result.detail(2) == "tail: n/a"


def test_columns_by_name_in_any_order_with_byte_order_mark(write, read_source):
    path = write("kg.tsv", b"\xef\xbb\xbf" + "tail\tht\thead\trelation\n蛋白尿\t疾病\t子痫前期\t临床表现\n".encode())
    (row,) = read_source("triples", path=path, **NAMED).rows
    assert (row.payload.head, row.payload.head_type, row.payload.tail) == ("子痫前期", "疾病", "蛋白尿")


def test_declared_gb18030_and_bytes_that_are_not(write, read_source):
    good = "子痫前期,临床表现,蛋白尿\n".encode("gb18030")
    path = write("kg.csv", good + b"\xff\xff,x,y\n" + "早产,病因,感染\n".encode("gb18030"))
    columns = {"head": 0, "relation": 1, "tail": 2}
    result = read_source("triples", path=path, encoding="gb18030", header=False, columns=columns)
    assert result.lines == [1, 3]
    assert result.dropped() == [(2, "undecodable")]
    assert "gb18030" in result.detail(2)


def test_utf16_cannot_be_declared(make_source):
    with pytest.raises(ValidationError, match="line by line"):
        make_source("triples", path="x.tsv", encoding="utf-16", **NAMED)


def test_quoted_cells_may_span_lines_and_are_numbered_by_their_first(write, read_source):
    text = 'head,relation,tail,ht\n"a, b","r\n2",c,\n\nd,r,e,\n"open,r,e,\n f,r,g,\n'
    result = read_source("triples", path=write("kg.csv", text), **NAMED)
    assert [(row.origin.line, row.payload.head) for row in result.rows] == [(2, "a, b"), (5, "d"), (7, "f")]
    assert result.dropped() == [(6, "malformed")]
    assert "lines 6 to 7" in result.detail(6)


def test_without_quoting_a_quotation_mark_is_literal(write, read_source):
    path = write("kg.csv", 'head,relation,tail,ht\n"a,r,b,\n')
    (row,) = read_source("triples", path=path, quoting=False, **NAMED).rows
    assert row.payload.head == '"a'


def test_parquet_by_record_number(tmp_path, read_source):
    table = pa.table({"head": ["a", None, "a"], "relation": ["r"] * 3, "tail": ["b", "c", "b"], "ht": ["t", "", "t"]})
    path = tmp_path / "kg.parquet"
    pq.write_table(table, path)
    result = read_source("triples", path=str(path), **NAMED)
    assert result.lines == [1]
    assert result.dropped() == [(2, "missing_field"), (3, "duplicate")]
    with pytest.raises(DataError, match="wrong shape") as raised:
        read_source("triples", path=str(path), columns={"head": "h", "relation": "relation", "tail": "tail"})
    assert "found the columns head, relation, tail, ht" in str(raised.value)


def test_a_file_that_is_no_parquet(write, make_source):
    with pytest.raises(DataError, match="wrong shape"):
        make_source("triples", path=write("kg.parquet", "head\trelation"), **NAMED).check()


def test_missing_file_names_the_key(make_source, tmp_path):
    source = make_source("triples", "cpubmed", path=str(tmp_path / "none.tsv"), **CPUBMED)
    for attempt in (source.files, source.check, lambda: list(source.read())):
        with pytest.raises(DataError, match=r"sources\.cpubmed\.path: .*none\.tsv is missing") as raised:
            attempt()
        assert raised.value.next


def test_missing_column_says_what_was_found(write, make_source):
    path = write("kg.tsv", "subject,relation,tail\na,r,b\n")
    with pytest.raises(DataError, match=r"sources\.kg\.path: kg\.tsv has the wrong shape") as raised:
        make_source("triples", "kg", path=path, **NAMED).check()
    assert "expected a header with the columns head, relation, tail, ht, separated by '\\t'" in str(raised.value)
    assert "found the header 'subject,relation,tail'" in str(raised.value)


def test_a_head_without_any_usable_unit_is_a_wrong_shape(write, make_source):
    path = write("kg.tsv", "a\tb\tc\n" + "x\tr\ty\n" * 5)
    with pytest.raises(DataError, match="wrong shape") as raised:
        list(make_source("triples", "kg", path=path, **CPUBMED).read())
    assert "no @@ in the head 'x'" in str(raised.value)


def test_undecodable_head_asks_for_the_encoding(write, make_source):
    path = write("kg.tsv", "子痫@@t\tr\t早产@@t\n".encode("gb18030") * 5)
    for header in (True, False):
        with pytest.raises(DataError) as raised:
            make_source("triples", "kg", path=path, **{**CPUBMED, "header": header}).check()
        assert "encoding" in raised.value.next
        assert "sources.kg" in raised.value.next


def test_duplicates_across_files_of_a_folder(write, read_source):
    write("kg/a.tsv", "h\tr\tt\na@@x\tr\tb@@x\n")
    write("kg/b.tsv", "h\tr\tt\na@@x\tr\tb@@x\nc@@x\tr\tb@@x\n")
    write("kg/notes.md", "no data")
    result = read_source("triples", path="kg", **CPUBMED)
    assert list(result.ends) == ["kg/a.tsv", "kg/b.tsv"]
    assert result.drops == [("kg/b.tsv", 2, "duplicate", "kept: kg/a.tsv:2")]


def test_an_unknown_suffix_is_delimited_text(write, read_source):
    path = write("kg.txt", "a|r|b\n")
    columns = {"head": 0, "relation": 1, "tail": 2}
    assert len(read_source("triples", path=path, delimiter="|", header=False, columns=columns).rows) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    cells=st.lists(st.lists(st.sampled_from(["甲@@疾病", "乙@@症状", "", "x", '"', "@@", " "]), max_size=4), max_size=9)
)
def test_every_line_has_one_fate(write, read_source, cells):
    lines = ["\t".join(row) for row in cells]
    good = ["丙@@疾病\t病因\t丁@@疾病"]
    path = write("kg.tsv", "\n".join(["h\tr\tt", *good, *lines]) + "\n")
    result = read_source("triples", path=path, **CPUBMED)
    expected = [number for number, line in enumerate([*good, *lines], 2) if line.strip(" ")]
    assert sorted([*result.lines, *(line for line, _ in result.dropped())]) == expected


# --- tables ----------------------------------------------------------------------------------------------------------

DOSES = {"as": "table", "head": "Drug", "relations": {"Max. dose": "max_dose", "Route": "route"}}


@pytest.mark.parametrize("name", ["kg.csv", "kg.tsv", "kg.xlsx"])
def test_a_table_begins_on_the_line_of_its_header(name, write, read_source):
    table = [("Astronomy, a graph", "", ""), ("", "", ""), ("h", "r", "t"), ("Io", "orbits", "Jupiter"),
             ("Titan", "orbits", "Saturn"), ("Io", "orbits", "Jupiter"), ("h", "r", "t")]  # fmt: skip
    mark = "\t" if name.endswith("tsv") else ","
    path = write(
        name,
        "\n".join(mark.join(f'"{cell}"' if "," in cell and mark == "," else cell for cell in row) for row in table),
    )
    if name.endswith("xlsx"):
        book = openpyxl.Workbook()
        for row in table:
            book.active.append([cell or None for cell in row])
        book.save(path)
    spec = {"path": path, "columns": {"head": "h", "relation": "r", "tail": "t"}}
    result = read_source("triples", header=3, **spec)
    assert [(row.origin.line, row.payload.head) for row in result.rows] == [(4, "Io"), (5, "Titan")]
    assert result.dropped() == [(6, "duplicate"), (7, "malformed")], "the header is no record, once more"


@pytest.mark.parametrize("name", ["doses.csv", "doses.json", "doses.parquet", "doses.xlsx"])
def test_a_table_with_an_entity_per_row_becomes_triples(write, read_source, name):
    table = [("Drug", "Max. dose", "Note", "Route"), ("aspirin", "4 g", "x", "oral"), ("heparin", "", "", "iv"),
             ("", "1 g", "", "oral"), ("iv", "2 g", "", "iv")]  # fmt: skip
    header, *rows = table
    records = [dict(zip(header, row, strict=True)) for row in rows]
    path = write(name, "\n".join(map(",".join, table)))
    if name.endswith("json"):
        path = write(name, json.dumps(records))
    elif name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(records), path)
    elif name.endswith("xlsx"):
        book = openpyxl.Workbook()
        for row in table:
            book.active.append(row)
        book.save(path)
    result = read_source("triples", path=path, **DOSES)
    assert [(row.origin.line, row.payload.head, row.payload.relation, row.payload.tail) for row in result.rows] == [
        (1, "aspirin", "max_dose", "4 g"), (2, "aspirin", "route", "oral"), (4, "heparin", "route", "iv"),
        (7, "iv", "max_dose", "2 g"),
    ]  # fmt: skip
    assert result.dropped() == [(3, "empty_cell"), (5, "missing_field"), (6, "missing_field"), (8, "head_equals_tail")]
    assert result.detail(3) == "Max. dose of 'heparin'"
    assert result.ends[name].units == 8


def test_a_cell_with_a_list_has_a_triple_for_each_part_and_cells_are_cleaned(write, read_source):
    text = json.dumps([{"Drug": "aspirin", "Max. dose": "4 g*", "Route": ["oral", "iv"]}])
    clean = {"Max. dose": [{"find": r"\*$", "put": ""}]}
    result = read_source("triples", path=write("doses.json", text), clean=clean, **DOSES)
    assert [(row.origin.line, row.payload.tail) for row in result.rows] == [(1, "4 g"), (2, "oral"), (3, "iv")]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"as": "table", "head": "Drug"}, "needs head, the column of the entities, and relations"),
        ({**DOSES, **NAMED}, "columns: only with `as: rows`"),
        ({"head": "Drug", **NAMED}, "only with `as: table`"),
        ({}, "or set `as: table`"),
    ],
)
def test_rows_and_tables_have_their_own_keys(write, read_source, spec, message):
    with pytest.raises(ValidationError, match=message):
        read_source("triples", path=write("doses.csv", "Drug,Route\n"), **spec)
