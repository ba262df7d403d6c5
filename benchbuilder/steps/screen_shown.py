"""Drops questions that cannot be shown with one answer, by what needs no language."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    AnsweredQuestion,
    Fact,
    FilterResult,
    Regex,
    Row,
    SpecIssue,
    Table,
    equality_key,
    has_match,
)
from benchbuilder.steps.base import Filter, Port
from benchbuilder.steps.language.option_texts import (
    CASE_SIZE,
    CatchAllSpec,
    OptionNames,
    issues_of_payload,
    stem_size,
    texts_of_options,
)
from benchbuilder.steps.language.patterns import first_match
from benchbuilder.steps.language.questions import CONTEXT_REMARK

_COMMON, _OFTEN = 0.5, 10
"""A word in more than this share of the questions, and in more than so many, says nothing of what one of them asks. Of
two words that tell questions apart, as *children* and *adults*, one is always in less than half of them."""
_SHARED_STEM = 40
"""A question that shares its options and its right answer with another one needs more letters than this. A shorter one
has no place for what it asks about: *which of these is true?*"""


class ScreenShownSpec(StepSpec):
    """What makes a question unfit to be shown with one answer."""

    catch_alls: CatchAllSpec = CatchAllSpec()
    needs_picture: tuple[Regex, ...] = ()
    """Patterns of questions about something that is not there, in their language."""
    context_dependent: tuple[Regex, ...] = ()
    """Patterns of questions about a text that is not shown; questions with a context are not searched."""
    changed_by_spreadsheet: Regex = r"\A\s*(?:\d+ days?, )?\d{1,3}:\d\d:00\s*\Z"
    """A pattern of options that were ratios (30:2) before a spreadsheet took them for times of day; empty: none."""
    needs_case: tuple[Regex, ...] = ()
    """Patterns of questions about a case (the next step, this patient), where fewer than 120 letters hold none."""
    repeated: Annotated[int, Field(ge=2)] | None = 3
    """From this number on, questions of the same words with the same right answer count as one, in whatever order and
    apart from words that many questions have; ``null``: never."""


class ScreenShown(Filter):
    """Drops facts whose question and answer make no sense together, by the form of the file alone."""

    kind: ClassVar[str] = "screen_shown"
    version = 6
    spec_class: ClassVar[type[StepSpec]] = ScreenShownSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact), "facts": Port(Fact, mode="lookup")}
    reasons: ClassVar[Mapping[str, str]] = {
        "no_answer": "The question, or its right answer, is empty.",
        "equal_options": "Two options are the same text, apart from punctuation and capitals.",
        "changed_by_spreadsheet": "An option was a ratio, which a spreadsheet has turned into a time of day.",
        "option_names_options": "The right option names other options by their letters or numbers.",
        "catch_all_answer": "The right option is about all others, such as all or none of them.",
        "shared_options": "A short question shares its options and right answer with another one; a part is missing.",
        "repeated_question": "Several questions have the same words and the same right answer; the first is kept.",
        "needs_picture": "The question is about a picture or a table that is not there.",
        "context_dependent": "The question is about a text that is not shown.",
        "no_case": "The question is about a case, such as a patient, that is not there.",
    }

    spec: ScreenShownSpec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterator[SpecIssue]:
        """Facts without a question and answers."""
        yield from issues_of_payload(rows)

    def remarks(self) -> Iterator[SpecIssue]:
        """Which lists of words the language lacks, so that what they find stays."""
        lacking = {"needs_picture": "a picture that is not there", "needs_case": "a case that is not there"}
        for name, what in lacking.items():
            if not getattr(self.spec, name):
                yield SpecIssue(name, f"no words find questions about {what} (forms.{name})", "", ())
        if not self.spec.context_dependent:
            yield CONTEXT_REMARK

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Look at all questions together."""
        facts: list[tuple[str, AnsweredQuestion]] = [(fact.id, fact.payload) for fact in lookups["facts"]]
        texts = [payload.context + payload.question for _, payload in facts]
        options = [texts_of_options(payload) for _, payload in facts]
        self._catch_alls = self.spec.catch_alls.find(payload for _, payload in facts)
        self._names = OptionNames(zip(texts, options, strict=True))
        answers = [next(iter(payload.right_answers()), "") for _, payload in facts]
        self._shown = Counter(map(_shown_key, options, answers))
        self._repeated = self._find_repeated([name for name, _ in facts], texts, answers)

    def screen(self, table: Table[Any]) -> FilterResult:
        """Per row, the first reason to drop it."""
        reasons, details = list[str | None](), list[str]()
        for row in table:
            reason, detail = self._fault(row.id, row.payload)
            reasons.append(reason)
            details.append(detail)
        return FilterResult(reasons, details)

    def _fault(self, name: str, payload: AnsweredQuestion) -> tuple[str | None, str]:
        text, options = payload.context + payload.question, texts_of_options(payload)
        answer = next(iter(payload.right_answers()), "")
        if not payload.question.strip() or not answer.strip():
            return "no_answer", ""
        if same := _repeated_option(options):
            return "equal_options", same
        if self.spec.changed_by_spreadsheet:
            for option in (*options, answer):
                if has_match(self.spec.changed_by_spreadsheet, option):
                    return "changed_by_spreadsheet", option
        if self._names.fits(answer, text):
            return "option_names_options", answer
        if self._catch_alls.fits(answer):
            return "catch_all_answer", answer
        size = stem_size(text)
        for reason, patterns, searched in (
            ("needs_picture", self.spec.needs_picture, text),
            ("context_dependent", () if payload.context else self.spec.context_dependent, payload.question.strip()),
            ("no_case", self.spec.needs_case if size < CASE_SIZE else (), payload.question),
        ):
            if (found := first_match(patterns, searched)) is not None:
                return reason, found
        listed = getattr(payload, "options", None) is not None
        if listed and self._shown[_shown_key(options, answer)] > 1 and size <= _SHARED_STEM:
            return "shared_options", " | ".join(options)
        first = self._repeated.get(name)
        return (None, "") if first is None else ("repeated_question", first)

    def _find_repeated(self, names: list[str], texts: list[str], answers: list[str]) -> dict[str, str]:
        """The first question of each group of repeated ones, by the fact of every other one.

        Questions that differ in a word of their own (the energy of fat, of protein) ask for different things.
        """
        if self.spec.repeated is None:
            return {}
        words = list(map(_words_of, texts))
        counts = Counter(chain.from_iterable(map(set, words)))
        least = max(_OFTEN, _COMMON * len(texts))
        groups: defaultdict[tuple[Sequence[str], ...], list[int]] = defaultdict(list)
        for place, (asked, answer) in enumerate(zip(words, answers, strict=True)):
            own = [word for word in asked if counts[word] <= least]
            groups[tuple(own or asked), tuple(_words_of(answer))].append(place)
        return {
            names[place]: texts[places[0]]
            for places in groups.values()
            if len(places) >= self.spec.repeated
            for place in places[1:]
        }


def _words_of(text: str) -> list[str]:
    """The words of a text in one order; where none stand apart, the text as a whole."""
    return sorted(key for part in text.split() if (key := equality_key(part)))


def _shown_key(options: Iterable[str], answer: str) -> tuple[frozenset[str], str]:
    return frozenset(map(equality_key, options)), equality_key(answer)


def _repeated_option(options: Iterable[str]) -> str:
    """The first option that equals an earlier one; empty if there is none."""
    seen = set[str]()
    for option in options:
        key = equality_key(option) or option.strip()
        if key in seen:
            return option
        seen.add(key)
    return ""
