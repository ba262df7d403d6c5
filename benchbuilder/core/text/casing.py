"""First letters of texts that are put inside sentences or begin them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from benchbuilder.core.text.patterns import Regex, find_all

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class Casing:
    """Lowers the first letter of what is put inside a sentence, and raises that of what begins one.

    The first letter stays if the first word, or its part before a hyphen, is one of `names`, or a pattern of `keep`
    matches the text at its beginning. A letter whose other case is longer or shorter stays as it is.

    >>> casing = Casing(["Baker"], [r"\\p{Lu}\\p{Lu}"])
    >>> [casing.lower_first(text) for text in ("Iron", "Baker cyst", "DNA")], casing.raise_first("iron is")
    (['iron', 'Baker cyst', 'DNA'], 'Iron is')
    """

    def __init__(self, names: Collection[str] = (), keep: Sequence[Regex] = ()) -> None:
        self._names, self._keep = frozenset(names), tuple(keep)

    def lower_first(self, text: str) -> str:
        """`text` as it stands inside a sentence."""
        first = text[:1].lower()
        return text if len(first) != 1 or first == text[:1] or self._stays(text) else first + text[1:]

    def raise_first(self, text: str) -> str:
        """`text` as it begins a sentence; a first word with a capital inside keeps its small letter."""
        first, word = text[:1].upper(), _WORD.match(text)
        inner = word is not None and word[0][1:] != word[0][1:].lower()
        return text if len(first) != 1 or inner else first + text[1:]

    def _stays(self, text: str) -> bool:
        word = _WORD.match(text)
        if word is not None and not self._names.isdisjoint((word[0], word[0].partition("-")[0])):
            return True
        return any(span.start == 0 for pattern in self._keep for span in find_all(rf"\A(?:{pattern})", text))
