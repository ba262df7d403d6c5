"""Word lists: files with one word a line, and which of their words a text holds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchbuilder.errors import DataError
from benchbuilder.text.normalise import tidy_space


def load_words(path: Path) -> tuple[str, ...]:
    """The words of the UTF-8 file `path`, in order, each once.

    One word a line; a line that begins with ``#`` is a comment; what follows a tab is a gloss and left out. A missing,
    undecodable or empty list raises DataError.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise DataError("the word list is missing", where=str(path), next="check the path in the recipe") from error
    except UnicodeDecodeError as error:
        raise DataError(
            "the word list is not UTF-8", where=str(path), why=str(error), next="save it as UTF-8"
        ) from error
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    words = dict.fromkeys(word for line in lines if (word := tidy_space(line.partition("\t")[0])))
    if not words:
        raise DataError("the word list holds no words", where=str(path), next="write one word a line")
    return tuple(words)


class WordFinder:
    """Finds every word of a list in texts, overlapping ones and words inside words too.

    >>> sorted(WordFinder(["milk", "breast milk", "ilk"]).find("breast milk"))
    ['breast milk', 'ilk', 'milk']
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._by_first: dict[str, list[str]] = {}
        for word in dict.fromkeys(words):
            if word:
                self._by_first.setdefault(word[0], []).append(word)

    def find(self, text: str) -> set[str]:
        """The words that `text` holds, compared character by character."""
        present = self._by_first.keys() & set(text)
        return {word for first in present for word in self._by_first[first] if word in text}
