"""Texts in a script that the language of a benchmark is not written in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import regex
import yaml

from benchbuilder.config import Recipe, RecipeRoot
from benchbuilder.core import ScriptCounts, fold_text, read_given_text

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
    words, shares = _word_shares(texts)
    best = max(shares, key=lambda code: shares[code])
    clear = words.total() >= _FEW_WORDS and shares[best] >= _OTHER
    if foreign:
        return best if clear else "", "latin"
    alone = sum(words[word] for word in set(own["words"]) - set(_known()[best]["words"])) / max(words.total(), 1)
    return (best, "latin") if clear and best != language and alone <= _OWN else None


def shares_script(texts: Sequence[str], language: str) -> bool:
    """Whether most letters of texts are of a script that a language is written in; so if its scripts are not known."""
    known = _known().get(language.partition("-")[0])
    return known is None or not texts or ScriptCounts(texts).main_script in known["scripts"]


def first_language(script: str) -> str:
    """The language that most texts in a script are in; empty for a script of no known language.

    >>> first_language("CYRILLIC"), first_language("HIRAGANA")
    ('ru', 'ja')
    """
    return next((code for code, facts in _known().items() if script in facts["scripts"]), "")


def _word_shares(texts: Sequence[str]) -> tuple[Counter[str], dict[str, float]]:
    """The words of texts, and what share of them are function words of each language."""
    words = Counter(_WORD.findall(fold_text(" ".join(texts), ("case", "marks"))))
    return words, {
        code: sum(words[word] for word in facts["words"]) / max(words.total(), 1)
        for code, facts in _known().items()
        if "words" in facts
    }


def guess_language(texts: Sequence[str]) -> tuple[str, str]:
    """The language that texts are in, or an empty text if that is unclear; and what was seen in them.

    A language of which neither script nor words are known is taken for one that is, if they share most words.
    """
    letters = ScriptCounts(texts)
    script, written = letters.main_script, "".join(texts)
    if script == "LATIN":
        words, shares = _word_shares(texts)
        (best, most), (other, second) = sorted(shares.items(), key=lambda pair: -pair[1])[:2]
        seen = f"{words.total()} words, {most:.0%} of them frequent words of {best} and {second:.0%} of {other}"
        is_clear = words.total() >= _FEW_GUESSED and most >= _GUESSED and most >= _CLEARLY * second
        return best if is_clear else "", seen
    kana = next((name for name in ("HIRAGANA", "KATAKANA") if letters.proportion(name) >= _KANA), script)
    own = {
        code: sum(map(written.count, facts["letters"])) / max(len(written), 1)
        for code, facts in _known().items()
        if script in facts["scripts"] and "letters" in facts
    }
    best = max(own, key=lambda code: own[code], default="")
    return best if best and own[best] >= _OWN_LETTERS else first_language(
        kana
    ), f"letters of the script {script.lower()}"


def judging_option(roots: Sequence[RecipeRoot], recipe: Recipe, way: str) -> str:
    """The option of ``annotation`` by which people judge the items of a recipe, in an ``app`` or on ``sheets``."""
    false_claims = any(step.kind in _MAKES_FALSE_CLAIMS for step in recipe.steps.values())
    return option_in_language(roots, way, recipe.language, false_claims=false_claims)


_MAKES_FALSE_CLAIMS = frozenset({"answer_claims", "false_claims"})
"""Kinds of steps whose claims may be false: whoever judges these is asked about their labels."""


def option_in_language(roots: Sequence[RecipeRoot], option: str, language: str, *, false_claims: bool = False) -> str:
    """The option of ``annotation`` that is like `option` and asks in a language, else in English, else `option`.

    A name such as ``app`` does not say the language; the title and the labels that people see show it. Of
    `false_claims`, the labels are judged.
    """
    if false_claims:
        named = (f"{option}_{code}_labels" for code in (language.partition("-")[0], "en"))
        places = ((name, root.path / "annotation" / f"{name}.yaml") for name in named for root in roots)
        return next((name for name, place in places if place.is_file()), option)
    code = language.partition("-")[0]
    for name in (f"{option}_{code}", option, f"{option}_en"):
        places = (root.path / "annotation" / f"{name}.yaml" for root in roots)
        if file := next(filter(Path.is_file, places), None):
            data = yaml.safe_load(read_given_text(file))
            shown = [str(data.get("title", "")), *map(str, data.get("labels", {}).values())]
            if name.endswith((f"_{code}", "_en")) or guess_language(shown)[0] in ("", code):
                return name
    return option


def likely_in_language(texts: Mapping[str, str], language: str) -> list[str]:
    """Of readings of one file by their names, those with the fewest letters that their language does not have.

    All if they are not in the same one, or if its letters are not known. An empty `language` is guessed.
    """
    guesses = {language.partition("-")[0] or guess_language([text])[0] for text in texts.values()}
    letters = _known().get(min(guesses), {}).get("accented") if len(guesses) == 1 else None
    if letters is None:
        return list(texts)
    foreign = {
        n: sum(c.isalpha() and c > "\x7f" and c not in letters for c in text.lower()) for n, text in texts.items()
    }
    return [name for name, count in foreign.items() if count == min(foreign.values())]


_FEW_GUESSED, _GUESSED, _CLEARLY = 15, 0.12, 1.2
"""The fewest words that tell a language, the smallest share of its frequent ones, and by how much others have less."""
_KANA, _OWN_LETTERS = 0.05, 0.004


@cache
def _known() -> dict[str, Any]:
    """The scripts of each language, and the words of those in Latin script."""
    text = (files("benchbuilder.pipeline") / "function_words.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return {
        code: {**facts, **({"words": facts["words"].split()} if "words" in facts else {})}
        for code, facts in found.items()
    }
