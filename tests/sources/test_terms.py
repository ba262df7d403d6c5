from __future__ import annotations

import json
import sys

import pytest
from pdf_pages import pdf

from benchbuilder.core.errors import DataError, InstallationError


def words(result):
    return [row.payload.text for row in result.rows]


def test_a_text_has_a_word_a_line_with_comments_and_glosses(write, read_source):
    text = "\ufeff# pregnancy\n孕妇\tpregnant woman\n\n  胎盘 \n孕妇\n  # not a word\nHELLP 　综合征\r\nhellp 综合征\n"
    result = read_source("terms", "own", path=write("own.txt", text))
    assert words(result) == ["孕妇", "胎盘", "HELLP 综合征"]
    assert result.lines == [2, 4, 7]
    assert [row.payload.note for row in result.rows] == ["pregnant woman", "", ""]
    assert {row.payload.lists for row in result.rows} == {("own",)}
    assert result.dropped() == [(5, "duplicate"), (8, "duplicate")]
    assert result.units == {"own.txt": 5}


def test_another_sign_of_comments_or_none(write, read_source):
    path = write("own.txt", "% no\n#1 hospital\n")
    assert words(read_source("terms", path=path, comment="%")) == ["#1 hospital"]
    assert words(read_source("terms", path=path, comment="")) == ["% no", "#1 hospital"]


def test_columns_of_tables_and_fields_of_records(write, read_source):
    table = 'id,Begriff,Erklärung\n1,Wochenbett,"die Zeit\nnach der Geburt"\n2,,leer\n3,Stillen\n4,Wehe,\n'
    columns = {"term": "Begriff", "note": "Erklärung"}
    result = read_source("terms", path=write("terms.csv", table), columns=columns)
    assert words(result) == ["Wochenbett", "Wehe"]
    assert result.rows[0].payload.note == "die Zeit nach der Geburt"
    assert result.dropped() == [(4, "missing_field"), (5, "malformed")]
    lines = [{"t": {"name": "胎盘"}}, {"t": {"name": ["胎", "盘"]}}, {"t": {}}, {"t": {"name": 21}}]
    path = write("terms.jsonl", "\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
    result = read_source("terms", path=path, columns={"term": "t.name"})
    assert words(result) == ["胎盘", "21"]
    assert result.dropped() == [(2, "malformed"), (3, "missing_field")]


def test_an_encoding_is_declared_and_what_is_not_in_it_dropped(write, read_source):
    good = "孕妇\n胎盘\n".encode("gb18030")
    assert words(read_source("terms", path=write("own.txt", good), encoding="gb18030")) == ["孕妇", "胎盘"]
    result = read_source("terms", path=write("bad.txt", "孕妇\n".encode() + b"\xff\xfe\n"))
    assert result.dropped() == [(2, "undecodable")]


def test_a_pattern_cuts_the_word_out_of_a_line(write, read_source):
    text = "1.2 先兆子痫 (pre-eclampsia)\nPreface\n1.3 胎盘\n"
    pattern = r"^\d+\.\d+ (?P<term>\S+)(?: \((?P<note>.*)\))?$"
    result = read_source("terms", path=write("own.txt", text), pattern=pattern)
    assert words(result) == ["先兆子痫", "胎盘"]
    assert [row.payload.note for row in result.rows] == ["pre-eclampsia", ""]
    assert result.dropped() == [(2, "no_term")]
    assert words(read_source("terms", path=write("own2.txt", text), pattern=r"\p{Han}+")) == ["先兆子痫", "胎盘"]


def test_a_pdf_glossary_line_by_line_through_its_pages(write, read_source):
    pages = [
        ["Glossary", "placenta: the organ (afterbirth)", "Wehe: pain"],
        [],
        ["p. 3", "colostrum: first milk"],
    ]
    result = read_source("terms", path=write("glossary.pdf", pdf(pages)), pattern="^(?P<term>[^:]+): (?P<note>.*)$")
    assert words(result) == ["placenta", "Wehe", "colostrum"]
    assert result.rows[0].payload.note == "the organ (afterbirth)"
    assert result.dropped() == [(1, "no_term"), (4, "no_text"), (5, "no_term")]
    assert result.detail(4) == "page 2"
    assert result.lines == [2, 3, 6]


@pytest.mark.parametrize(("data", "told"), [
    (b"no PDF at all", "expected a PDF"),
    (pdf([["placenta"]])[:150], "expected a PDF"),
    (pdf([[], []]), "expected a PDF with text; found 2 pages without any"),
])  # fmt: skip
def test_what_is_no_pdf_or_holds_no_text_is_told(write, read_source, data, told):
    with pytest.raises(DataError, match=told):
        read_source("terms", path=write("glossary.pdf", data))


def test_a_pdf_that_is_locked_is_told(tmp_path, write, read_source):
    import pypdf

    writer = pypdf.PdfWriter(clone_from=write("open.pdf", pdf([["placenta"]])))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    with pytest.raises(DataError, match="locked by a password"):
        read_source("terms", path=str(tmp_path / "locked.pdf"))


def test_without_the_library_the_extra_is_named(write, read_source, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(InstallationError, match=r"benchbuilder\[pdf\]"):
        read_source("terms", path=write("glossary.pdf", pdf([["placenta"]])))


def test_a_list_may_be_of_another_language(write, make_source):
    source = make_source("terms", path=write("own.txt", "Wehe\n"), language="de")
    assert [unit.outcome.row.language for unit in source.read() if hasattr(unit, "outcome")] == ["de"]


def test_a_column_that_is_not_there_is_told(write, make_source):
    with pytest.raises(DataError, match="'id,name'"):
        make_source("terms", path=write("terms.csv", "id,name\n1,胎盘\n")).check()
