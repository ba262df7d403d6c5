"""Word lists: files with one word per line, the words that a text contains, and tables of word forms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchbuilder.core.errors import DataError
from benchbuilder.core.special_files import read_given_text
from benchbuilder.core.text.normalise import Fold, compose_characters, fold_text, normalise_space
from benchbuilder.core.text.patterns import TokeniseText, find_substring, word_boundaries


def load_words(path: Path) -> tuple[str, ...]:
    """The words of the UTF-8 file `path`, composed, in order, each once; errors as for `word_lines`."""
    return tuple(word_lines(path))


def word_lines(path: Path) -> dict[str, int]:
    """The first line of each word of the UTF-8 file `path`; the words are composed, and in order.

    One word per line. A line that begins with ``#`` is a comment; text after a tab is a gloss and left out. A missing,
    undecodable or empty list raises DataError.
    """
    try:
        text = read_given_text(path, "utf-8-sig")
    except FileNotFoundError as error:
        raise DataError("the word list is missing", where=str(path), next="check the path in the recipe") from error
    except UnicodeDecodeError as error:
        raise DataError(
            "the word list is not UTF-8", where=str(path), why=str(error), next="save it as UTF-8"
        ) from error
    words: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        word = compose_characters(normalise_space(line.partition("\t")[0]))
        if word and not line.lstrip().startswith("#"):
            words.setdefault(word, number)
    if not words:
        raise DataError("the word list holds no words", where=str(path), next="write one word per line")
    return words


_FEW = 16
"""Most words per first letter, on average, for a search by single letters."""


class WordFinder:
    """Finds every word of a list in texts, overlapping ones and words inside words too.

    With `tokens`, a word counts only as one or several whole tokens. `fold` names what is ignored.

    >>> sorted(WordFinder(["milk", "breast milk", "ilk"]).find("breast milk"))
    ['breast milk', 'ilk', 'milk']
    >>> sorted(WordFinder(["Milk", "ilk"], fold=["case"], tokens=str.split).find("breast milk"))
    ['Milk']
    """

    def __init__(self, words: Iterable[str], fold: Collection[Fold] = (), tokens: TokeniseText | None = None) -> None:
        self._fold, self._tokens = fold, tokens
        keys = [(key, word) for word in dict.fromkeys(words) if (key := fold_text(word, fold))]
        letters = len(keys) <= _FEW * len({key[0] for key, _ in keys})
        sizes = [1 if letters else _size(key) for key, _ in keys]
        common = Counter(gram for (key, _), size in zip(keys, sizes, strict=True) for gram in _grams(key, size))
        self._by_gram: dict[int, dict[str, list[tuple[str, str]]]] = {}
        for (key, word), size in zip(keys, sizes, strict=True):
            rarest = min(sorted(_grams(key, size)), key=common.__getitem__)
            self._by_gram.setdefault(size, {}).setdefault(rarest, []).append((key, word))

    def find(self, text: str) -> set[str]:
        """The words in `text`, as the list writes them."""
        text = fold_text(text, self._fold)
        found = [
            (key, word)
            for size, by_gram in self._by_gram.items()
            for gram in by_gram.keys() & _grams(text, size)
            for key, word in by_gram[gram]
            if key in text
        ]
        if self._tokens is not None and found:
            cuts = word_boundaries(text, self._tokens(text))
            found = [
                (key, word)
                for key, word in found
                if any(span.start in cuts and span.end in cuts for span in find_substring(key, text))
            ]
        return {word for _, word in found}


def _size(key: str) -> int:
    """The length of the piece of `key` that is searched first; few lengths, as a text is cut once for each."""
    return 1 if len(key) == 1 else 2 if len(key) < 4 else 4


def _grams(text: str, size: int) -> set[str]:
    """Every piece of `text` of `size` characters."""
    return set(text) if size == 1 else {text[at : at + size] for at in range(len(text) - size + 1)}


_NAME = re.compile(r"%([a-z][a-z_]*)%")
FormRow = Mapping[str, str]


class WordForms:
    """Words in all their forms: one row per word, one column per form that all rows of its table have.

    `parts` are named patterns, which may refer to columns and to earlier parts.

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
        """`pattern` with each ``%name%`` replaced by the part, or by all forms of the column; others stay."""
        if pattern not in self._expanded:
            self._expanded[pattern] = _NAME.sub(self._any, pattern)
        return self._expanded[pattern]

    def fill_templates(self, *templates: str) -> Iterator[tuple[str, ...]]:
        """`templates` with ``%column%`` filled in, once for every word that has all of these columns.

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
        """The form in `column` of the first word with the form `form`; empty if none has both."""
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
        lines = read_given_text(file, "utf-8-sig").splitlines()
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
