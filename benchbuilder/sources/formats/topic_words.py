"""Whether a page holds a word of a list: of its markup, and of its text."""

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
"""What a piece of markup that is taken out begins or ends with."""


class TopicWords:
    """The words of a list, in texts in the script of `convert`; what `fold` names does not count.

    With `tokens` a word counts only as one or several whole tokens.
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
        """Whether the title or the text of a page holds a word."""
        return bool(self._finder.find(self._convert_script(f"{title}\n{text}")))

    def may_be_in(self, title: str, wikitext: str) -> bool:
        """Whether the page may hold a word, seen from its markup: False only if its text can hold none.

        What is taken out of markup begins and ends with certain characters. So a word that stands in the text stands
        in the markup as well, or else parts of it do, its first right before such a character and its last behind one.
        """
        raw = html.unescape(wikitext) if "&" in wikitext else wikitext
        raw = fold_text("".join(f"{title}\n{raw}".split()), self._fold)
        told = self._convert_script(raw)
        if self._rough.find(_strip_inner_marks(told)):
            return True
        return self._is_split_by_markup((raw,) if told == raw else (raw, told))

    def _is_split_by_markup(self, texts: Sequence[str]) -> bool:
        """Whether a word may be parted by markup: it begins right before a mark and ends right behind one."""
        marks = [[match.start() for match in _MARK.finditer(text)] for text in texts]
        both = list(zip(texts, marks, strict=True))
        before = {text[at - 1] for text, places in both for at in places if at}
        behind = {text[at + 1] for text, places in both for at in places if at + 1 < len(text)}
        for key, heads, tails in self._parted:
            if before.isdisjoint(heads) or behind.isdisjoint(tails):
                continue
            cuts = range(1, len(key))
            if any(_is_beside(key[:at], text, -at, places) for at in cuts for text, places in both) and any(
                _is_beside(key[at:], text, 1, places) for at in cuts for text, places in both
            ):
                return True
        return False

    def _convert_script(self, text: str) -> str:
        return text if self._convert is None else convert_script(text, self._convert)


def _strip_inner_marks(text: str) -> str:
    """`text` without the marks that stand inside words most often."""
    return text.replace("'", "").replace("[", "").replace("]", "")


def _is_beside(part: str, text: str, offset: int, places: Sequence[int]) -> bool:
    """Whether `part` stands so far from one of the places."""
    return part in text and any(at + offset >= 0 and text.startswith(part, at + offset) for at in places)
