"""Relation tables, which write the relations of a knowledge graph as sentences, and the base of steps that use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import regex

from benchbuilder.config import OPEN_PLACE, FileRef, StepSpec
from benchbuilder.core import (
    Dropped,
    Problem,
    RecipeError,
    Row,
    Span,
    SpecIssue,
    Table,
    Triple,
    check_regex,
    compose_characters,
    count_phrase,
    fill_template,
    matches_whole,
    placeholders,
    read_given_text,
    template_faults,
)
from benchbuilder.steps.base import Map
from benchbuilder.steps.language.questions import is_one_sentence

RELATION_COLUMNS = ("relation", "statement", "negated", "tf", "oe", "answer_end")
OPTIONAL = ("when_head", "when_tail")
SET_QUESTION = "oe_set"
"""The column of the question that asks for all ends."""
NAMES = ("head", "tail", "relation")
_SMALL_WORD, _NO_CAPITALS = regex.compile(r"\p{Ll}{2,}(?![\p{L}\p{N}])"), regex.compile(r"\p{Lo}")
_FEW = 0.05
"""A remark is about at least this proportion of the triples of a partition."""
_NAMED = 8
"""So many relations are named in a remark."""
ANY = "*"
"""The relation of a row for all relations without a row of their own."""
DEFAULT = "default"
"""The key of the table for partitions without a table of their own."""
UNKNOWN_RELATION: Mapping[str, str] = {
    "unknown_relation": "The relation table has no row for this relation and its ends."
}
"""The drop reason of a triple without a template."""


@dataclass(frozen=True)
class RelationRow:
    """One way to read a relation: templates over ``{head}``, ``{tail}`` and ``{relation}``.

    `answer_end` is the end that answers the open-ended question `oe` (empty: no question), and `oe_set`, which asks for
    all such ends. A row applies only to triples whose complete ends match `when_head` and `when_tail` (empty: any).
    """

    relation: str
    statement: str
    negated: str
    tf: str
    oe: str
    answer_end: Literal["head", "tail"]
    when_head: str = ""
    when_tail: str = ""
    oe_set: str = ""

    def fits(self, head: str, tail: str) -> bool:
        """Whether the row applies to a triple with these ends."""
        pairs = ((self.when_head, head), (self.when_tail, tail))
        return all(not pattern or matches_whole(pattern, end) for pattern, end in pairs)


class RelationTables:
    """The tables of a recipe by partition, with the table ``default`` for all others."""

    def __init__(self, tables: Mapping[str, list[RelationRow]]) -> None:
        self._rows: dict[str, dict[str, list[RelationRow]]] = {}
        for partition, rows in tables.items():
            grouped = self._rows.setdefault(partition, {})
            for row in rows:
                grouped.setdefault(compose_characters(row.relation), []).append(row)

    @classmethod
    def read(cls, files: Mapping[str, Path]) -> RelationTables:
        """Read one file per partition; RecipeError lists all faults of all files, with their lines."""
        problems: list[Problem] = []
        tables = {partition: _read(file, problems) for partition, file in files.items()}
        if problems:
            raise RecipeError(problems, next="correct the relation table and run again")
        return cls(tables)

    def sentences(self, column: str) -> dict[str, str]:
        """The sentences in a column that are not empty, each with the relation of its first row."""
        rows = (row for of in self._rows.values() for found in of.values() for row in found)
        found: dict[str, str] = {}
        for row in rows:
            found.setdefault(getattr(row, column), row.relation)
        return {text: relation for text, relation in found.items() if text}

    def find(self, partition: str, relation: str, head: str, tail: str) -> RelationRow | None:
        """The first row that applies to the triple; a relation with rows never falls back to ``*``."""
        rows = self._rows.get(partition, self._rows.get(DEFAULT, {}))
        for row in rows.get(compose_characters(relation), rows.get(ANY, [])):
            if row.fits(head, tail):
                return row
        return None


class RelationStepSpec(StepSpec):
    """Where the templates of relations are."""

    relations: dict[str, FileRef]
    """A relation table for each partition; ``default`` is for all others."""


def question_issues(tables: RelationTables, column: str, mark: str, ends: str) -> Iterator[SpecIssue]:
    """An issue for each sentence in a column that makes no single question of any triple, so that all are dropped."""
    for sentence, relation in tables.sentences(column).items():
        text, _ = fill_template(sentence, dict.fromkeys(NAMES, "x"))
        if not is_one_sentence(text, mark, ends):
            message = (
                f"`{column}` of {relation} is not one sentence that ends in {mark!r}: each of its questions is dropped"
            )
            yield SpecIssue("relations", message, sentence, ("write it as one question",))


def read_tables(spec: RelationStepSpec) -> RelationTables:
    """The relation tables of a step; RecipeError lists all faults of all files, with their lines."""
    return RelationTables.read({name: ref.file for name, ref in spec.relations.items()})


class RelationStep(Map):
    """A map that fills the templates of relation tables."""

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """No issues; RecipeError lists all faults of the relation tables."""
        self._read_tables()
        return ()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the relation tables; RecipeError names the line of each fault."""
        self._tables = self._read_tables()

    def remarks_on(self, rows: Sequence[Any]) -> Iterator[SpecIssue]:
        """The relations of triples that no row of the tables fits, with the number of their triples."""
        tables, unstated, known = self._read_tables(), Counter[tuple[str, str]](), set[tuple[str, str]]()
        for row in rows:
            triple: Triple = row.payload
            place = row.partition, triple.relation
            if tables.find(*place, triple.head, triple.tail) is None:
                unstated[place] += 1
            else:
                known.add(place)
        for place in known:
            del unstated[place]
        triples = Counter(row.partition for row in rows)
        lost = Counter[str]()
        for (partition, _), n in unstated.items():
            lost[partition] += n
        for partition in (name for name, n in lost.items() if n >= _FEW * triples[name]):
            of = {relation: n for (name, relation), n in unstated.most_common() if name == partition}
            named = ", ".join(f"{relation} ({n})" for relation, n in list(of.items())[:_NAMED])
            yield SpecIssue(
                "relations",
                f"no sentence for {count_phrase(len(of), 'relation')} of {partition}: "
                f"{lost[partition]} of its first {triples[partition]} triples are dropped",
                named + (f" and {len(of) - _NAMED} more" if len(of) > _NAMED else ""),
                ("add a row for each to the table, or a row for `*`",),
            )

    def _read_tables(self) -> RelationTables:
        return read_tables(self.spec)

    def find_row(self, partition: str, triple: Triple) -> RelationRow | Dropped:
        """The row of the relation tables that applies to a triple, or the drop if there is none."""
        row = self._tables.find(partition, triple.relation, triple.head, triple.tail)
        return Dropped("unknown_relation", triple.relation) if row is None else row


def fill_relation(template: str, triple: Triple) -> tuple[str, dict[str, Span]]:
    """The text of a template of a relation for one triple, and the spans of its placeholders.

    A sentence in letters that have capitals begins with one, unless its first word is one letter or has capitals and
    digits of its own (mRNA, p53).
    """
    text, spans = fill_template(template, {"head": triple.head, "tail": triple.tail, "relation": triple.relation})
    return (text if _NO_CAPITALS.search(text) else capitalise(text)), spans


def capitalise(text: str) -> str:
    """A text with a capital in place of the first letter of a first word in small letters.

    >>> capitalise("ear pain"), capitalise("mRNA"), capitalise("p53")
    ('Ear pain', 'mRNA', 'p53')
    """
    first = text[:1].upper()
    return first + text[1:] if _SMALL_WORD.match(text) and len(first) == 1 else text


def _read(file: Path, problems: list[Problem]) -> list[RelationRow]:
    try:
        lines = read_given_text(file, "utf-8-sig").splitlines()
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
                problems.append(
                    Problem(fault, where=where, actual=", ".join(header), allowed=", ".join(RELATION_COLUMNS))
                )
                return []
            continue
        if len(cells) > len(header) or len(cells) < len(RELATION_COLUMNS):
            problems.append(Problem(f"{len(cells)} columns where the header has {len(header)}", where=where))
            continue
        data = dict(zip(header, cells, strict=False))
        faults = _faults(data)
        problems.extend(Problem(fault, key=data["relation"], where=where) for fault in faults)
        if not faults:
            rows.append(_row(data))
    if header is None:
        problems.append(
            Problem("the relation table has no header", where=str(file), allowed=", ".join(RELATION_COLUMNS))
        )
    return rows


def _row(data: Mapping[str, str]) -> RelationRow:
    end = cast(Literal["head", "tail"], data["answer_end"])
    names = (*RELATION_COLUMNS[:-1], *OPTIONAL, SET_QUESTION)
    return RelationRow(**{name: data.get(name, "") for name in names}, answer_end=end)


def _header_fault(header: list[str]) -> str:
    if missing := [name for name in RELATION_COLUMNS if name not in header]:
        return f"the header lacks {', '.join(missing)}"
    if unknown := [name for name in header if name not in (*RELATION_COLUMNS, *OPTIONAL, SET_QUESTION)]:
        return f"the header has the unknown column {', '.join(unknown)}"
    return "" if header[: len(RELATION_COLUMNS)] == list(RELATION_COLUMNS) else "the columns are in another order"


def _faults(data: Mapping[str, str]) -> list[str]:
    if open_ones := [column for column in RELATION_COLUMNS[1:-1] if data[column] == OPEN_PLACE]:
        return [f"{', '.join(open_ones)}: a sentence must be written in place of {OPEN_PLACE}"]
    faults = [
        f"{column}: {fault}"
        for column in ("statement", "negated", "tf", "oe", SET_QUESTION)
        for fault in template_faults(data.get(column, ""), NAMES)
    ]
    for column in ("statement", "negated", "tf"):
        for end in ("head", "tail"):
            if placeholders(data[column]).count(end) != 1:
                faults.append(f"{column}: {{{end}}} is needed once")
    if not data["relation"]:
        faults.append("relation: empty")
    if data["statement"] == data["negated"]:
        faults.append("negated: the same as statement")
    if data["statement"][-1:] != data["negated"][-1:]:
        faults.append("negated: it ends differently from statement, which would give the key away")
    if data["answer_end"] not in ("head", "tail"):
        faults.append(f"answer_end: {data['answer_end']!r}; allowed are head and tail")
    else:
        own = [name for name in ("oe", SET_QUESTION) if data["answer_end"] in placeholders(data.get(name, ""))]
        faults += [f"{name}: it contains its own answer, {{{data['answer_end']}}}" for name in own]
    return faults + [f for column in OPTIONAL for f in _regex_fault(column, data.get(column, ""))]


def _regex_fault(column: str, pattern: str) -> list[str]:
    try:
        check_regex(pattern)
    except ValueError as error:
        return [f"{column}: {error}"]
    return []
