"""Joins: how questions that end in no seam take their answers, by data of the language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from benchbuilder.config import Spec
from benchbuilder.core import Regex, Span, find_all, has_match, replace_all
from benchbuilder.steps.language.edits import cuts_word, longest_end
from benchbuilder.steps.language.frames import FramedText, SentenceFrame, SentenceFrames
from benchbuilder.steps.language.patterns import Patterns, first_match

_NAME = "join:"

REFUSALS: Mapping[str, str] = {
    "catch_all_answer": "The answer speaks of all or none of the options.",
    "cut_bracket": "A bracket or quotation mark of the question or the answer has lost its other half.",
    "double_modal": "Question and answer each bring a word for what can or must be.",
    "fragment": "Without the sentence before it, the question says nothing.",
    "has_copula": "The question is a sentence with a verb of its own, which the answer does not complete.",
    "no_subject": "The question lacks its subject, which is the answer, so that the answer cannot follow it.",
    "blank": "The question has a blank inside.",
}
"""The drop reasons of questions that no rule joins and no model writes."""
RefusalReason = Literal[
    "catch_all_answer", "cut_bracket", "double_modal", "fragment", "has_copula", "no_subject", "blank"
]


class Refusal(Spec):
    """What a question, its answer, or both must match."""

    question: Regex = ""
    answer: Regex = ""
    final: bool = False
    """Whether such a row is dropped before any rule, and without asking a model: nothing makes a statement of it."""

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.question and not self.answer:
            raise ValueError("a pattern of the question or of the answer is needed")
        return self

    def fits(self, question: str, answer: str) -> bool:
        """Whether both patterns match; an empty pattern matches anything."""
        pairs = ((self.question, question), (self.answer, answer))
        return all(not pattern or has_match(pattern, text) for pattern, text in pairs)


class EndJoin(Spec):
    """Ends of questions that the answer can follow, where no seam fits."""

    ends: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    insert: str = ""
    """A word between the end and the answer."""
    before: Regex = ""
    """A pattern that the text before the end must match (empty: any text)."""
    answer: Regex = ""
    """A pattern that the answer must match (empty: any answer)."""
    answer_not: Patterns = ()
    """Patterns that the answer must not match."""


class HeadJoin(Spec):
    """Questions that end in a noun, such as *the first choice of drug*: the answer follows a word of its own."""

    insert: Annotated[str, Field(min_length=1)]
    """The word between the noun and the answer."""
    nouns: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]
    """The nouns; the longest that fits counts."""
    short_after: Regex = ""
    """A pattern of the text right before a noun of one character (empty: any text)."""
    head: Regex = ""
    """A pattern of the end of the question, with its noun (empty: any question)."""
    unless: Regex = ""
    """A pattern that the match of `head` must not contain (empty: none)."""


class AskedJoin(Spec):
    """Questions with a question word, which the answer replaces."""

    words: Annotated[Regex, Field(min_length=1)]
    """A pattern of question words. Where a question has several, the rule does not apply."""
    nouns: tuple[str, ...] = ()
    """Nouns right behind the question word that go with it; the longest counts."""
    needs_noun: bool = False
    """Whether one of the nouns must be there."""
    before: Regex = ""
    """A pattern that the text before the question word must match (empty: any text)."""
    refused: Regex = ""
    """A pattern of questions that are left alone (empty: none)."""
    answer: Regex = ""
    """A pattern that the answer must match (empty: any answer)."""
    answer_not: Patterns = ()
    """Patterns that the answer must not match."""
    clause: bool = False
    """Whether the answer may match `clauses`; otherwise only an answer that ends in the noun may."""
    counting: Regex = ""
    """A pattern of question words that ask for a number (empty: none)."""
    number: Regex = ""
    """A pattern of answers with a number."""
    bare_number: Regex = ""
    """A pattern of numbers without a unit; only these keep the unit of the question."""
    units: tuple[str, ...] = ()
    """Units behind a question word that asks for a number."""


class JoinRules(Spec):
    """How questions without a seam take their answers: `frames` are tried first, then `asked`, `ends` and `head`."""

    frames: dict[str, SentenceFrame | None] = {}
    """Frames of questions that ask, or that have a blank inside; `not_questions` and `not_answers` do not apply to
    them. They use the `shapes` and `parts` of the step, and the first that fits counts."""

    whole_words: tuple[str, ...] = ()
    """Words that an end must not split."""
    ends: dict[str, EndJoin | None] = {}
    """Ends by names of your choice; the longest that a question has counts. ``null`` removes a group."""
    clauses: Patterns = ()
    """Patterns of answers that are clauses or bring a verb: they follow no noun and replace no question word."""
    head: HeadJoin | None = None
    asked: dict[str, AskedJoin | None] = {}
    """Questions with a question word, by names of your choice; the first that fits counts."""


class Joins:
    """The joins of a recipe.

    `seams` are the ends that it joins besides, `joiner` stands between two words, and `frames` are those of `rules`.
    """

    def __init__(
        self, rules: JoinRules, seams: tuple[str, ...], joiner: str, frames: SentenceFrames | None = None
    ) -> None:
        self._rules, self._joiner, self._frames = rules, joiner, frames
        pairs = ((end, name, join) for name, join in rules.ends.items() if join is not None for end in join.ends)
        ends = sorted(pairs, key=lambda pair: -len(pair[0]))
        self._seams = (*seams, *(end for end, _, join in ends if not join.insert))
        self._ends_by_last: dict[str, list[tuple[str, str, EndJoin]]] = {}
        for each in ends:
            self._ends_by_last.setdefault(each[0][-1], []).append(each)

    def frame(self, question: str, answer: str) -> FramedText | None:
        """The text of the first frame that fits; ``None`` without one."""
        framed = self._frames.apply(question, answer) if self._frames is not None else None
        return None if framed is None else replace(framed, name=f"{_NAME}{framed.name}")

    def ask(self, question: str, answer: str) -> FramedText | None:
        """The question with the answer in the place of its only question word; ``None`` if it has none that fits.

        The seam is the end of the text before the answer, where nothing follows the answer.
        """
        for name, rule in self._rules.asked.items():
            if rule is not None and (written := self._ask_by(name, rule, question, answer)) is not None:
                return written
        return None

    def _ask_by(self, name: str, rule: AskedJoin, question: str, answer: str) -> FramedText | None:
        """The text by one rule; ``None`` if it does not fit."""
        places = find_all(rule.words, question)
        if len(places) != 1 or (rule.refused and has_match(rule.refused, question)):
            return None
        word, before, rest = places[0].slice_of(question), question[: places[0].start], question[places[0].end :]
        noun = max((noun for noun in rule.nouns if rest.startswith(noun)), key=len, default="")
        rest = rest.removeprefix(noun)
        if not before or not _fits(rule.before, before) or not self._fits_asked(rule, word, noun, answer):
            return None
        end = longest_end(before, self._seams)
        if len(end) > 1 and end in answer:  # the answer brings the verb once more
            return None
        if rule.counting and has_match(rule.counting, word) and not has_match(rule.bare_number, answer):
            unit = max((unit for unit in rule.units if rest.startswith(unit)), key=len, default="")
            rest = rest.removeprefix(unit)
        rest = rest[_overlap(answer, rest) :]
        start = len(before)
        seam = end if not rest else ""
        span = Span(start=start, end=start + len(answer))
        place = Span(start=start - len(seam), end=start) if seam else None
        return FramedText(f"{_NAME}{name}", before + answer + rest, span, place)

    def follow(self, question: str, answer: str) -> FramedText | None:
        """The question, the word to insert and the answer, if an end or a noun of the joins fits."""
        longest = ""
        for end, name, join in self._ends_by_last.get(question[-1:], ()):
            start = len(question) - len(end)
            if not start or not question.endswith(end) or cuts_word(question, start, self._rules.whole_words):
                continue
            if end != (longest := longest or end):
                break
            fits = _fits(join.before, question[:start]) and _fits(join.answer, answer)
            if fits and first_match(join.answer_not, answer) is None:
                return self._joined(name, question, join.insert, answer, start)
        return self._follow_noun(question, answer)

    def _follow_noun(self, question: str, answer: str) -> FramedText | None:
        rule = self._rules.head
        if (
            rule is None
            or not (noun := longest_end(question, rule.nouns))
            or first_match(self._rules.clauses, answer) is not None
        ):
            return None
        if len(noun) == 1 and not _fits(rule.short_after, question[:-1]):
            return None
        heads = find_all(rule.head, question) if rule.head else [Span(start=0, end=len(question))]
        if not heads or (rule.unless and has_match(rule.unless, heads[-1].slice_of(question))):
            return None
        return self._joined("head", question, rule.insert, answer, len(question))

    def _joined(self, name: str, question: str, insert: str, answer: str, start: int) -> FramedText:
        """The question, `insert` and the answer; the seam runs from `start` to the end of `insert`."""
        before = question + (self._joiner + insert if insert else "")
        text = before + self._joiner + answer
        place = Span(start=len(text) - len(answer), end=len(text))
        start += len(self._joiner) if start == len(question) else 0
        return FramedText(f"{_NAME}{name}", text, place, Span(start=start, end=len(before)))

    def _fits_asked(self, rule: AskedJoin, word: str, noun: str, answer: str) -> bool:
        """Whether the answer can replace `word` and `noun`."""
        if rule.needs_noun and not noun:
            return False
        if rule.counting and has_match(rule.counting, word):
            return has_match(rule.number, answer)
        if not _fits(rule.answer, answer) or first_match(rule.answer_not, answer) is not None:
            return False
        ends_in_noun = bool(noun) and answer.endswith(noun)
        return rule.clause or ends_in_noun or first_match(self._rules.clauses, answer) is None


def _overlap(answer: str, rest: str) -> int:
    """The number of characters with which `answer` ends and `rest` begins."""
    sizes = range(min(len(answer), len(rest)), 0, -1)
    return next((size for size in sizes if answer.endswith(rest[:size])), 0)


def without_opening(pattern: str, text: str) -> str:
    """`text` without a match of `pattern` at its start.

    >>> without_opening("^then +", "then rest")
    'rest'
    """
    return replace_all(pattern, "", text) if pattern else text


def _fits(pattern: str, text: str) -> bool:
    return not pattern or has_match(pattern, text)
