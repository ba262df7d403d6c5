"""``new --data FILE``: what kind of source a file is, which columns it needs, and what its texts are."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from textwrap import shorten
from typing import Any, cast

from benchbuilder.authoring.starter.cells import IDENTIFIER, Cells, Layout, columns_of, label_of
from benchbuilder.authoring.starter.converted import ConvertedFile, convert_file
from benchbuilder.authoring.starter.documents import DOCUMENTS, read_document
from benchbuilder.authoring.starter.entity_table import records_by_key, triples_of_entities
from benchbuilder.authoring.starter.graph import rdf_layout
from benchbuilder.authoring.starter.layout import TEXT, find_columns, layout_of
from benchbuilder.authoring.starter.sample import (
    FileSample,
    Reading,
    UnclearLayoutError,
    is_running_text,
    read_sample,
    sheet_names,
    table_words,
)
from benchbuilder.config import OPEN_PLACE, did_you_mean
from benchbuilder.core import Problem, RecipeError, count_phrase, read_given_file
from benchbuilder.sources import RDF_SUFFIXES

KIND_WORDS = {
    "multiple_choice": "multiple-choice questions", "several_choice": "questions with several right options",
    "question_answer": "questions with answers", "claims": "labelled claims", "triples": "triples", "rdf": "triples",
    "corpus": "texts", "books": "texts",
}  # fmt: skip
_TRIED = ("multiple_choice", "claims", "question_answer", "triples", "corpus")
"""Kinds in the order in which they are tried: what has options could be read without them, too."""
_ROLES = {
    "question": "question", "options": "option", "key": "answer_key", "right": "right answer", "wrong": "wrong answer",
    "claim": "claim", "label": "label", "premise": "premise", "head": "head", "relation": "relation", "tail": "tail",
    "head_type": "head_type", "tail_type": "tail_type", "text": "text", "title": "title",
}  # fmt: skip
"""What ``--columns`` may name, and the name by which the column of somebody's choice is then known."""
_COLUMN_ROLES = (*_ROLES, "context", "evidence")
_OF_KIND = {
    "multiple_choice": {"question", "options", "key", "right", "wrong"},
    "claims": {"claim", "label", "premise", "text", "question", "right"},
    "question_answer": {"question", "right", "wrong"},
    "corpus": {"text", "title"},
    "triples": {"head", "relation", "tail", "head_type", "tail_type"},
}
"""What ``--columns`` may name of a file of each kind, besides what is shown with it."""
_ROLE_NAMES = {
    "multiple_choice": {"answer_key": "key", "answer": "right"},
    "several_choice": {"answer_key": "key"},
    "question_answer": {"answers": "right"},
    "claims": {"text": "claim"},
}
"""The roles of ``--columns`` that a source's settings call otherwise."""
_LETTER = re.compile(r"\s*\(?[A-Ja-j]\)?[.)]?\s*")
_LABELS = ("true", "false", "skip")
"""What ``--columns`` may say of labels."""
_FILE = ("encoding", "sheet")
"""What ``--columns`` may say of a whole file."""
_SHOWN = re.compile(r"(?i)(^|_)(passage|context|text|case|vignette|article|paragraph)$")
_EVIDENCE = re.compile(
    r"(?i)^(evidence|source[ _]?text|passage|knowledge|support(ing[ _]?(text|sentences?|passage))?|contexts?|"
    r"explanation|rationale|justification|because|why|reason|proof|quote|excerpt|beleg|begr\u00fcndung|justificativa)$"
)
"""Names of columns of texts: that options are about, so that they are shown; and that show an answer."""
_HINT = (
    "name its columns, for instance --columns question=COL,options=COL,options=COL,key=COL or "
    "question=COL,right=COL,wrong=COL or claim=COL,label=COL or head=COL,relation=COL,tail=COL or, of a table with a "
    "row for each entity, head=COL; or its kind: --source NAME:KIND=FILE"
)
_NO_DOCUMENTS = (".doc", ".odt", ".rtf", ".pptx")
_SECTIONS = Layout({"text": "text", "title": "title", "document": "document"}, {"format": "jsonl"})
_TRIPLES = Layout({"head": "head", "relation": "relation", "tail": "tail"}, {"format": "jsonl"})
_CHOICES, _ANSWERED = ("multiple_choice", "several_choice"), ("claims", "question_answer")
MOST_BYTES = 20_000_000
"""The size limit of a copied file."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """What is known of a file: the source `name` of the kind `kind` reads `data` as `layout` says.

    `texts` tell its language. `evidence` is the column of the texts that show the answers, if there is one, and
    `notes` say what else was seen. `roles` are the columns that ``--columns`` would name to say the same.
    """

    given: Path
    name: str
    kind: str
    suffix: str
    data: bytes
    layout: Layout
    texts: Sequence[str] = ()
    evidence: str | int | None = None
    notes: Sequence[str] = field(default_factory=tuple[str, ...])
    roles: Sequence[tuple[str, str]] = ()

    @property
    def argument(self) -> str:
        """The source as ``--source`` names it."""
        return f"{self.name}:{self.kind}"


def read_data_files(given: Sequence[str], columns: str | None, language: str | None = None) -> list[DataFile]:
    """What the files hold. The `language` of their texts, if it is known, tells an encoding.

    Raises:
        RecipeError: It cannot be told of one; with what was seen in it, and what would help.
    """
    told = _told_columns(columns or "")
    if told and len(given) != 1:
        hint = "give one --data with it, and add the other files to the recipe"
        raise RecipeError([Problem("--columns is about one file", where=f"--columns {columns}", hint=hint)])
    files: list[DataFile] = []
    for path in map(Path, given):
        check_file(path, f"--data {path}")
        try:
            name = _own_name(path, [file.name for file in files])
            files.append(_with_sure_roles(_read(path, name, told, language or ""), language or ""))
        except UnclearLayoutError as question:
            what, hint = "what this file holds could not be told", question.hint or _HINT
            problem = Problem(what, where=f"--data {path}", actual=str(question), hint=hint)
            raise RecipeError([problem]) from None
    return files


def _with_sure_roles(file: DataFile, language: str) -> DataFile:
    """The file without `roles` if to name these columns would not say the same."""
    told = dict[str, list[str]]()
    for role, column in file.roles:
        told.setdefault(role, []).append(column)
    try:
        again = _read(file.given, file.name, told, language) if told else file
    except UnclearLayoutError:
        return replace(file, roles=())
    same = (again.kind, again.layout, again.evidence) == (file.kind, file.layout, file.evidence)
    return file if same else replace(file, roles=())


def check_file(path: Path, where: str) -> None:
    """RecipeError if there is no such file, or it is too large to copy."""
    if not path.is_file():
        raise RecipeError([Problem("there is no such file", where=where, actual=str(path))])
    if path.stat().st_size > MOST_BYTES:
        hint = (
            "begin with a part of it, and give the path of the whole file later: paths of your own stand on the "
            "command line"
        )
        raise RecipeError(
            [Problem("this file is too large to copy", where=where, allowed=f"{MOST_BYTES} bytes", hint=hint)]
        )


def _own_name(path: Path, taken: Sequence[str]) -> str:
    """A name for the source, from that of its file."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", path.stem) if not unicodedata.combining(mark))
    name = re.sub(r"[\W_]+", "_", plain.lower(), flags=re.ASCII).strip("_")
    name = name if name.isidentifier() else f"data_{name}".strip("_")
    return next(one for n in range(1, len(taken) + 2) if (one := f"{name}_{n}" if n > 1 else name) not in taken)


def _told_columns(columns: str) -> Mapping[str, list[str]]:
    """The columns of ``ROLE=COL,...`` by their roles."""
    told: dict[str, list[str]] = {}
    for part in filter(None, columns.split(",")):
        role, equals, name = part.partition("=")
        roles = (*_COLUMN_ROLES, "key_as", *_LABELS, *_FILE)
        if not equals or role not in roles:
            called = next((known for known, names in table_words()["roles"].items() if role.lower() in names), "")
            meant = f"did you mean {called!r}?" if called else did_you_mean(role, roles)
            hint, allowed = meant or "for instance --columns question=COL,right=COL,wrong=COL", ", ".join(roles)
            raise RecipeError(
                [Problem("this gives no role to a column", where=f"--columns {part}", allowed=allowed, hint=hint)]
            )
        told.setdefault(role, []).append(name)
    return told


def _read(path: Path, name: str, told: Mapping[str, list[str]], language: str) -> DataFile:
    """What a file holds: of several worksheets that which alone holds the first kind that any of them does."""
    encoding, sheet = (told.get(role, [""])[-1] for role in _FILE)
    sheets, suffix = sheet_names(path), path.suffix.lower()
    if sheet and suffix != ".xlsx":
        raise UnclearLayoutError("a file without worksheets", hint="leave --columns sheet out")
    if encoding and suffix in (*RDF_SUFFIXES, ".xlsx", ".parquet", ".docx", ".pdf", ".epub"):
        raise UnclearLayoutError("a file whose encoding is known", hint="leave --columns encoding out")
    if sheet and sheet not in sheets:
        raise UnclearLayoutError(f"there is no worksheet {sheet}; there are {', '.join(sheets)}", hint="name one")
    named = frozenset(chain.from_iterable(names for role, names in told.items() if role in _COLUMN_ROLES))
    found, problems = dict[str, DataFile](), dict[str, UnclearLayoutError]()
    for one in [sheet] if sheet else sheets:
        try:
            found[one] = _read_part(path, name, told, Reading(encoding, one, language, named))
        except UnclearLayoutError as question:
            problems[one] = question
    if not found:
        reasons = (f"sheet {one}: {question}" if one else str(question) for one, question in problems.items())
        hints = (question.hint for question in problems.values())
        raise UnclearLayoutError("; ".join(reasons), hint=next(filter(None, hints), ""))
    first = min((file.kind for file in found.values()), key=lambda kind: _TRIED.index(kind) if kind in _TRIED else 0)
    best = [one for one, file in found.items() if file.kind == first]
    if len(best) > 1:
        answer = shlex.quote(f"sheet={best[0]}")
        raise UnclearLayoutError(f"the worksheet: {' or '.join(best)}", hint=f"say it, for instance --columns {answer}")
    file, others = found[best[0]], [one for one in sheets if one != best[0]]
    more = f"; not read: {_some(others)}" if others else ""
    return replace(file, notes=[f"sheet {best[0]}{more}", *file.notes]) if best[0] else file


def _read_part(path: Path, name: str, told: Mapping[str, list[str]], reading: Reading) -> DataFile:
    """What a file, or one of its worksheets, holds."""
    suffix = path.suffix.lower()
    if suffix in RDF_SUFFIXES:
        layout, texts = rdf_layout(path)
        return DataFile(path, name, "rdf", suffix, read_given_file(path), layout, texts)
    if suffix in _NO_DOCUMENTS:
        raise UnclearLayoutError(f"a document in the format {suffix}", hint="save it as .docx, .pdf, .html or .txt")
    converted = convert_file(path, reading)
    if converted is None and suffix in DOCUMENTS and (suffix not in (".txt", ".md") or is_running_text(path, reading)):
        records, rest = read_document(path, reading)
        sections = ConvertedFile(records, f"{count_phrase(len(records), 'section')}, written as JSON Lines{rest}")
        texts = [str(record["text"]) for record in records]
        return DataFile(path, name, "corpus", ".jsonl", sections.data, _SECTIONS, texts, notes=[sections.note])
    sample = FileSample(converted.records) if converted is not None else None
    suffix, data = (".jsonl", converted.data) if converted is not None else (suffix, read_given_file(path))
    try:
        kind, layout, found = _told(path.with_suffix(suffix) if converted else path, sample, told, reading)
    except UnclearLayoutError as question:
        if question.sure or converted or (entities := _entities(path, name, told, reading)) is None:
            raise
        return entities
    cells = columns_of(found.records)
    if told.get("key_as"):
        layout = Layout(layout.columns, {**layout.settings, "key_as": told["key_as"][0]})
    if any(OPEN_PLACE in str(value) for value in layout.settings.values()):
        hint = "say --columns key_as=index if they count from 0, key_as=index_from_1 if they count from 1"
        raise UnclearLayoutError(f"the numbers in {layout.columns['answer_key']} may count from 0 or from 1", hint=hint)
    shown, evidence = _shown_columns(kind, told, cells, layout)
    if shown is not None:
        layout = Layout({**layout.columns, "context": shown}, layout.settings)
    columns = [*_used(layout), *([] if evidence is None else [evidence])]
    texts = [text for column in columns for text in _texts(cells.get(column, ()))]
    notes = [*([] if converted is None else [converted.note]), *_left_out(found, kind)]
    if "labels" in layout.settings:
        notes.append(_counted_labels(layout, cells))
    used = {str(column) for column in (*_used(layout), shown, evidence)}
    names = dict.fromkeys(map(str, chain.from_iterable(found.records)))
    used |= {str(name) for name, values in cells.items() if not set(map(str, values)) - {"", "None"}}  # nothing in it
    unused = [name for name in names if not _is_in(name, used) and not IDENTIFIER.search(name)]
    if unused:
        notes.append(f"not used: {_some(unused)}")
    if kind == "question_answer" and "wrong" not in layout.columns:
        notes.append(
            "no wrong answers are listed: rules take them from other rows, so a few rows give few items or none"
        )
    evidence = None if evidence == shown else evidence
    said = ((role, value) for role in ("key_as", *_LABELS, *_FILE) for value in told.get(role, ()))
    roles = (*_roles(kind, layout, evidence, cells), *said)
    return DataFile(path, name, kind, suffix, data, layout, texts, evidence, notes, roles)


def _entities(path: Path, name: str, told: Mapping[str, list[str]], reading: Reading) -> DataFile | None:
    """The triples of a table with a row for each entity; ``None`` if it is none, or somebody said more of it."""
    if set(told) - {"head", *_FILE}:
        return None
    records = records_by_key(path)
    with suppress(UnclearLayoutError):
        records = records or read_sample(path, replace(reading, most=None)).records
    if (found := triples_of_entities(records, told.get("head", [""])[-1]) if records else None) is None:
        return None
    triples, note, named = found
    table, texts = ConvertedFile(triples, note), [str(text) for row in triples for text in row.values()]
    roles = [("head", named)]
    return DataFile(path, name, "triples", ".jsonl", table.data, _TRIPLES, texts, notes=[note], roles=roles)


def _left_out(found: FileSample, kind: str) -> Iterator[str]:
    """Which rows of a table are no records."""
    if (header := found.settings.get("header", True)) > 1:
        yield f"the columns are named on line {header}; left out: what stands above"
    if blank := found.blank_lines():
        lines = f"line{'s' * (len(blank) > 1)} {_some(blank)}"
        yield f"{count_phrase(len(blank), 'blank row')}, which a build drops: {lines}"
    if found.headings and kind != "corpus":  # a text needs no other cell
        shown = shorten(found.headings[0], _LONGEST_SHOWN, placeholder=" …")
        yield f"{count_phrase(len(found.headings), 'row')} of one cell, which a build drops: “{shown}”"


def _shown_columns(
    kind: str, told: Mapping[str, list[str]], cells: Cells, layout: Layout
) -> tuple[str | int | None, str | int | None]:
    """The columns of the text that a question is about, and of the text that supports its answer; ``None`` for none."""
    if "context" in told and kind not in (*_CHOICES, "question_answer"):
        raise UnclearLayoutError(f"{KIND_WORDS[kind]} have no context", sure=True, hint="leave context=COL out")
    shown, evidence = (
        _column(told[role][0], cells) if role in told else _named(pattern, cells, layout) if kind in kinds else None
        for role, pattern, kinds in (("context", _SHOWN, _CHOICES), ("evidence", _EVIDENCE, (*_CHOICES, *_ANSWERED)))
    )
    return shown, evidence


def _roles(kind: str, layout: Layout, evidence: str | int | None, cells: Cells) -> Iterator[tuple[str, str]]:
    """The columns of a layout by the roles of ``--columns``."""
    names, right = _ROLE_NAMES.get(kind, {}), layout.columns.get("answer")
    if right is not None and "answer_key" not in layout.columns:  # the others are wrong
        names = {**names, "options": "wrong"}
    for role, value in {**layout.columns, **({} if evidence is None else {"evidence": evidence})}.items():
        for column in cast("list[Any]", value if isinstance(value, list) else [value]):
            if names.get(role, role) != "wrong" or column != right:
                yield names.get(role, role), str(column if column in cells else str(column).removesuffix("[0]"))


def _counted_labels(layout: Layout, cells: Cells) -> str:
    """How many claims each label has, by what it means."""
    column = layout.columns["label"]
    counts = Counter(map(label_of, cells[column] if column in cells else cells[str(column).removesuffix("[0]")]))
    parts: list[str] = []
    for meaning, labels in sorted(layout.settings["labels"].items(), key=lambda pair: _LABELS.index(pair[0])):
        word = "left out" if meaning == "skip" else meaning
        each = ", ".join(f"{counts[label]} {label}" for label in labels)
        more = "" if [label.casefold() for label in labels] == [word] else f" ({each})"
        parts.append(f"{sum(counts[label] for label in labels)} {word}{more}")
    parts += [f"{counts['']} without a label, left out"] * (counts[""] > 0)
    return f"labels: {'; '.join(parts)}"


def _some(values: Sequence[Any]) -> str:
    """The first values, and how many more there are."""
    more = f" and {len(values) - _MOST_NAMED} more" if len(values) > _MOST_NAMED else ""
    return f"{', '.join(map(str, values[:_MOST_NAMED]))}{more}"


def _is_in(column: str, used: Iterable[str]) -> bool:
    """Whether a column, or a part of it, is among those that are used."""
    return any(one == column or one.startswith((f"{column}.", f"{column}[")) for one in used)


def _told(
    path: Path, sample: FileSample | None, told: Mapping[str, list[str]], reading: Reading
) -> tuple[str, Layout, FileSample]:
    """The first kind that fits the file, or the columns that somebody named, with its layout and the sample of it."""
    reasons, hints = dict[str, str](), list[str]()
    labels = {label: meaning for meaning in _LABELS for label in told.get(meaning, ())}
    for kind in ("claims",) if labels else _kinds_with(told):
        try:
            found = sample or read_sample(path, reading.of_kind(kind))
            cells = columns_of(found.records)
            names = _columns(dict(_aliases(told)), cells)
            known: Cells = {alias: cells[name] for alias, name in names.items()} if names else cells
            _refuse_key(told.get("right", ()), cells)
            own_kind, layout = _of_kind(kind, known, labels)
        except UnclearLayoutError as question:
            if question.sure:
                raise
            reasons[kind] = str(question)
            hints += [question.hint] if question.hint else []
            continue
        columns = {role: _own_columns(value, names) for role, value in layout.columns.items()}
        return own_kind, layout_of(path, found, Layout(columns, layout.settings)), found
    kinds = {why: kind for kind, why in reversed(reasons.items())}
    raise UnclearLayoutError(
        "; ".join(
            why if len(kinds) == 1 else f"as {KIND_WORDS[kind]}: {shorten(why, _LONGEST_REASON, placeholder=' …')}"
            for why, kind in reversed(kinds.items())
        ),
        hint="; ".join([*hints[:1], _HINT]),
    )


def _kinds_with(told: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The kinds that have every role which somebody named; UnclearLayoutError if none has."""
    named = {role for role in told if role in _ROLES}
    if kinds := [kind for kind in _TRIED if named <= _OF_KIND[kind]]:
        return kinds
    together = f"--columns names {', '.join(sorted(named))}, and nothing is read from all of these together"
    raise UnclearLayoutError(together, sure=True)


def _refuse_key(right: Sequence[str], cells: Cells) -> None:
    """UnclearLayoutError for a column of right answers that is the key of options in other columns."""
    values = [str(value or "") for name in right for value in cells[_column(name, cells)]]
    if not any(values) or not all(map(_LETTER.fullmatch, filter(None, values))):
        return
    try:
        layout = find_columns("multiple_choice", cells)
    except UnclearLayoutError:
        return  # there are no options: blood groups, vitamins
    if layout.columns.get("answer_key") in right:
        said = ",".join(f"{role}={column}" for role, column in _roles("multiple_choice", layout, None, cells))
        letters = ", ".join(sorted({*filter(None, values)}))
        problem = f"{', '.join(right)} holds no right answers but letters of options: {letters}"
        raise UnclearLayoutError(problem, sure=True, hint=f"it is their key: --columns {shlex.quote(said)}")


def _of_kind(kind: str, cells: Cells, labels: Mapping[str, str]) -> tuple[str, Layout]:
    """The columns of a kind; UnclearLayoutError with what cannot be told."""
    try:
        layout = find_columns(kind, cells, labels)
    except UnclearLayoutError as question:
        if kind != "multiple_choice" or "no column fits" in str(question):
            raise
        if "several_choice" not in str(question):
            raise UnclearLayoutError(str(question), sure=True) from None  # there are options, and a key that fits
        return "several_choice", find_columns("several_choice", cells)
    if kind == "corpus" and not TEXT.search(str(layout.columns["text"])):
        raise UnclearLayoutError(f"the text: none of {', '.join(map(str, cells))}"[:300])
    return kind, layout


def _aliases(told: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """The columns that somebody named, each below a name that says what it holds."""
    for role, alias in _ROLES.items():
        names = told.get(role, ())
        yield from ((f"{alias} {n}" if len(names) > 1 else alias, name) for n, name in enumerate(names, 1))


def _column(name: str, cells: Cells) -> str | int:
    """The column of this name or number; UnclearLayoutError if there is none."""
    return _columns({"": name}, cells)[""]


def _columns(told: Mapping[str, str], cells: Cells) -> dict[str, str | int]:
    """The columns of these names or numbers; UnclearLayoutError with all that there are not."""
    found = {role: int(name) if name.isdecimal() and name not in cells else name for role, name in told.items()}
    if missing := [told[role] for role, column in found.items() if column not in cells]:
        seen = shorten(", ".join(map(str, cells)), 300, placeholder=" …") or "no rows below the first line"
        likely = (f"for {name}, {meant}" for name in missing if (meant := did_you_mean(name, [*map(str, cells)])))
        hint = "; ".join(likely) or "name columns that there are"
        raise UnclearLayoutError(f"there is no column {', '.join(missing)}; there are {seen}", sure=True, hint=hint)
    return found


def _own_columns(value: Any, names: Mapping[str, str | int]) -> Any:
    """Columns as the file names them; the first of a list, too."""
    given = cast("list[Any]", value if isinstance(value, list) else [value])
    own = [
        f"{names[first]}[0]"
        if (first := str(column).removesuffix("[0]")) != column and first in names
        else names.get(column, column)
        for column in given
    ]
    return own if isinstance(value, list) else own[0]


def _named(pattern: re.Pattern[str], cells: Cells, layout: Layout) -> str | int | None:
    """The only column that the pattern names, no role has, and that holds texts."""
    used = _used(layout)
    found = [
        name
        for name, values in cells.items()
        if name not in used and pattern.search(str(name)) and any(len(text) > _SHORT for text in _texts(values))
    ]
    return found[0] if len(found) == 1 else None


def _used(layout: Layout) -> list[Any]:
    return [name for value in layout.columns.values() for name in (value if isinstance(value, list) else [value])]


_MOST_NAMED = 6
"""The most columns or lines that a note names."""
_LONGEST_SHOWN, _LONGEST_REASON = 40, 160
_SHORT = 20
"""The most characters of a text that is too short to be evidence."""


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | dict):
        parts = cast("Sequence[Any]", value.values() if isinstance(value, dict) else value)
        for part in parts:
            yield from _texts(part)
