"""Example files of the kinds of sources that no bundled recipe reads, and the settings to read them with."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from epub_book import epub
from pdf_pages import pdf
from wiki_dump import Written, dump

_QUESTIONS = [
    (1, "离太阳最近的行星是", "水星", "金星", "A"),
    (2, "太阳系中最大的行星是", "土星", "木星", "B"),
    (3, "太阳系中最大的行星是", "土星", "木星", "B"),
    (4, "", "土星", "木星", "B"),
]
_COLUMNS = {"question": "question", "options": ["a", "b"], "answer_key": "right"}


def _huggingface(folder: Path) -> dict[str, Any]:
    import datasets

    datasets.disable_progress_bars()
    columns = zip(("id", "question", "a", "b", "right"), zip(*_QUESTIONS, strict=True), strict=True)
    made = datasets.Dataset.from_dict({name: list(values) for name, values in columns})
    datasets.DatasetDict({"train": made, "test": made.select([0])}).save_to_disk(str(folder / "saved"))
    return {"as": "choice", "path": str(folder / "saved"), "columns": _COLUMNS, "splits": {"train": True}}


def _sql(folder: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(folder / "exam.sqlite")) as database, database:
        database.execute("CREATE TABLE questions (id INTEGER, question TEXT, a TEXT, b TEXT, right_key TEXT)")
        database.executemany("INSERT INTO questions VALUES (?, ?, ?, ?, ?)", _QUESTIONS)
    query = 'SELECT question, a, b, right_key AS "right" FROM questions ORDER BY id'
    return {"as": "choice", "path": str(folder / "exam.sqlite"), "columns": _COLUMNS, "query": query}


def _rdf(folder: Path) -> dict[str, Any]:
    lines = [
        '<urn:x:mars> <urn:x:orbits> <urn:x:sun> .',
        '<urn:x:mars> <urn:x:orbits> <urn:x:sun> .',
        '<urn:x:mars> <urn:x:orbits> <urn:x:nameless> .',
        "no statement",
        '<urn:x:mars> <http://www.w3.org/2004/02/skos/core#prefLabel> "火星"@zh .',
        '<urn:x:sun> <http://www.w3.org/2004/02/skos/core#prefLabel> "太阳"@zh-hans .',
    ]  # fmt: skip
    (folder / "planets.nt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {
        "as": "triple", "path": str(folder / "planets.nt"), "labels": ["skos:prefLabel"], "languages": ["zh"],
        "relations": {"orbits": {"predicate": "urn:x:orbits", "name": "绕行"}},
    }  # fmt: skip


def _terms(folder: Path) -> dict[str, Any]:
    pages = [["Planets", "1. Mercury: nearest to the sun"], [], ["2. Venus: second", "3. Mercury: again"]]
    (folder / "planets.pdf").write_bytes(pdf(pages))
    return {"path": str(folder / "planets.pdf"), "pattern": r"^\d+\. (?P<term>[^:]+): (?P<note>.*)$"}


def _wikipedia(folder: Path) -> dict[str, Any]:
    pages = [
        Written("Mars", "'''Mars''' is a [[planet]].<ref>a book</ref>\n== References ==\n{{reflist}}"),
        Written("Red planet", redirect="Mars"),
        Written("Talk:Mars", "Is it red?", ns=1),
        Written("Venus", "'''Venus''' is a planet too."),
    ]
    (folder / "wiki.xml").write_bytes(dump(pages))
    return {"path": str(folder / "wiki.xml"), "disambiguation": [], "sections": ["References"], "headings": False}


def _books(folder: Path) -> dict[str, Any]:
    books = folder / "books"
    books.mkdir()
    (books / "planets.pdf").write_bytes(pdf([["Mercury is nearest to", "the sun."], [], ["Venus is second."]]))
    (books / "moons.epub").write_bytes(epub("Moons", {"One": "<p>Io.</p>", "Two": "<p></p>"}))
    (books / "stars.txt").write_text("Sirius is bright.\n\nSirius is bright.\nVega too.\n", encoding="utf-8")
    return {"path": str(books), "running_lines": "drop", "join_hyphens": True}


def _claims(folder: Path) -> dict[str, Any]:
    rows = [("Venus is second.", "yes"), ("Mars is a star.", "no"), ("Mars is far.", "maybe"), ("Io is a moon.", "")]
    lines = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)
    (folder / "claims.jsonl").write_text(lines, encoding="utf-8")
    labels = {"true": "yes", "false": "no", "skip": "maybe"}
    return {"path": str(folder / "claims.jsonl"), "columns": {"text": "text", "label": "label"}, "labels": labels}


def _question_answer(folder: Path) -> dict[str, Any]:
    lines = [
        '{"asked": "Which planet is second?", "right": ["Venus", "venus"], "page": "atlas"}',
        '{"asked": "Which planet is second?", "right": ["Venus", "venus"], "page": "atlas"}',
        '{"asked": "Which planet is fourth?", "right": "Mars", "page": "atlas"}',
        '{"asked": "Which planet is lost?", "right": [], "page": "atlas"}',
        '{"asked": "Which planet is broken?", "right": [{"text": "none"}], "page": "atlas"}',
    ]  # fmt: skip
    (folder / "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns = {"question": "asked", "answers": "right", "gold": "page"}
    return {"path": str(folder / "questions.jsonl"), "columns": columns}


def _procedures(folder: Path) -> dict[str, Any]:
    rows = [["Boil water.", "Add the leaves.", "Pour."], ["Sleep."]]
    lines = "".join(json.dumps({"steps": steps}) + "\n" for steps in rows)
    (folder / "tea.jsonl").write_text(lines, encoding="utf-8")
    return {"path": str(folder / "tea.jsonl"), "columns": {"steps": "steps"}}


SOURCES: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    "huggingface": _huggingface,
    "sql": _sql,
    "rdf": _rdf,
    "terms": _terms,
    "wikipedia": _wikipedia,
    "books": _books,
    "question_answer": _question_answer,
    "claims": _claims,
    "procedures": _procedures,
}
"""By kind, a function that writes example files into a folder and returns the settings."""
