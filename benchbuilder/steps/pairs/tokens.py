"""Questions as tokens: words, blanks and single marks, or single characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from benchbuilder.core import LengthUnit, normalise_space

_TOKENS = {
    "words": regex.compile(r"(?P<blank>_{2,}|…|\.{3,})|(?P<word>[\p{L}\p{M}\p{N}\u200c\u200d]+)|\S"),
    "characters": regex.compile(r"(?P<blank>_{2,}|…|\.{3,})|(?P<word>[\p{L}\p{N}]\p{M}*)|\S"),
}
_END = regex.compile(r"[\s\p{Sentence_Terminal}]+\Z")
_COLON = regex.compile(r"(?<=[?？؟])\s*[:：]\s*\Z")


@dataclass(frozen=True, slots=True)
class TextToken:
    """A token of a text, in small letters, with its place; `sort` is ``word``, ``blank`` or ``mark``."""

    text: str
    start: int
    end: int
    sort: str


def tokens_of(text: str, unit: LengthUnit) -> tuple[TextToken, ...]:
    """The tokens of `text`: words, or single characters in languages without spaces.

    >>> [token.text for token in tokens_of("Milk is rich in ____.", "words")]
    ['milk', 'is', 'rich', 'in', '____', '.']
    """
    return tuple(
        TextToken(match[0].casefold(), match.start(), match.end(), match.lastgroup or "mark")
        for match in _TOKENS[unit].finditer(text)
    )


def bare_question(text: str) -> str:
    """A question without a colon behind its question mark, and without final stops; its marks of asking stay.

    >>> bare_question("Which is it?:"), bare_question("It is.")
    ('Which is it?', 'It is')
    """
    text = _COLON.sub("", normalise_space(text))
    end = _END.search(text)
    return text if end is None or regex.search(r"[?？؟]", end[0]) else text[: end.start()]


def without_final_stop(text: str) -> str:
    """A statement without the marks that end its sentence."""
    return _END.sub("", normalise_space(text))


def find_tokens(part: Sequence[TextToken], whole: Sequence[TextToken]) -> int:
    """The position of `part` in `whole`, by text; -1 if it is not in it, or empty."""
    wanted = [token.text for token in part]
    texts = [token.text for token in whole]
    starts: Iterator[int] = (n for n in range(len(texts) - len(wanted) + 1) if texts[n : n + len(wanted)] == wanted)
    return next(starts, -1) if wanted else -1
