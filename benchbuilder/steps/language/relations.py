"""Relation tables: how each relation of a knowledge graph reads as sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import regex

from benchbuilder.core import Problem, RecipeError, compose_characters, find_all, placeholders, template_faults

COLUMNS = ("relation", "statement", "negated", "tf", "oe", "answer_end")
OPTIONAL = ("when_head", "when_tail")
NAMES = ("head", "tail", "relation")
ANY = "*"
"""The relation of a row that serves every relation without a row of its own."""
DEFAULT = "default"
"""The key of the table for partitions that have none of their own."""


@dataclass(frozen=True)
class RelationRow:
    """One way to read a relation: templates over ``{head}``, ``{tail}`` and ``{relation}``.

    `answer_end` says which end answers the open-ended question `oe` (empty: there is none). A row serves only
    triples whose ends match `when_head` and `when_tail` from their first to their last character (empty: any).
    """

    relation: str
    statement: str
    negated: str
    tf: str
    oe: str
    answer_end: Literal["head", "tail"]
    when_head: str = ""
    when_tail: str = ""

    def fits(self, head: str, tail: str) -> bool:
        """Whether the row serves a triple with these ends."""
        return _matches_whole(self.when_head, head) and _matches_whole(self.when_tail, tail)


class RelationTables:
    """The tables of a recipe by partition, the table ``default`` for the others."""

    def __init__(self, tables: Mapping[str, list[RelationRow]]) -> None:
        self._rows: dict[str, dict[str, list[RelationRow]]] = {}
        for partition, rows in tables.items():
            grouped = self._rows.setdefault(partition, {})
            for row in rows:
                grouped.setdefault(compose_characters(row.relation), []).append(row)

    @classmethod
    def read(cls, files: Mapping[str, Path]) -> RelationTables:
        """Read one file per partition; RecipeError with every fault of every file, each with its line."""
        problems: list[Problem] = []
        tables = {partition: _read(file, problems) for partition, file in files.items()}
        if problems:
            raise RecipeError(problems, next="correct the relation table and run again")
        return cls(tables)

    def find(self, partition: str, relation: str, head: str, tail: str) -> RelationRow | None:
        """The first row that serves the triple; a relation that has rows never falls back to ``*``."""
        rows = self._rows.get(partition, self._rows.get(DEFAULT, {}))
        for row in rows.get(compose_characters(relation), rows.get(ANY, [])):
            if row.fits(head, tail):
                return row
        return None


def _matches_whole(pattern: str, text: str) -> bool:
    return not pattern or bool(find_all(rf"\A(?:{pattern})\Z", text))


def _read(file: Path, problems: list[Problem]) -> list[RelationRow]:
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        problems.append(Problem("the relation table cannot be read", where=str(file), actual=str(error)))
        return []
    except UnicodeDecodeError as error:
        problems.append(Problem("the relation table is not UTF-8", where=str(file), actual=str(error)))
        return []
    header: list[str] | None = None
    rows: list[RelationRow] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        where = f"{file.name}:{number}"
        if header is None:
            header = cells
            if fault := _header_fault(header):
                problems.append(Problem(fault, where=where, actual=", ".join(header), allowed=", ".join(COLUMNS)))
                return []
            continue
        if len(cells) > len(header) or len(cells) < len(COLUMNS):
            problems.append(Problem(f"{len(cells)} columns where the header has {len(header)}", where=where))
            continue
        data = dict(zip(header, cells, strict=False))
        faults = _faults(data)
        problems.extend(Problem(fault, key=data["relation"], where=where) for fault in faults)
        if not faults:
            rows.append(_row(data))
    if header is None:
        problems.append(Problem("the relation table has no header", where=str(file), allowed=", ".join(COLUMNS)))
    return rows


def _row(data: Mapping[str, str]) -> RelationRow:
    end = cast(Literal["head", "tail"], data["answer_end"])
    names = (*COLUMNS[:-1], *OPTIONAL)
    return RelationRow(**{name: data.get(name, "") for name in names}, answer_end=end)


def _header_fault(header: list[str]) -> str:
    if missing := [name for name in COLUMNS if name not in header]:
        return f"the header lacks {', '.join(missing)}"
    if unknown := [name for name in header if name not in (*COLUMNS, *OPTIONAL)]:
        return f"the header has the unknown column {', '.join(unknown)}"
    return "" if header[: len(COLUMNS)] == list(COLUMNS) else "the columns stand in another order"


def _faults(data: Mapping[str, str]) -> list[str]:
    faults = [
        f"{column}: {fault}"
        for column in ("statement", "negated", "tf", "oe")
        for fault in template_faults(data[column], NAMES)
    ]
    for column in ("statement", "negated", "tf"):
        for end in ("head", "tail"):
            if placeholders(data[column]).count(end) != 1:
                faults.append(f"{column}: {{{end}}} must stand in it once")
    if not data["relation"]:
        faults.append("relation: empty")
    if data["statement"] == data["negated"]:
        faults.append("negated: the same as statement")
    if data["statement"][-1:] != data["negated"][-1:]:
        faults.append("negated: it ends otherwise than statement, which would give the key away")
    if data["answer_end"] not in ("head", "tail"):
        faults.append(f"answer_end: {data['answer_end']!r}; allowed are head and tail")
    elif data["answer_end"] in placeholders(data["oe"]):
        faults.append(f"oe: it holds its own answer, {{{data['answer_end']}}}")
    return faults + [f for column in OPTIONAL for f in _regex_fault(column, data.get(column, ""))]


def _regex_fault(column: str, pattern: str) -> list[str]:
    try:
        regex.compile(pattern)
    except regex.error as error:
        return [f"{column}: {pattern!r} is not a regular expression: {error}"]
    return []
