"""Which script and which language texts are in, as far as letters and the words that every text has tell."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import regex
import yaml

from benchbuilder.core.text.normalise import fold_text

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_FEW_TEXTS, _FEW_WORDS, _FEW_LETTERS = 10, 100, 400
"""Fewer texts, words or letters tell nothing."""
_FOREIGN_SCRIPT = 0.03
"""The largest share of letters of its scripts in texts that are in another language."""
_OWN, _OTHER = 0.06, 0.2
"""In texts of another language: the most words that only the own one has, and the fewest of the other's, as shares."""


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


def other_language(texts: Sequence[str], language: str) -> tuple[str, str] | None:
    """The language and the script of texts that are clearly not in `language`; ``None`` if that is unclear.

    The language is empty where only the script tells. A tag with a script, and a language of which neither script nor
    words are known, are never doubted.
    """
    own = _known().get(language.partition("-")[0])
    letters = ScriptCounts(texts)
    if own is None or "-" in language or len(texts) < _FEW_TEXTS or letters.letters.total() < _FEW_LETTERS:
        return None
    script = letters.main_script
    foreign = sum(letters.proportion(name) for name in own["scripts"]) <= _FOREIGN_SCRIPT
    if script != "LATIN" or not (foreign or "words" in own):
        users = [code for code, facts in _known().items() if script in facts["scripts"]]
        return (users[0] if len(users) == 1 else "", script.lower()) if foreign else None
    words = Counter(_WORD.findall(fold_text(" ".join(texts), ("case", "marks"))))
    shares = {
        code: sum(words[word] for word in facts["words"]) / max(words.total(), 1)
        for code, facts in _known().items()
        if "words" in facts
    }
    best = max(shares, key=lambda code: shares[code])
    clear = words.total() >= _FEW_WORDS and shares[best] >= _OTHER
    if foreign:
        return best if clear else "", "latin"
    alone = sum(words[word] for word in set(own["words"]) - set(_known()[best]["words"])) / max(words.total(), 1)
    return (best, "latin") if clear and best != language and alone <= _OWN else None


def first_language(script: str) -> str:
    """The language that most texts in a script are in; empty for a script of no known language.

    >>> first_language("CYRILLIC"), first_language("HIRAGANA")
    ('ru', 'ja')
    """
    return next((code for code, facts in _known().items() if script in facts["scripts"]), "")


@cache
def _known() -> dict[str, Any]:
    """The scripts of each language, and the words of those in Latin script."""
    text = (files("benchbuilder.core.text") / "function_words.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return {
        code: {**facts, **({"words": facts["words"].split()} if "words" in facts else {})}
        for code, facts in found.items()
    }
