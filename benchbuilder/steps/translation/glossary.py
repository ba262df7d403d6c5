"""The glossary of a translation: how terms are translated, and how they are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import regex

from benchbuilder.core import DataError, compose_characters, raise_row_errors, read_row_file

GLOSSARY_COLUMNS = ("term", "translation", "forbidden")
_BETWEEN = "|"


class GlossaryTerm(NamedTuple):
    """A term with all its forms, the translations of which one must stand in a text, and those that must not."""

    terms: tuple[str, ...]
    translations: tuple[str, ...]
    forbidden: tuple[str, ...]


@dataclass(frozen=True)
class Glossary:
    """The terms of a glossary, in its order."""

    terms: Sequence[GlossaryTerm] = field(default=())

    def entries_in(self, text: str) -> list[dict[str, Any]]:
        """The entries whose term a text names, as plain data."""
        found = ((next((term for term in entry.terms if _has_word(text, term)), None), entry) for entry in self.terms)
        return [
            {"term": term, "translations": list(entry.translations), "forbidden": list(entry.forbidden)}
            for term, entry in found
            if term is not None
        ]

    def faults(self, source: str, target: str) -> Iterator[str]:
        """What a translation does with the terms of the original that the glossary forbids."""
        there = _folded(target)
        for entry in self.terms:
            named = next((term for term in entry.terms if _has_word(source, term)), None)
            if named is None:
                continue
            if wrong := next((word for word in entry.forbidden if _folded(word) in there), None):
                yield f"“{named}” is “{wrong}”, which the glossary forbids"
            elif entry.translations and not any(_folded(word) in there for word in entry.translations):
                yield f"“{named}” is not “{'” or “'.join(entry.translations)}”"


def read_glossary(path: Path) -> Glossary:
    """The terms of a table with the columns term, translation and forbidden; several forms are divided by ``|``.

    A translation counts wherever it stands in a text, so that its beginning is enough.

    Raises:
        DataError: The file is missing or unreadable, lacks a column, or a line names no term or nothing about it.
    """
    entries, problems = list[GlossaryTerm](), list[str]()
    for line, row in read_row_file(path):
        if missing := [name for name in GLOSSARY_COLUMNS[:2] if name not in row]:
            raise DataError(
                f"the glossary has no column {missing[0]!r}",
                where=str(path),
                why=f"it has {', '.join(row)}",
                next=f"its columns are {', '.join(GLOSSARY_COLUMNS)}",
            )
        cells = [str(row.get(name) or "").split(_BETWEEN) for name in GLOSSARY_COLUMNS]
        entry = GlossaryTerm(*(tuple(filter(None, map(str.strip, cell))) for cell in cells))
        if not entry.terms or not (entry.translations or entry.forbidden):
            problems.append(f"{path}:{line}: it needs a term, and a translation or a forbidden one")
        entries.append(entry)
    raise_row_errors(problems, "the glossary has faults", "write a term and its translation on every line")
    return Glossary(entries)


def _folded(text: str) -> str:
    return compose_characters(text).casefold()


def _has_word(text: str, term: str) -> bool:
    return bool(regex.search(rf"(?<![\p{{L}}\p{{M}}]){regex.escape(_folded(term))}(?![\p{{L}}\p{{M}}])", _folded(text)))
