"""Texts in a script that the language of a benchmark is not written in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import regex
import yaml

from benchbuilder.core import ScriptCounts, fold_text

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")

_FEW_TEXTS, _FEW_WORDS, _FEW_LETTERS = 10, 100, 400
"""Fewer texts, words or letters tell nothing."""

_FOREIGN_SCRIPT = 0.03
"""The largest share of letters of its scripts in texts that are in another language."""

_OWN, _OTHER = 0.06, 0.2
"""In texts of another language: the most words that only the own one has, and the fewest of the other's, as shares."""


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
        for code, facts in _known().items() if "words" in facts
    }  # fmt: skip
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
    text = (files("benchbuilder.pipeline") / "function_words.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return {
        code: {**facts, **({"words": facts["words"].split()} if "words" in facts else {})}
        for code, facts in found.items()
    }
