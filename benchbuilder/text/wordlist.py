"""Word lists: files with one word a line, and which of their words a text holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from benchbuilder.errors import DataError
from benchbuilder.text.normalise import Fold, compose, folded, tidy_space
from benchbuilder.text.patterns import Tokens, find_substring, word_boundaries


def load_words(path: Path) -> tuple[str, ...]:
    """The words of the UTF-8 file `path`, composed, in order, each once.

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
    words = dict.fromkeys(word for line in lines if (word := compose(tidy_space(line.partition("\t")[0]))))
    if not words:
        raise DataError("the word list holds no words", where=str(path), next="write one word a line")
    return tuple(words)


class WordFinder:
    """Finds every word of a list in texts, overlapping ones and words inside words too.

    With `tokens` a word counts only where it is one or several whole tokens. What `fold` names does not count.

    >>> sorted(WordFinder(["milk", "breast milk", "ilk"]).find("breast milk"))
    ['breast milk', 'ilk', 'milk']
    >>> sorted(WordFinder(["Milk", "ilk"], fold=["case"], tokens=str.split).find("breast milk"))
    ['Milk']
    """

    def __init__(self, words: Iterable[str], fold: Collection[Fold] = (), tokens: Tokens | None = None) -> None:
        self._fold, self._tokens = fold, tokens
        self._by_first: dict[str, list[tuple[str, str]]] = {}
        for word in dict.fromkeys(words):
            if key := folded(word, fold):
                self._by_first.setdefault(key[0], []).append((key, word))

    def find(self, text: str) -> set[str]:
        """The words that `text` holds, as the list writes them."""
        text = folded(text, self._fold)
        present = self._by_first.keys() & set(text)
        found = [(key, word) for first in present for key, word in self._by_first[first] if key in text]
        if self._tokens is not None and found:
            cuts = word_boundaries(text, self._tokens(text))
            found = [(key, word) for key, word in found if _stands_whole(key, text, cuts)]
        return {word for _, word in found}


def _stands_whole(key: str, text: str, cuts: Collection[int]) -> bool:
    return any(span.start in cuts and span.end in cuts for span in find_substring(key, text))
