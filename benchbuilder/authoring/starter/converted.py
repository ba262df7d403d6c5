"""Files in formats that no source reads, as records: ``new`` writes them as JSON Lines beside the recipe."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchbuilder.authoring.starter.documents import DOCUMENTS, decoded_text, document_lines
from benchbuilder.authoring.starter.printed_exam import read_printed_exam
from benchbuilder.authoring.starter.sample import Reading, UnclearLayoutError
from benchbuilder.core import normalise_space, read_given_file

_HEAD = 4_000
"""In so many first bytes a file of Moodle's says what it is."""
_INLINE = re.compile(r"(?i)</?(?:b|i|u|em|strong|span|sub|sup|small|font)\b[^<>]*>")
_NODE_NAMES = ("name", "title", "label", "\u540d\u79f0", "\u540d\u5b57")
_GIFT = re.compile(r"(?<!\\)\{[^{}]*(?<!\\)=[^{}]*\}")
_BRACES = re.compile(r"(?<!\\)\{(?P<answers>(?:\\.|[^{}\\])*)\}", re.DOTALL)
_ANSWER = re.compile(r"(?<!\\)([=~])((?:\\.|[^=~\\])*)", re.DOTALL)
_ESCAPED = re.compile(r"\\([~=#{}:\\])")
_TRUE_OR_FALSE = re.compile(r"\s*(?:T|F|TRUE|FALSE)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """The records of a file, and a note for people on what they were made from and what was left out."""

    records: Sequence[Mapping[str | int, Any]]
    note: str

    @property
    def data(self) -> bytes:
        """The records as JSON Lines."""
        return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in self.records).encode()


def convert_file(path: Path, reading: Reading) -> ConvertedFile | None:
    """The records of a file that must be converted; ``None`` for one that sources read as it is."""
    found = (read(path, reading) for read in _FORMATS.get(path.suffix.lower(), ()))
    return next((one for one in found if one is not None), None)


def _gift(path: Path, reading: Reading) -> ConvertedFile | None:
    """The questions of a file in Moodle's GIFT that have options and one right one; the others are counted."""
    plain = read_given_file(path).decode("utf-8-sig", errors="replace")
    if not _GIFT.search(plain):
        return None
    text = decoded_text(path, reading).replace("\r\n", "\n")
    records, left_out = list[Mapping[str | int, Any]](), Counter[str]()
    for line, block in _blocks(text):
        braces = _BRACES.search(block)
        answers = _ANSWER.findall(braces["answers"]) if braces is not None else []
        right = [_plain(answer) for sign, answer in answers if sign == "="]
        if braces is None or len(right) != 1 or len(answers) < 2 or "->" in right[0]:
            left_out[_sort(braces["answers"] if braces is not None else None)] += 1
            continue
        before = re.sub(r"\A::.*?(?<!\\)::", "", block[: braces.start()], flags=re.DOTALL)
        gap = f"_____ {block[braces.end() :]}" if block[braces.end() :].strip() else ""
        question = _plain(f"{before.strip()} {gap}")
        options = [_plain(answer) for _, answer in answers]
        records.append({"id": f"{path.name}:{line}", "question": question, "options": options, "answer": right[0]})
    rest = "".join(f"; left out: {count} {sort}" for sort, count in left_out.items())
    return ConvertedFile(records, f"{len(records)} questions of GIFT, written as JSON Lines{rest}")


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """The questions of a file in GIFT, each with its first line."""
    lines = ["" if line.startswith(("//", "$")) else line for line in text.split("\n")]
    start = 0
    for number, line in enumerate([*lines, ""]):
        open_braces = len(re.findall(r"(?<!\\)\{", "\n".join(lines[start:number])))
        if not line.strip() and open_braces <= len(re.findall(r"(?<!\\)\}", "\n".join(lines[start:number]))):
            if block := "\n".join(lines[start:number]).strip():
                yield number - block.count("\n"), block
            start = number + 1


def _plain(text: str) -> str:
    """A text of GIFT without format, weight, feedback and escapes."""
    text = re.sub(r"\A\s*(?:\[\w+\]|%-?[\d.]+%)|(?<!\\)#.*", "", text.strip(), flags=re.DOTALL)
    return " ".join(_ESCAPED.sub(r"\1", text).split())


def _sort(answers: str | None) -> str:
    if answers is None:
        return "without answers"
    if _TRUE_OR_FALSE.match(answers):
        return "true/false"
    return "of another type" if _ANSWER.search(answers) else "numeric or essay"


def _moodle(path: Path, reading: Reading) -> ConvertedFile | None:  # noqa: ARG001 - XML says its encoding
    """The questions of a file in Moodle's XML that have options and a right one; the others are counted."""
    data = read_given_file(path)
    if b"<quiz" not in data[:_HEAD]:
        return None
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:  # entities can grow without bound, and Moodle writes none
        raise UnclearLayoutError(
            "XML with a document type, which Moodle does not write", sure=True, hint="export it anew"
        )
    try:
        quiz = ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        raise UnclearLayoutError(
            f"XML that is not whole: {error}", sure=True, hint="export the questions anew"
        ) from None
    records, left_out = list[Mapping[str | int, Any]](), Counter[str]()
    asked = (question for question in quiz.iter("question") if question.get("type") != "category")
    for number, question in enumerate(asked, 1):
        sort, answers = question.get("type", ""), question.findall("answer")
        options = [_shown(answer) for answer in answers]
        right = [place for place, answer in enumerate(answers) if float(answer.get("fraction", "0")) > 0]
        if sort != "multichoice" or len(options) < 2 or not right or not all(options):
            left_out["true/false" if sort == "truefalse" else f"of the type {sort}"] += 1
            continue
        record: dict[str | int, Any] = {
            "id": f"{path.name}:{number}",
            "question": _shown(question.find("questiontext")),
        }
        record |= {"options": options, "answer": ", ".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[place] for place in right)}
        if told := _shown(question.find("generalfeedback")):
            record["explanation"] = told
        records.append(record)
    rest = "".join(f"; left out: {count} {sort}" for sort, count in left_out.items())
    return ConvertedFile(records, f"{len(records)} questions of Moodle's XML, written as JSON Lines{rest}")


def _shown(element: ElementTree.Element | None) -> str:
    """The text that a part of a question in Moodle's XML shows, without HTML."""
    text = "" if element is None else element.findtext("text") or ""
    return normalise_space(html.unescape(re.sub(r"<[^<>]*>", " ", _INLINE.sub("", text))))


def _query_results(path: Path, reading: Reading) -> ConvertedFile | None:  # noqa: ARG001 - JSON is UTF-8
    """The rows of a query in SPARQL, of which each value says its type: the values alone."""
    data = read_given_file(path)
    if b'"bindings"' not in data or (found := _parsed(data)) is None:
        return None
    rows = found.get("results", {}).get("bindings") if isinstance(found, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    names = dict.fromkeys(name for row in rows for name in row)
    records = [{name: row.get(name, {}).get("value", "") for name in names} for row in rows]
    return ConvertedFile(records, f"{len(records)} rows of a query in SPARQL, written as JSON Lines")


def _graph_rows(path: Path, reading: Reading) -> ConvertedFile | None:  # noqa: ARG001 - JSON is UTF-8
    """The relationships of a property graph, as Neo4j writes them: two nodes and what stands between them."""
    data = read_given_file(path)
    if b'"properties"' not in data or (found := _parsed(data)) is None:
        return None
    rows: list[Any] = found if isinstance(found, list) else [found]
    edges = [edge for row in rows if isinstance(row, dict) and (edge := _edge(row)) is not None]
    if not edges:
        return None
    rest = f"; left out: {len(rows) - len(edges)} that join no two named nodes" if len(rows) > len(edges) else ""
    return ConvertedFile(edges, f"{len(edges)} relationships of a property graph, written as JSON Lines{rest}")


def _edge(row: Mapping[str, Any]) -> dict[str | int, Any] | None:
    """The names of two nodes and of their relationship; nodes stand in the order start, end, or as they are written."""
    parts = [part for part in row.values() if isinstance(part, dict)]
    nodes = [part for part in parts if isinstance(part.get("labels"), list)]
    if isinstance(row.get("start"), dict) and isinstance(row.get("end"), dict):
        nodes = [row["start"], row["end"]]
    between = [part.get("type") for part in parts if part not in nodes] + [row.get("label"), row.get("type")]
    relation = next((name for name in between if isinstance(name, str) and name), "")
    ends = [_node_name(node) for node in nodes]
    return (
        {"head": ends[0], "relation": relation, "tail": ends[1]} if len(ends) == 2 and all(ends) and relation else None
    )


def _node_name(node: Mapping[str, Any]) -> str:
    """The property that names a node: *name* or the like, else its only text."""
    texts = {key: value for key, value in (node.get("properties") or {}).items() if isinstance(value, str) and value}
    named = next((texts[key] for key in texts if key.lower() in _NODE_NAMES), "")
    return named or (next(iter(texts.values())) if len(texts) == 1 else "")


def _parsed(data: bytes) -> Any:
    """The value of a text in JSON, or the values of its lines; ``None`` for another text."""
    try:
        text = data.decode("utf-8-sig")
        try:
            return json.loads(text)
        except ValueError:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None


def _printed(path: Path, reading: Reading) -> ConvertedFile | None:
    """The questions of a printed examination."""
    exam = read_printed_exam(document_lines(path, reading), path.name)
    return None if exam is None else ConvertedFile(*exam)


_FORMATS: Mapping[str, Sequence[Callable[[Path, Reading], ConvertedFile | None]]] = {
    **dict.fromkeys(DOCUMENTS, (_printed,)),
    ".gift": (_gift,),
    ".txt": (_gift, _printed),
    ".xml": (_moodle,),
    **dict.fromkeys((".json", ".srj"), (_query_results, _graph_rows)),
    **dict.fromkeys((".jsonl", ".ndjson"), (_graph_rows,)),
}
