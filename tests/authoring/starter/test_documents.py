"""Documents of each format become sections with headings, lists and tables, and a guideline becomes items."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path

import pytest
from pdf_pages import pdf

from benchbuilder.authoring.starter.documents import read_document
from benchbuilder.cli.dispatch import main
from benchbuilder.core import InstallationError

HTML = """<html><head><title>Hut | Portal</title><style>p{}</style></head><body><nav>Home</nav><h1>Hut rules</h1>
<h2>Terms</h2><dl><dt>Rope</dt><dd>a strong line</dd></dl>
<h2>Fire</h2><p>Do not:<ul><li>light the stove twice.</li><li>Watch:<ul><li>the pipe.</li></ul></li></ul>
<p>Air the room&nbsp;for 5&#8239;minutes.<script>x()</script></p>
<table><tr><th>Room</th><th>Beds</th></tr><tr><td><p>Attic</p></td><td>4</td></tr><tr><td>Cellar</td><td></td></tr></table>
<table><tr><td>Long sentences are no names of columns.</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>
<footer>Call us.</footer></body></html>"""
MARKDOWN = """---
author: nobody
---
# Hut rules

## Terms

Rope
: a **strong** line

## Fire

Do not:

- light the stove
  twice.

| Room | Beds |
| --- | --- |
| Attic | 4 |
"""
TEXT = """HUT RULES
=========

1. Terms

Rope means a strong line that holds
a climber.

2. Fire

Do not:

- light the stove twice.
"""
_DOCX = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship '
    'Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>',
    "word/styles.xml": '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    + "".join(
        f'<w:style w:type="paragraph" w:styleId="{name.replace(" ", "")}"><w:name w:val="{name}"/></w:style>'
        for name in ("Title", "heading 1")
    )
    + "</w:styles>",
    "word/_rels/document.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" '
    'Target="styles.xml"/></Relationships>',
}


def paragraph(text: str, style: str = "", deleted: str = "") -> str:
    gone = f"<w:del><w:r><w:delText>{deleted}</w:delText></w:r></w:del>" if deleted else ""
    kind = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{kind}{gone}<w:ins><w:r><w:t>{text}</w:t></w:r></w:ins></w:p>"


def docx(*blocks: str) -> bytes:
    body = "".join(blocks)
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    files = {**_DOCX, "word/document.xml": f'<w:document xmlns:w="{name}"><w:body>{body}</w:body></w:document>'}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for place, content in files.items():
            archive.writestr(place, content)
    return data.getvalue()


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in cells)}</w:tr>"


def sections(path: Path) -> dict[str, list[str]]:
    """The lines of a document below the headings of its sections."""
    return {str(one["title"]): str(one["text"]).split("\n") for one in read_document(path)[0]}


def test_a_page_keeps_lists_with_what_leads_to_them_and_tables_with_their_columns(tmp_path: Path) -> None:
    (tmp_path / "hut.html").write_text(HTML, encoding="utf-8")
    assert sections(tmp_path / "hut.html") == {
        "Hut rules > Terms": ["Rope: a strong line"],
        "Hut rules > Fire": [
            "Do not:", "Do not: light the stove twice.", "Do not: Watch:", "Do not: Watch: the pipe.",
            "Air the room for 5 minutes.", "Room: Attic | Beds: 4", "Room: Cellar",
            "Long sentences are no names of columns. | b", "c | d",
        ],
    }  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [("hut.md", MARKDOWN), ("hut.txt", TEXT)])
def test_markdown_and_text_have_the_same_sections(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = list(sections(tmp_path / name).values())
    assert found[0][0].startswith("Rope")
    assert "a strong line" in found[0][0]
    assert found[1][:2] == ["Do not:", "Do not: light the stove twice."]
    assert name == "hut.txt" or found[1][2] == "Room: Attic | Beds: 4"


def test_a_sentence_goes_on_from_page_to_page_and_pages_without_text_are_counted(tmp_path: Path) -> None:
    full = "The warden cleans the stove of the hut in the morning at six."
    pages = [["Hut rules", "Fire", full, full, "The stove must be cleaned by the warden before any of the"],
             [], ["guests light the stove in the morning. Then wait."]]  # fmt: skip
    (tmp_path / "hut.pdf").write_bytes(pdf(pages))
    records, rest = read_document(tmp_path / "hut.pdf")
    assert [record["title"] for record in records] == ["Hut rules > Fire"]
    assert "before any of the guests light the stove" in str(records[0]["text"])
    assert rest == "; left out: 1 pages without text"


def test_word_keeps_headings_tables_and_inserted_words(tmp_path: Path) -> None:
    pytest.importorskip("mammoth")
    table = f"<w:tbl>{row('Room', 'Beds')}{row('Attic', '4')}</w:tbl>"
    data = docx(paragraph("Hut rules", "Title"), paragraph("Fire", "heading1"),
                paragraph("Do not smoke.", deleted="Do smoke."), table)  # fmt: skip
    (tmp_path / "hut.docx").write_bytes(data)
    assert sections(tmp_path / "hut.docx") == {"Hut rules > Fire": ["Do not smoke.", "Room: Attic | Beds: 4"]}


def test_without_its_library_word_is_refused_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hut.docx").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "mammoth", None)
    with pytest.raises(InstallationError) as caught:
        read_document(tmp_path / "hut.docx")
    assert "benchbuilder[docx]" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [("hut.odt", "x", "save it as .docx"), ("hut.html", "<p> </p>", "a document without text")],
)
def test_what_is_no_document_is_refused_with_what_to_do(
    name: str, text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert main(["new", "hut", "--data", name]) == 2
    assert said in capsys.readouterr().err


GUIDE = """# Hut rules

## Water

Water must be boiled for 3 minutes. It tastes good. The tank should be cleaned every 4 weeks. Children love water.
Do not leave wet boots in the hall for more than 60 minutes.

| Tank | Litres |
| --- | --- |
| Upper tank | 900 litres |
| Lower tank | 400 litres |
"""


@pytest.mark.push
def test_a_guideline_becomes_items_and_says_what_no_rule_could_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hut.md").write_text(GUIDE, encoding="utf-8")
    assert main(["new", "hut", "--data", "hut.md"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("next: benchbuild build recipe=hut")
    assert main(["build", "recipe=hut"]) == 0
    said = capsys.readouterr().out
    assert "of 7 sentences and cells, 5 are claims that rules can read; 0 fail a check; no rule reads 2" in said
    assert "no rule makes a false claim of 1 claim (needs_model)" in said
    quote = next(line for line in said.splitlines() if "benchbuild plan" in line).partition("benchbuild ")[2]
    items = [json.loads(line) for line in Path("builds/hut/items.jsonl").read_text("utf-8").splitlines()]
    asked = {item["question"].partition("? “")[2][:-1]: item["expected"] for item in items}
    assert asked["Water must be boiled for 3 minutes."] == "yes"
    assert asked["For the tank ‘Upper tank’, the table gives the litres as ‘400 litres’."] == "no"
    assert all(item["question"].startswith("According to “Hut rules > Water”") for item in items)
    assert sorted(asked.values()) == ["no"] * 4 + ["yes"] * 4
    assert main(quote.split()) == 0
    assert "what models would be asked" in capsys.readouterr().out
