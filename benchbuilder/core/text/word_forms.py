"""Forms that words take, and parts of patterns, that other patterns name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchbuilder.core.errors import DataError

_NAME = re.compile(r"%([a-z][a-z_]*)%")
FormRow = Mapping[str, str]


class WordForms:
    """Words in all their forms: a row is a word, a column a form that every row of its table has.

    `parts` are patterns by name, which may name columns and the parts before them.

    >>> forms = WordForms([{"one": "cell", "many": "cells"}, {"one": "bone", "many": "bones"}])
    >>> forms.expand("two %many%"), forms.other_form("cells", "one"), forms.other_form("tears", "one")
    ('two (?:bones|cells)', 'cell', '')
    """

    def __init__(self, rows: Sequence[FormRow] = (), parts: Mapping[str, str] | None = None) -> None:
        self._columns: dict[str, dict[str, None]] = {}
        self._rows: dict[str, list[FormRow]] = {}
        for row in rows:
            for column, form in row.items():
                self._columns.setdefault(column, {})[form] = None
                self._rows.setdefault(form, []).append(row)
        self._expanded: dict[str, str] = {}
        self._all = tuple(rows)
        self._parts: dict[str, str] = {}
        for name, part in (parts or {}).items():
            self._parts[name] = f"(?:{self.expand(part)})"

    @classmethod
    def read(cls, files: Sequence[Path], parts: Mapping[str, str] | None = None) -> WordForms:
        """The tables in `files`: tab-separated UTF-8 with a header; ``#`` is a comment. DataError names a bad line."""
        return cls([row for file in files for row in _read(file)], parts)

    def expand(self, pattern: str) -> str:
        """`pattern` with each ``%name%`` of a part or column replaced by it or by all its forms; others stay."""
        if pattern not in self._expanded:
            self._expanded[pattern] = _NAME.sub(self._any, pattern)
        return self._expanded[pattern]

    def fill_templates(self, *templates: str) -> Iterator[tuple[str, ...]]:
        """`templates` with their ``%column%`` filled, once for every word that has all of these columns.

        >>> forms = WordForms([{"base": "go", "third": "goes"}, {"base": "do", "third": "does"}])
        >>> list(forms.fill_templates("%third%", "does not %base%"))
        [('goes', 'does not go'), ('does', 'does not do')]
        """
        columns = {name for template in templates for name in _NAME.findall(template)}
        if not columns:
            yield templates
            return
        for row in self._all:
            if columns <= row.keys():
                yield tuple(_NAME.sub(lambda match, row=row: row[match[1]], template) for template in templates)

    def other_form(self, form: str, column: str) -> str:
        """The form `column` of the first word that has the form `form`; empty if none has both."""
        return next((row[column] for row in self._rows.get(form, ()) if column in row), "")

    def columns(self) -> frozenset[str]:
        """The names of all columns."""
        return frozenset(self._columns)

    def _any(self, match: re.Match[str]) -> str:
        if match[1] in self._parts:
            return self._parts[match[1]]
        forms = self._columns.get(match[1])
        if forms is None:
            return match[0]
        return f"(?:{'|'.join(map(re.escape, sorted(forms, key=lambda form: (-len(form), form))))})"


def _read(file: Path) -> Iterator[FormRow]:
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("the table of word forms cannot be read", where=str(file), why=str(error)) from error
    header: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if not header:
            header = cells
            continue
        if len(cells) != len(header) or not all(cells):
            why = f"{len([cell for cell in cells if cell])} forms where the header names {len(header)}"
            raise DataError("a word of this table lacks a form", where=f"{file.name}:{number}", why=why)
        yield dict(zip(header, cells, strict=True))
