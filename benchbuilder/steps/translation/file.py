"""The table in which people translate facts: a line for each part, so that no cell holds a list."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchbuilder.core import DataError, Payload, Row, raise_row_errors, read_row_file
from benchbuilder.steps.translation.pairs import TextPair

BY_MODEL = "model:"
"""How the author of a translation begins that a model wrote."""
TRANSLATION_COLUMNS = ("id", "part", "original", "translation", "author", "note", "fault")
_NEEDED = TRANSLATION_COLUMNS[:4]
BACK_COLUMN = "back"
"""An optional column: the translation, translated back by another person or machine."""
_ACCEPTED = "ok:"
"""How a note begins that says why a flagged line is right."""


class TranslatedPart(NamedTuple):
    """A line of the table; `line` is its number in the file, 0 for a new one."""

    line: int
    id: str
    part: str
    original: str
    translation: str
    author: str = ""
    note: str = ""
    back: str = ""

    @property
    def accepted(self) -> bool:
        """Whether somebody looked at its fault, and says that it is right."""
        note = self.note.strip().casefold()
        return note.startswith(_ACCEPTED) and bool(note.removeprefix(_ACCEPTED).strip())


Translations = Mapping[str, Mapping[str, TranslatedPart]]
"""The lines of a table by id and part."""


def payload_parts(payload: Payload) -> dict[str, str]:
    """The texts of a fact by the names of parts: ``question``, ``option.1``; each text once, no empty one."""
    found: dict[str, str] = {}
    for field, texts in payload.texts().items():
        for number, text in enumerate(texts, start=1):
            name = f"{field.removesuffix('s')}.{number}" if len(texts) > 1 else field
            if text.strip() and text not in found.values():
                found[name] = text
    return found


def drafted_parts(
    facts: Iterable[Row], drafts: Iterable[Row], back: Iterable[Row]
) -> dict[str, dict[str, TranslatedPart]]:
    """The lines of facts that a model translated, by id and part.

    Args:
        facts: The originals.
        drafts: The facts that a model made of them.
        back: The facts that a model made of the drafts, in the language of the originals.
    """
    draft_of = {row.of: row for row in drafts}
    back_of = {row.of: row for row in back}
    found: dict[str, dict[str, TranslatedPart]] = {}
    for fact in facts:
        if (draft := draft_of.get(fact.id)) is None:
            continue
        texts, returned = _all_parts(draft), _all_parts(back_of.get(draft.id))
        author = draft.produced_by.rule.partition("/")[2]
        found[fact.id] = {
            name: TranslatedPart(0, fact.id, name, text, texts[name], author, back=returned.get(name, ""))
            for name, text in payload_parts(_payload(fact)).items()
        }
    return found


def _payload(row: Row) -> Payload:
    payload: Payload = getattr(row, "payload")  # noqa: B009 - a fact of any payload
    return payload


def _all_parts(row: Row | None) -> dict[str, str]:
    """The texts of a fact by the names of parts, as `payload_parts`, with those that stand twice."""
    if row is None:
        return {}
    return {
        f"{field.removesuffix('s')}.{number}" if len(texts) > 1 else field: text
        for field, texts in _payload(row).texts().items()
        for number, text in enumerate(texts, start=1)
    }


def read_translations(path: Path) -> Translations:
    """The lines of a table in UTF-8, by id and part; cells are read as text.

    Raises:
        DataError: The file is missing or unreadable, lacks a column, or has a line without id or part, or one twice.
    """
    found: dict[str, dict[str, TranslatedPart]] = {}
    problems = list[str]()
    for line, row in read_row_file(path):
        if missing := [name for name in _NEEDED if name not in row]:
            raise DataError(
                f"the table of translations has no column {missing[0]!r}",
                where=str(path),
                why=f"it has {', '.join(row)}",
                next="`benchbuild translations write` writes one to fill in",
            )
        cells = {name: str(row.get(name) or "") for name in (*TRANSLATION_COLUMNS, BACK_COLUMN)}
        part = TranslatedPart(
            line,
            cells["id"].strip(),
            cells["part"].strip(),
            cells["original"],
            cells["translation"].strip(),
            cells["author"].strip(),
            cells["note"],
            cells[BACK_COLUMN].strip(),
        )
        earlier = found.setdefault(part.id, {})
        if not part.id or not part.part:
            problems.append(f"{path}:{line}: it has no id or no part")
        elif part.part in earlier:
            problems.append(f"{path}:{line}: {part.part} of {part.id} stands in line {earlier[part.part].line} too")
        earlier[part.part] = part
    raise_row_errors(problems, "the table of translations has faults", "give every part one line, with its id")
    return found


def pair_of(parts: Mapping[str, TranslatedPart]) -> TextPair:
    """The lines of a fact as a pair."""
    first = next(iter(parts.values()))
    source = {name: part.original for name, part in parts.items()}
    target = {name: part.translation for name, part in parts.items()}
    back = {name: part.back for name, part in parts.items() if part.back}
    return TextPair(first.id, source, target, back or None)


def is_complete(parts: Mapping[str, TranslatedPart]) -> bool:
    """Whether every part is translated."""
    return all(part.translation for part in parts.values())


def render_translations(lines: Iterable[TranslatedPart], faults: Mapping[tuple[str, str], Sequence[str]]) -> str:
    """The table with faults by id and part; a text with a line break stands in quotes, as spreadsheets write it."""
    lines = list(lines)
    columns = (*TRANSLATION_COLUMNS[:4], *([BACK_COLUMN] if any(line.back for line in lines) else []))
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow([*columns, *TRANSLATION_COLUMNS[4:]])
    for line in lines:
        fault = "; ".join(faults.get((line.id, line.part), ()))
        writer.writerow([*(getattr(line, name) for name in columns), line.author, line.note, fault])
    return text.getvalue()
