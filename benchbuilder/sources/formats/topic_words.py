"""Searches the text and the markup of wiki pages for words of a list."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence

from benchbuilder.core import Conversion, Fold, TokeniseText, WordFinder, convert_script, fold_text

_MARKS = "'[]{}<>&;_|:-"
_BRACKETS = "".join(
    map(re.escape, (chr(code) for code in range(0x10000) if unicodedata.category(chr(code)) in ("Ps", "Pe")))
)
_MARK = re.compile(f"[{re.escape(_MARKS)}{_BRACKETS}]")
"""The first or last character of removed markup."""


class TopicWords:
    """The words of a list, for texts in the script of `convert`; differences that `fold` names are ignored.

    With `tokens`, a word matches only as one or several complete tokens.
    """

    def __init__(
        self,
        words: Iterable[str],
        fold: Collection[Fold],
        convert: Conversion | None,
        tokens: TokeniseText | None = None,
    ) -> None:
        every = tuple(words)
        self._fold = fold
        self._convert: Conversion | None = convert
        self._finder = WordFinder(every, fold, tokens)
        keys = {key for word in every if (key := "".join(fold_text(word, fold).split()))}
        self._rough = WordFinder({soft for key in keys if (soft := _strip_inner_marks(key))})
        self._parted = [(key, frozenset(key[:-1]), frozenset(key[1:])) for key in sorted(keys) if len(key) > 1]

    def in_text(self, title: str, text: str) -> bool:
        """Whether the title or the text of a page contains a word."""
        return bool(self._finder.find(self._convert_script(f"{title}\n{text}")))

    def may_be_in(self, title: str, wikitext: str) -> bool:
        """Whether the page may contain a word, by its markup: False only if its text cannot contain one.

        Removed markup begins and ends with certain characters. So a word of the text is also in the markup, or its
        parts are: the first one directly before such a character, the last one directly after one.
        """
        raw = html.unescape(wikitext) if "&" in wikitext else wikitext
        raw = fold_text("".join(f"{title}\n{raw}".split()), self._fold)
        converted = self._convert_script(raw)
        if self._rough.find(_strip_inner_marks(converted)):
            return True
        return self._is_split_by_markup((raw,) if converted == raw else (raw, converted))

    def _is_split_by_markup(self, texts: Sequence[str]) -> bool:
        """Whether markup may split a word: it begins directly before a mark and ends directly after one."""
        marks = [[match.start() for match in _MARK.finditer(text)] for text in texts]
        pairs = list(zip(texts, marks, strict=True))
        before = {text[place - 1] for text, places in pairs for place in places if place}
        after = {text[place + 1] for text, places in pairs for place in places if place + 1 < len(text)}
        for key, heads, tails in self._parted:
            if before.isdisjoint(heads) or after.isdisjoint(tails):
                continue
            cuts = range(1, len(key))
            if any(_is_beside(key[:cut], text, -cut, places) for cut in cuts for text, places in pairs) and any(
                _is_beside(key[cut:], text, 1, places) for cut in cuts for text, places in pairs
            ):
                return True
        return False

    def _convert_script(self, text: str) -> str:
        return text if self._convert is None else convert_script(text, self._convert)


def _strip_inner_marks(text: str) -> str:
    """`text` without the most frequent marks inside words."""
    return text.replace("'", "").replace("[", "").replace("]", "")


def _is_beside(part: str, text: str, offset: int, places: Sequence[int]) -> bool:
    """Whether `part` is at this offset from one of the places."""
    return part in text and any(p + offset >= 0 and text.startswith(part, p + offset) for p in places)
