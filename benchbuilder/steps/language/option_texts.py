"""What the options of questions show without any word of their language."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import regex

from benchbuilder.config import Spec
from benchbuilder.core import Regex, Row, SpecIssue, equality_key
from benchbuilder.steps.language.patterns import first_match

_MOST_WORDS = 6
_SHORT_WORD = 5
_SAME_SHAPE = 3
_IN_QUESTIONS, _LAST = 3, 0.75
"""The fewest questions with an option about all others, and the smallest share of them in which it comes last."""
_DISTINCT = 0.9
"""The smallest share of different texts among the options beside one that is about all others."""
_POOL = 0.5
"""The largest share of frequent options among those beside it: more, and all come from one pool, such as cities."""
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_ENUMERATION = regex.compile(r"(?:^|[\s(（])(?:[1-5]|I{1,3}|IV|V)\s*[.)）、．:]|[①-⑤]|\((?:[1-5]|i{1,3}|iv|v)\)")
_LETTER = regex.compile(r"[A-Ea-e]")
_DECIMAL = regex.compile(r"\d[.,．]\d")
_NUMERAL = regex.compile(r"[1-5]|I{1,3}|IV|V|[①-⑤]")
_OTHER_LETTER = regex.compile(r"\b[F-HJ-UW-Z]\b")
"""A single capital that is the mark of no option: in formulae and pairs of bases."""
_ABBREVIATION = regex.compile(r"\b[A-E]\.\s*\p{Ll}{3,}")
_WIDE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
_WIDE_SIZE = 40 / 15
"""What a letter of a script without spaces counts for: 15 of them say as much as 40 letters."""

CASE_SIZE = 120
"""From this number of letters on, a question holds a case: a few sentences that say who comes with what."""


def texts_of_options(payload: Any) -> tuple[str, ...]:
    """The texts of a question's options in their order; without options, its right and then its wrong answers."""
    options = getattr(payload, "options", None)
    if options is not None:
        return tuple(option.text for option in options)
    return (*payload.right_answers()[:1], *payload.wrong_answers())


def stem_size(text: str) -> float:
    """The length of a question in letters.

    >>> stem_size("What is it?")
    8.0
    """
    letters = sum(map(len, _WORD.findall(text)))
    wide = len(_WIDE.findall(text))
    return letters - wide + wide * _WIDE_SIZE


class OptionNames:
    """Finds options that name other options by their letters or numbers, and say nothing themselves.

    Such an option is short and has two marks. Either it begins with a mark, or with one short word before it; or its
    words stand around marks in several questions. Numbers count if the question has an enumeration.
    """

    def __init__(self, questions: Iterable[tuple[str, Sequence[str]]]) -> None:
        shapes = Counter[str]()
        for text, options in questions:
            shapes.update({_shape(option, text) for option in options} - {""})
        self._common = {shape for shape, count in shapes.items() if count >= _SAME_SHAPE}

    def fits(self, option: str, question: str) -> bool:
        """Whether `option` of `question` (with its context) names other options."""
        shape = _shape(option, question)
        if not shape:
            return False
        before = shape.split("#", 1)[0].split()
        short = len(before) == 0 or (len(before) == 1 and len(before[0]) <= _SHORT_WORD)
        return short or shape in self._common


def _shape(option: str, question: str) -> str:
    """A short option with two marks, each mark as ``#``; empty if it is none."""
    words = [match[0] for match in _WORD.finditer(option)]
    if not words or len(words) > _MOST_WORDS or _OTHER_LETTER.search(option):
        return ""
    numbered = _ENUMERATION.search(question) is not None and not _DECIMAL.search(option)
    species = {match.start() for match in _ABBREVIATION.finditer(option)}
    parts, marks = list[str](), set[str]()
    for match in _WORD.finditer(option):
        is_mark = (_LETTER.fullmatch(match[0]) and match.start() not in species) or (
            numbered and _NUMERAL.fullmatch(match[0])
        )
        parts.append("#" if is_mark else match[0].casefold())
        marks.update([match[0].casefold()] if is_mark else [])
    return " ".join(parts) if len(marks) > 1 else ""


class CatchAlls:
    """The options about all others (all of the above), found by their place: they are in many questions, and come last.

    The other options of these questions have little in common. So a drug that comes last in the order of the alphabet,
    in several questions about the same drugs, is none. Neither is a city whose neighbours are in several questions too.

    Args:
        option_lists: The options of each question, in order.
        patterns: Further forms of such options.
        known_not: Options that a person has found to be none.
    """

    def __init__(
        self, option_lists: Iterable[Sequence[str]], patterns: Sequence[Regex] = (), known_not: Collection[str] = ()
    ) -> None:
        places: defaultdict[str, list[bool]] = defaultdict(list)
        beside: defaultdict[str, list[str]] = defaultdict(list)
        for options in option_lists:
            keys = list(map(equality_key, options))
            for place, key in enumerate(keys):
                places[key].append(place == len(keys) - 1)
                beside[key] += keys[:place] + keys[place + 1 :]
        known = set(map(equality_key, known_not))
        self._keys = {
            key for key, ends in places.items()
            if key and key not in known and len(ends) >= _IN_QUESTIONS and sum(ends) >= _LAST * len(ends)
            and not any(mark.isdigit() for mark in key) and len(set(beside[key])) >= _DISTINCT * len(beside[key])
            and sum(len(places[other]) >= _IN_QUESTIONS for other in beside[key]) <= _POOL * len(beside[key])
        }  # fmt: skip
        self._patterns = tuple(patterns)
        self._known = known

    def fits(self, option: str) -> bool:
        """Whether the option is about all others."""
        key = equality_key(option)
        return key in self._keys or (key not in self._known and first_match(self._patterns, option) is not None)


class CatchAllSpec(Spec):
    """Which options count as one about all others."""

    patterns: tuple[Regex, ...] = ()
    """Further forms, found wherever they are."""
    not_catch_all: tuple[str, ...] = ()
    """Options that a person has found to be none."""

    def find(self, payloads: Iterable[Any]) -> CatchAlls:
        """Such options of all questions of `payloads`."""
        lists = (texts_of_options(payload) for payload in payloads if getattr(payload, "options", None) is not None)
        return CatchAlls(lists, self.patterns, self.not_catch_all)


def issues_of_payload(rows: Mapping[str, type[Row]], port: str = "each") -> Iterator[SpecIssue]:
    """The issue of facts at a port that have no question with answers."""
    payload: Any = rows[port].model_fields["payload"].annotation if port in rows else None
    if isinstance(payload, type) and not hasattr(payload, "right_answers"):
        name = str(getattr(payload, "kind", payload.__name__))
        yield SpecIssue("from", "the step needs facts with a question, a right answer and wrong ones", name, ())
