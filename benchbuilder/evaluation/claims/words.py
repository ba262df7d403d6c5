"""The words by which a language marks the clauses, negations and reports of an answer: data, with checked examples."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from benchbuilder.config import Spec
from benchbuilder.core import PartKind, Regex, Stance, match_count
from benchbuilder.evaluation.yaml_files import read_yaml


class ExampleAnswer(Spec):
    """An answer, and what the verifier without a model must read in it.

    `parts` are the clauses that are claims, where they are given. `right` and `wrong` say what the whole answer does
    with each statement. `kind` is a kind that one of its parts has, where it is given.
    """

    answer: str
    parts: tuple[str, ...] | None = None
    right: Stance = "none"
    wrong: Stance = "none"
    kind: PartKind | Literal[""] = ""


class ClaimExamples(Spec):
    """A question with two statements, and answers to it."""

    question: str
    right: str
    wrong: str
    evidence: tuple[str, ...] = ()
    answers: tuple[ExampleAnswer, ...]


class ClaimWords(Spec):
    """How a language marks clauses, and how it denies, reports, limits and takes back what they say.

    Patterns are regular expressions of the package `regex` for text in lower case and half width (NFKC). Those of
    `pauses` are for the answer as it is, and cut behind their match.
    """

    language: str = ""
    """The language, as a tag."""
    letters: Regex = r"\p{L}"
    """The letters of the language; answers are read by the table whose letters they have most of."""
    stops: tuple[str, ...] = tuple("。！？；!?;।؟۔")
    """Marks that always end a sentence, besides line ends."""
    soft_stops: tuple[str, ...] = (".",)
    """Marks that end a sentence except in numbers, names and after `abbreviations`."""
    abbreviations: tuple[str, ...] = ()
    pauses: tuple[Regex, ...] = ()
    """Where a sentence is cut into clauses: behind what matches."""
    conditions: tuple[Regex, ...] = ()
    """How a condition begins: it stays with the clause behind it."""
    leads: tuple[Regex, ...] = ()
    """Whole clauses that only lead in ("in general"): they stay with the clause behind them."""
    trails: tuple[Regex, ...] = ()
    """How a clause begins that stays with the one before it ("otherwise")."""
    reported: tuple[Regex, ...] = ()
    """What marks the speech of others."""
    agreed: tuple[Regex, ...] = ()
    """What makes the speech of others the answer's own."""
    turns: tuple[Regex, ...] = ()
    """What ends the speech of others ("but in fact")."""
    unsaid: tuple[Regex, ...] = ()
    """What calls the clause before it wrong."""
    corrected: tuple[Regex, ...] = ()
    """What takes back the clause before it ("wait, no")."""
    not_claims: tuple[Regex, ...] = ()
    """Greetings, advice, headings: nothing that paragraphs could support."""
    abstains: tuple[Regex, ...] = ()
    """That the answerer does not know."""
    refuses: tuple[Regex, ...] = ()
    """That the answerer will not answer."""
    negations: tuple[Regex, ...] = ()
    """What turns the clause that it is in."""
    not_negations: tuple[Regex, ...] = ()
    """What holds the letters of a negation and is none ("not only"); removed before negations are counted."""
    contrasts: tuple[Regex, ...] = ()
    """What denies only the words behind it ("rather than")."""
    others: tuple[Regex, ...] = ()
    """What gives a thing another place than the one asked about ("second", "then")."""
    function_words: tuple[str, ...] = ()
    """Words without content; single characters cut a run of characters without spaces."""
    endings: tuple[str, ...] = ()
    """Endings of words that are removed, the first that fits."""
    numerals: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Numbers in words or characters."""
    units: tuple[str, ...] = ()
    """What follows a number written in a single character, so that it is one (三年)."""
    percent: str = ""
    """What stands before a number in characters and makes it a percentage; empty: nothing does."""
    ranges: tuple[str, ...] = ("-", "~")
    """What stands between the ends of a range."""
    counter: str = ""
    """What may stand between a number and what is counted; empty: nothing does."""
    spellings: dict[str, str] = {}
    """Other ways to write the same, and how they are read (厘米: cm)."""
    examples: tuple[ClaimExamples, ...] = ()

    def pattern(self, name: str) -> str:
        """The patterns of a field as one; what matches nothing if there are none."""
        if name not in self._joined:
            self._joined[name] = "|".join(f"(?:{part})" for part in getattr(self, name)) or "(?!)"
        return self._joined[name]

    @cached_property
    def _joined(self) -> dict[str, str]:
        return {}

    def tokens(self, text: str) -> list[str]:
        """The content words of `text`, which is in normal form, without endings; pairs of letters without spaces.

        >>> ClaimWords(endings=("es", "s")).tokens("two vessels")
        ['two', 'vessel']
        """
        found: list[str] = []
        for run in _RUNS.findall(text):
            if run[0] >= _FIRST_HAN and _HAN.match(run):
                for part in filter(None, self._cuts.split(run)):
                    found += [part[at : at + 2] for at in range(max(1, len(part) - 1))]
            elif run[0].isdigit():
                found.append(run.replace(",", ""))
            elif run not in self._function_words:
                found.append(self._stem(run))
        return found

    @cached_property
    def _function_words(self) -> frozenset[str]:
        return frozenset(self.function_words)

    @cached_property
    def _cuts(self) -> re.Pattern[str]:
        """What cuts a run of letters that have no spaces between."""
        words = sorted((word for word in self.function_words if _HAN.match(word)), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, words)) or "(?!)")

    def _stem(self, word: str) -> str:
        for ending in self.endings:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
                return word[: -len(ending)]
        return word

    def plain(self, text: str) -> str:
        """`text` in the form that patterns are for: half width, lower case, without marks of bold, numbers in digits.

        >>> ClaimWords(numerals={"nine": 9}).plain("**Nine** ｗaves")
        '9 waves'
        """
        text = unicodedata.normalize("NFKC", text).lower().replace("’", "'").translate(_MARKS)
        text = _THOUSANDS.sub("", text)
        for other, same in self.spellings.items():
            text = text.replace(other, same)
        return self._number.sub(self._value, text) if self.numerals else text

    @cached_property
    def _number(self) -> re.Pattern[str]:
        marks = "".join(map(re.escape, (mark for mark in self.numerals if _HAN.match(mark))))
        words = "|".join(sorted((word for word in self.numerals if not _HAN.match(word)), key=len, reverse=True))
        units = "|".join(sorted(map(re.escape, self.units), key=len, reverse=True)) or "(?!)"
        forms = [rf"\b(?:{words})\b"] if words else []
        forms += [f"{re.escape(self.percent)}[{marks}]+"] if marks and self.percent else []
        forms += [f"[{marks}]{{2,}}|[{marks}](?={units})"] if marks else []
        return re.compile("|".join(forms))

    @cached_property
    def quantity(self) -> re.Pattern[str]:
        """A number, the end of a range and what is counted, in normal form."""
        ranges, counter = "|".join(map(re.escape, self.ranges)), f"(?:{re.escape(self.counter)})?"
        number, counted = r"(\d+(?:\.\d+)?)", rf"(%|℃|°c|{counter}[\u3400-\u9fff]{{1,2}}|[a-z]+)"
        return re.compile(rf"{number}(?:\s*(?:{ranges or '(?!)'})\s*{number})?\s*{counted}?")

    def _value(self, match: re.Match[str]) -> str:
        """A number in digits. 10 and its powers multiply what is before them."""
        text = match[0].removeprefix(self.percent)
        if not _HAN.match(text):
            return str(self.numerals[text])
        total = part = 0
        if not any(self.numerals[mark] >= 10 for mark in text):
            return "".join(str(self.numerals[mark]) for mark in text) + "%" * (text != match[0])
        for mark in text:
            value = self.numerals[mark]
            total, part = (total + max(part, 1) * value, 0) if value >= 10 else (total, value)
        return f"{total + part}{'%' if text != match[0] else ''}"


_HAN = re.compile(r"[\u3400-\u9fff]")
_FIRST_HAN = "\u3400"
_RUNS = re.compile(r"[\u3400-\u9fff]+|\d+(?:[.,]\d+)*|[^\W\d_\u3400-\u9fff]+(?:'[^\W\d_]+)?")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_MARKS = str.maketrans({"*": "", "`": "", "～": "~", "–": "-"})
_SHORTEST_STEM = 4


@lru_cache(maxsize=16)
def open_claim_words(path: Path) -> ClaimWords:
    """The word list in `path`, read once a process; DataError if it is invalid."""
    return read_claim_words(path)


def read_claim_words(path: Path) -> ClaimWords:
    """Read the word list in the YAML file `path`; DataError with all problems if it is missing or invalid."""
    return read_yaml(path, ClaimWords, "word list of claims")


def table_of(text: str, tables: Sequence[ClaimWords]) -> int:
    """The place of the table whose letters `text` has most of; 0 if it has none of any."""
    counts = [match_count(table.letters, text) for table in tables]
    return max(range(len(counts)), key=lambda at: (counts[at], -at), default=0)
