"""Which script texts are in, as far as their letters tell."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache


class ScriptCounts:
    """Counts letters by script.

    >>> ScriptCounts(["eggs and milk", "αυγά"]).main_script
    'LATIN'
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.letters = Counter[str]()
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Count the letters of `text`."""
        self.letters.update(script for c in text if (script := script_of(c)))

    def proportion(self, script: str) -> float:
        """The proportion of a script among all letters."""
        return self.letters[script] / max(self.letters.total(), 1)

    @property
    def main_script(self) -> str:
        """The script of the most letters; empty without letters."""
        return max(self.letters, key=lambda script: self.letters[script], default="")


@lru_cache(maxsize=65_536)
def script_of(character: str) -> str:
    """The script of a letter, from its Unicode name; empty for other characters."""
    return unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else ""
