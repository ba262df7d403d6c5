"""Drops questions that cannot be shown with one answer, by what needs no language."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field
from rapidfuzz.fuzz import token_sort_ratio

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
    find_all,
    join_groups,
    near_texts,
)
from benchbuilder.steps.base import Filter, Port
from benchbuilder.steps.language.option_texts import (
    CatchAllSpec,
    OptionNames,
    issues_of_payload,
    stem_size,
    texts_of_options,
)

_LONG = 200
"""From this number of letters on, a question is long."""
_NEAR, _NEAR_LONG = 0.5, 0.8
"""Questions that share fewer of their trigrams are not compared word by word; long ones must share more."""


class ScreenShownSpec(StepSpec):
    """What makes a question unfit to be shown with one answer."""

    catch_alls: CatchAllSpec = CatchAllSpec()
    needs_picture: tuple[Regex, ...] = ()
    """Patterns of questions about something that is not there, in their language."""
    shared_stem: Annotated[float, Field(ge=0)] = 40
    """A question that shares all of its options with another one needs more letters than this."""
    repeated: Annotated[int, Field(ge=2)] | None = 3
    """From this number on, questions that are nearly alike with nearly alike answers count as one; ``null``: never."""
    repeated_ratio: Annotated[float, Field(gt=0, le=100)] = 80
    """How alike the words of two such questions are, and those of their answers, in whatever order, from 0 to 100."""


class ScreenShown(Filter):
    """Drops facts whose question and answer make no sense together, by the form of the file alone."""

    kind: ClassVar[str] = "screen_shown"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = ScreenShownSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact), "facts": Port(Fact, mode="lookup")}
    reasons: ClassVar[Mapping[str, str]] = {
        "no_answer": "The question, or its right answer, is empty.",
        "equal_options": "Two options are the same text, apart from punctuation and capitals.",
        "option_names_options": "The right option names other options by their letters or numbers.",
        "catch_all_answer": "The right option is about all others, such as all or none of them.",
        "shared_options": "A short question shares all of its options with another one; a part of it is missing.",
        "repeated_question": "Several questions and their right answers are nearly alike; the first of them is kept.",
        "needs_picture": "The question is about a picture or a table that is not there.",
    }

    spec: ScreenShownSpec

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterator[SpecIssue]:
        """Facts without a question and answers."""
        yield from issues_of_payload(rows)

    def remarks(self) -> Iterator[SpecIssue]:
        """That no words of the language find questions about pictures."""
        if not self.spec.needs_picture:
            yield SpecIssue("needs_picture", "no words find questions about a picture that is not there "
                            "(forms.needs_picture)", "", ())  # fmt: skip

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Look at all questions together."""
        facts: list[tuple[str, AnsweredQuestion]] = [(fact.id, fact.payload) for fact in lookups["facts"]]
        texts = [payload.context + payload.question for _, payload in facts]
        options = [texts_of_options(payload) for _, payload in facts]
        self._catch_alls = self.spec.catch_alls.find(payload for _, payload in facts)
        self._names = OptionNames(zip(texts, options, strict=True))
        self._sets = Counter(map(_option_set, options))
        answers = [next(iter(payload.right_answers()), "") for _, payload in facts]
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
        if self._names.fits(answer, text):
            return "option_names_options", answer
        if self._catch_alls.fits(answer):
            return "catch_all_answer", answer
        if found := [span for pattern in self.spec.needs_picture for span in find_all(pattern, text)]:
            return "needs_picture", found[0].slice_of(text)
        listed = getattr(payload, "options", None) is not None
        if listed and self._sets[_option_set(options)] > 1 and stem_size(text) <= self.spec.shared_stem:
            return "shared_options", " | ".join(options)
        first = self._repeated.get(name)
        return (None, "") if first is None else ("repeated_question", first)

    def _find_repeated(self, names: list[str], texts: list[str], answers: list[str]) -> dict[str, str]:
        """The first question of each group of nearly equal ones, by the fact of every other one.

        Questions that ask the same of different things (the capital of one land, of another) have different answers.
        """
        if self.spec.repeated is None:
            return {}
        forms = [text.casefold() for text in texts]
        replies = [answer.casefold() for answer in answers]
        sizes = list(map(stem_size, texts))
        pairs = [
            (left, right)
            for places, near in (
                ([place for place, size in enumerate(sizes) if size < _LONG], _NEAR),
                ([place for place, size in enumerate(sizes) if size >= _LONG], _NEAR_LONG),
            )
            for left, right in _near_places(texts, places, near)
            if all(token_sort_ratio(of[left], of[right]) >= self.spec.repeated_ratio for of in (forms, replies))
        ]
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for place, group in enumerate(join_groups(names, pairs)):
            groups[group].append(place)
        return {
            names[place]: texts[places[0]]
            for places in groups.values()
            if len(places) >= self.spec.repeated
            for place in places[1:]
        }


def _near_places(texts: Sequence[str], places: Sequence[int], near: float) -> Iterator[tuple[int, int]]:
    """Pairs of `places` of texts that share more than `near` of their trigrams."""
    for left, right in near_texts((texts[place] for place in places), near):
        yield places[left], places[right]


def _option_set(options: Iterable[str]) -> frozenset[str]:
    return frozenset(map(equality_key, options))


def _repeated_option(options: Iterable[str]) -> str:
    """The first option that equals an earlier one; empty if there is none."""
    seen = set[str]()
    for option in options:
        key = equality_key(option) or option.strip()
        if key in seen:
            return option
        seen.add(key)
    return ""
