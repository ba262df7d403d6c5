from __future__ import annotations

import io
import sys
import zipfile
from typing import Any

import pypdf
import pytest
from epub_book import CONTAINER, epub
from pdf_pages import pdf
from pypdf.errors import DependencyError

from benchbuilder.core.errors import DataError, InstallationError
from benchbuilder.core.records.outcomes import EndOfFile
from benchbuilder.sources.formats import epub as epub_module
from benchbuilder.sources.formats.pdf import paragraphs, without_running_lines

SETTINGS: dict[str, Any] = {"running_lines": "drop", "join_hyphens": True}


def test_books_of_a_folder_in_three_forms(write, read_source):
    write("books/产科学.txt", "胎盘在产后娩出。\n\n脐带有三条血管。\n")
    write("books/nursing.pdf", pdf([["Breast milk is"], ["Colostrum comes first."]]))
    write("books/birth.epub", epub("Birth", {"Labour": "<p>It has three stages.</p>"}))
    write("books/cover.jpg", b"no book")
    result = read_source("books", "books", path="books", **SETTINGS)
    assert [(r.document, r.title, r.text, r.origin.line) for r in result.rows] == [
        ("Birth", "Labour", "It has three stages.", 2),
        ("nursing", "nursing", "Breast milk is", 1),
        ("nursing", "nursing", "Colostrum comes first.", 2),
        ("产科学", "产科学", "胎盘在产后娩出。", 1),
        ("产科学", "产科学", "脐带有三条血管。", 3),
    ]
    assert result.drops == [("books/birth.epub", 1, "no_chapter", "OPS/nav.xhtml: the table of contents")]


def test_units_and_encoding_of_texts(write, read_source, make_source):
    path = write("a.txt", "第一段\n续行\n\n第二段\n".encode("gb18030"))
    result = read_source("books", path=path, **SETTINGS, encoding="gb18030", unit="block")
    assert [row.text for row in result.rows] == ["第一段\n续行", "第二段"]
    with pytest.raises(DataError) as raised:
        make_source("books", path=path, **SETTINGS).check()
    assert "gb18030" in raised.value.next


# --- PDF


def test_running_heads_and_page_numbers_of_a_pdf(write, make_source):
    said = [" ".join(f"{word}{number}" for word in ("milk", "birth", "cord")) for number in range(1, 13)]
    heads = ["Handbook of Birth", "Chapter 1  Labour"]
    pages = [[heads[at % 2], f"{text} and", f"{text[:9]} again.", f"- {at + 7} -"] for at, text in enumerate(said)]
    path = write("birth.pdf", pdf(pages))
    read = list(make_source("books", path=path, **SETTINGS).read())
    texts = [unit.outcome.row.text for unit in read if not isinstance(unit, EndOfFile)]
    assert texts == [f"{text} and {text[:9]} again." for text in said]
    assert read[-2:] == [EndOfFile(path, 12), EndOfFile(f"{path} (running lines)", 24, {"left out": 24})]
    kept = list(make_source("books", path=path, **{**SETTINGS, "running_lines": "keep"}).read())
    assert kept[-1] == EndOfFile(path, 12)
    assert kept[0].outcome.row.text.startswith("Handbook of Birth")


def test_lines_that_repeat_by_chance_stay():
    pages = [[f"Case {chr(96 + n)}{chr(97 + n)}", "body", f"End of {chr(96 + n)}{chr(98 + n)}"] for n in range(1, 9)]
    pages[2][0] = pages[6][0] = "Summary"
    assert without_running_lines(pages) == (pages, 0)
    assert without_running_lines([["the same"], ["the same"], ["the same"]])[1] == 0


def test_lines_of_a_page_become_paragraphs():
    lines = [
        "The placenta is an or-",
        "gan of mother and child",
        "together.",
        "Well-",
        "Known facts about the cord",
        "too.",
    ]
    assert paragraphs(lines, True) == (
        "The placenta is an organ of mother and child together.\nWell-\nKnown facts about the cord too."
    )
    assert paragraphs(lines[:2], False) == "The placenta is an or- gan of mother and child"
    assert paragraphs(["胎盘是母体与胎儿之间交换", "物质的器官。", "脐带连接胎儿与胎盘，内有", "血管。"], True) == (
        "胎盘是母体与胎儿之间交换物质的器官。\n脐带连接胎儿与胎盘，内有血管。"
    )
    assert paragraphs(["Signs of labour are these:", "1. contractions that recur", "2. a show"], True).count("\n") == 2
    assert paragraphs([], True) == ""


def test_chapters_of_the_outline(write, read_source):
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf([["Preface"], ["Stages"], ["More"], ["Cord"]])))
    part = writer.add_outline_item(title="Part one", page_number=1)
    writer.add_outline_item(title="Labour", page_number=1, parent=part)
    writer.add_outline_item(title="The  cord", page_number=3, parent=part)
    held = io.BytesIO()
    writer.write(held)
    result = read_source("books", path=write("birth.pdf", held.getvalue()), **SETTINGS)
    assert [row.title for row in result.rows] == ["birth", "Part one", "Part one", "The cord"]


def test_scanned_and_locked_pdfs_are_told_page_by_page(write, read_source, make_source):
    result = read_source("books", path=write("scan.pdf", pdf([[], ["Text."], []])), **SETTINGS)
    assert result.drops == [("scan.pdf", 1, "no_text", "page 1"), ("scan.pdf", 3, "no_text", "page 3")]
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf([["Secret"]])))
    writer.encrypt("password", algorithm="RC4-128")
    held = io.BytesIO()
    writer.write(held)
    path = write("locked.pdf", held.getvalue())
    assert read_source("books", path=path, **SETTINGS).drops == [
        (path, 1, "locked", "locked.pdf: a password is needed")
    ]
    make_source("books", path=path, **SETTINGS).check()


@pytest.mark.parametrize("data", [b"no PDF at all", b"", pdf([["placenta"]])[:150]])
def test_a_file_that_is_no_pdf(data, write, make_source):
    with pytest.raises(DataError, match=r"sources\.source\.path: a\.pdf has the wrong shape"):
        make_source("books", path=write("a.pdf", data), **SETTINGS).check()


@pytest.mark.parametrize(("library", "name", "extra"), [("pypdf", "a.pdf", "pdf"), ("lxml.etree", "a.epub", "epub")])
def test_without_a_library(library, name, extra, write, make_source, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InstallationError) as raised:
        list(make_source("books", path=write(name, b"x"), **SETTINGS).read())
    assert raised.value.next == f"pip install 'benchbuilder[{extra}]'"


# --- EPUB

CHAPTERS = {
    "分娩": """<h1>分娩</h1><p>产程分为<b>三</b>个
        阶段。<a epub:type="noteref" href="#n">1</a></p><p>A&nbsp;B &lt; &eacute;<img src="a.png" alt="图"/></p>
        <table><tr><td>第一</td><td>宫口扩张</td></tr><tr><td>第二</td><td>娩出</td></tr></table><script>x()</script>""",
    "": "<h2>脐带</h2><div>有<ruby>血管<rt>xuè</rt></ruby>。<p>unclosed<br/>end</div>",
    "图版": "<p><img src='b.png'/></p>",
}


@pytest.mark.parametrize("version", [2, 3])
def test_chapters_of_an_epub(version, write, read_source):
    result = read_source("books", path=write("a.epub", epub("产科学", CHAPTERS, version)), **SETTINGS)
    first = 1 if version == 2 else 2
    assert [(row.document, row.title, row.text, row.origin.line) for row in result.rows] == [
        ("产科学", "分娩", "分娩\n产程分为三个 阶段。\nA B < é\n第一 宫口扩张\n第二 娩出", first),
        ("产科学", "脐带", "脐带\n有血管。\nunclosed\nend", first + 1),
    ]
    assert result.dropped()[-1] == (first + 2, "no_text")


def test_locked_and_lost_chapters(write, read_source):
    encryption = b"""<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><e:EncryptedData
        xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:CipherData><e:CipherReference
        URI="OPS/text/chapter%201.xhtml"/></e:CipherData></e:EncryptedData></encryption>"""
    data = epub("Birth", {"One": "<p>a</p>", "Two": "<p>b</p>"}, 2, {"META-INF/encryption.xml": encryption})
    assert read_source("books", path=write("a.epub", data), **SETTINGS).dropped() == [(1, "locked")]
    lost = epub("Birth", {"One": "<p>a</p>"}, 2).replace(b"chapter 1.xhtml", b"chapter 9.xhtml")
    assert read_source("books", path=write("b.epub", lost), **SETTINGS).dropped() == [(1, "malformed")]


def _outside(path: str) -> dict[str, bytes]:
    return {"META-INF/container.xml": CONTAINER.format(path).encode()}


@pytest.mark.parametrize(("data", "told"), [
    (b"no zip", "not a zip file"),
    (b"", "not a zip file"),
    (epub("A", {"One": "<p>a</p>"}, more=_outside("../../etc/passwd")), "a file outside the book"),
    (epub("A", {"One": "<p>a</p>"}, more=_outside("/etc/passwd")), "a file outside the book"),
    (epub("A", {"One": "<p>a</p>"}, more=_outside("OPS/none.opf")), "no OPS/none.opf"),
    (epub("A", {}, 2), "a package without a chapter"),
    (epub("A", {"One": "<p>a</p>"}, more={"OPS/package.opf": b'<!DOCTYPE p [<!ENTITY a "b">]><p>&a;</p>'}), "entities"),
    (epub("A", {"One": "<p>a</p>"}, more={"OPS/package.opf": b"<package><manifest>"}), "Premature end"),
])  # fmt: skip
def test_books_that_are_none_or_mean_harm(data, told, write, make_source):
    with pytest.raises(DataError, match="has the wrong shape") as raised:
        make_source("books", path=write("a.epub", data), **SETTINGS).check()
    assert told in str(raised.value)


def test_a_book_that_unpacks_to_more_than_any(write, make_source, monkeypatch):
    monkeypatch.setattr(epub_module, "MAX_MEMBER_BYTES", 100_000)
    path = write("bomb.epub", epub("A", {"One": f"<p>{'a' * 200_000}</p>"}))
    with pytest.raises(DataError) as raised:
        list(make_source("books", path=path, **SETTINGS).read())
    assert "chapter 1.xhtml, which unpacks to more" in str(raised.value)
    monkeypatch.setattr(epub_module, "MAX_MEMBER_BYTES", 1 << 25)
    monkeypatch.setattr(epub_module, "MAX_BOOK_BYTES", 1000)
    with pytest.raises(DataError, match="wrong shape"):
        list(make_source("books", path=path, **SETTINGS).read())


def test_a_file_of_another_sort(write, make_source):
    with pytest.raises(DataError, match=r"the format of a\.doc is not known"):
        make_source("books", path=write("a.doc", b"x"), **SETTINGS).check()


# --- damage


def damaged(data: bytes, name: str, how: int) -> bytes:
    """A book whose file `name` is compressed by `how`, and broken inside."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", how) as new:
        for one in old.namelist():
            new.writestr(one, old.read(one))
        info = new.getinfo(name)
    start = info.header_offset + 30 + len(info.filename.encode()) + 20
    made = bytearray(buffer.getvalue())
    made[start : start + 30] = b"\xff" * 30
    return bytes(made)


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_chapter_that_cannot_be_unpacked(write, make_source, how):
    text = "".join(f"<p>Labour has stages, {number * 7919 % 10007}.</p>" for number in range(900))
    write("a.epub", damaged(epub("Birth", {"Labour": text}), "OPS/text/chapter 1.xhtml", how))
    with pytest.raises(DataError, match="wrong shape"):
        list(make_source("books", path="a.epub", **SETTINGS).read())


def changed(data: bytes, name: str, old: bytes, new: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(buffer, "w") as after:
        for one in before.namelist():
            held = before.read(one)
            after.writestr(one, held.replace(old, new, 1) if one == name else held)
    return buffer.getvalue()


def test_an_address_that_is_none_in_a_table_of_contents(write, read_source):
    book = changed(epub("Birth", {"Labour": "<p>It has stages.</p>"}), "OPS/nav.xhtml", b'href="', b'href="http://[')
    assert [row.text for row in read_source("books", path=write("a.epub", book), **SETTINGS).rows] == ["It has stages."]


@pytest.mark.parametrize("text", ["<div>" * 3000 + "deep" + "</div>" * 3000, f"<p>{'long ' * 2_100_000}</p>"])
def test_a_chapter_that_would_be_cut_short_is_none(write, read_source, text):
    path = write("a.epub", epub("Birth", {"One": f"<p>Before.</p>{text}<p>After.</p>", "Two": "<p>It has stages.</p>"}))
    result = read_source("books", path=path, **SETTINGS)
    assert [row.text for row in result.rows] == ["It has stages."]
    assert (2, "malformed") in result.dropped()


def test_a_pdf_whose_encryption_needs_a_library(write, make_source, monkeypatch):
    def decrypt(*_: Any) -> None:
        raise DependencyError("cryptography>=3.1 is required for AES algorithm")

    writer, buffer = pypdf.PdfWriter(), io.BytesIO()
    writer.add_blank_page(100, 100)
    writer.encrypt("", "owner", algorithm="RC4-128")
    writer.write(buffer)
    monkeypatch.setattr(pypdf.PdfReader, "decrypt", decrypt)
    with pytest.raises(InstallationError, match="needs another library"):
        make_source("books", path=write("a.pdf", buffer.getvalue()), **SETTINGS).check()
