"""Replaces the answers of statements by wrong options."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import CasingSpec, FileRef, StepSpec, open_casing, open_word_forms
from benchbuilder.core import (
    Choice,
    Dropped,
    Fact,
    Kept,
    LengthUnit,
    Option,
    Outcome,
    Regex,
    Row,
    Span,
    SpecIssue,
    Statement,
    Table,
    comparison_key,
    has_match,
    is_on_boundaries,
)
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.answer_texts import contains_text, last_whole_match, locate_answer
from benchbuilder.steps.language.bounds import NumberRules, NumberUnit, NumericBound, bound_before, may_be_implied
from benchbuilder.steps.language.edits import altered_statement, replace_span
from benchbuilder.steps.language.frames import SentenceFrames
from benchbuilder.steps.language.punctuation import strip_marks
from benchbuilder.steps.language.rewording import NearAnswer, OptionWeights, Rewording


class ReplaceSpec(StepSpec):
    """How the wrong option is chosen and inserted."""

    option: Literal["balanced", "random", "first"]
    """Which wrong option: by seed, or the first in order. ``balanced`` draws by seed too, so that the wrong answers
    have the letters and length ranks that the right ones of their source have; it needs the port ``facts``."""
    place: Literal["span", "last_match"]
    """``span``: the answer's span in the statement; ``last_match``: the last literal occurrence of the answer."""
    rescue_distance: Annotated[int, Field(ge=0, le=5)]
    """The largest number of edits between the answer and its place in a model-made statement; 0: literal only."""
    strict: bool
    """Whether an option must differ from the right answer after normalisation, and neither may contain the other."""
    ignore: str
    """Characters that are ignored when answers are compared."""
    matching: LengthUnit = "characters"
    """Whether one answer contains another anywhere, or as whole words only."""
    marks: str
    """Marks that are removed from both ends of an option."""
    not_options: tuple[Regex, ...]
    """Patterns of options that do not fit after a seam."""
    alike: dict[str, Regex | None] = {}
    """Shapes, by a name of your choice: an option must have the same of these shapes as the answer. ``null`` removes
    an inherited one."""
    forms: tuple[FileRef, ...] = ()
    """Tables of word forms, whose columns `alike` may name (``%column%``)."""
    parts: dict[str, Regex] = {}
    """Parts of patterns, which `alike` may name in the same way."""
    casing: CasingSpec | None = None
    """The case of an option at the start of a sentence or inside it; ``null``: unchanged."""
    bounds: tuple[NumericBound, ...]
    """Bounds that restrict the wrong number to one side. The first that fits before the answer counts, and the first
    that fits in the answer; the latter wins."""
    units: tuple[NumberUnit, ...] = ()
    """Units whose numbers can be compared; numbers in other units are not certain if a bound is near."""

    rewording: Rewording | None = None
    """The options that may be paraphrases of the answer, and are not taken; ``null``: none are looked for."""
    near: NearAnswer | None = None
    """The options that are taken only if there is no other, with the tag ``near_answer``; ``null``: none."""


class Replace(Map):
    """A false statement: the true one with a wrong option of its question instead of the answer."""

    kind = "replace"
    version = 8
    spec_class = ReplaceSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Statement),
        "fact": Port(Fact[Choice], mode="parent"),
        "facts": Port(Fact[Choice], mode="lookup", optional=True),
    }
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "no_answer_span": "The answer cannot be found in the statement.",
        "no_wrong_option": "Every other option equals the right answer after normalisation, or fits no sentence.",
        "other_shape": "Every other option has another shape than the answer, and would not fit the sentence.",
        "ambiguous_option": "Every other option contains the right answer or is part of it, and might be true.",
        "paraphrase": "Every other option says what the right one says, in another order of words.",
        "implied_by_true": "By a bound or a range, every other option would make the statement true as well.",
    }

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """A balanced choice where the port ``facts`` is left out."""
        if self.spec.option == "balanced" and rows and "facts" not in rows:
            yield SpecIssue("option", "the choice needs the port `facts`", "balanced", ("random", "first"))

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the word forms, the words that keep their capital, and how right answers are distributed."""
        spec: ReplaceSpec = self.spec
        self._casing = open_casing(spec.casing, self.context.language)
        self._numbers = NumberRules(spec.bounds, spec.units, spec.ignore)
        shapes = {name: pattern for name, pattern in spec.alike.items() if pattern is not None}
        self._shapes = SentenceFrames({}, shapes, open_word_forms(spec.forms, spec.parts), self._casing)
        facts = lookups.get("facts") if spec.option == "balanced" else None
        self._weights = None if facts is None else OptionWeights(facts, self._can_replace)

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:
        """One branch per statement."""
        true: Statement = row
        choice: Choice = parents["fact"].payload
        span = self._answer_span(true, choice)
        if span is None:
            return [Dropped("no_answer_span", f"{choice.answer}: {true.text}")]
        option = self._choose_option(true, choice, span)
        if isinstance(option, Dropped):
            return [option]
        tags = ("near_answer",) if self._is_near(option, choice) else ()
        if self._casing is not None:
            inside = true.text[: span.start].strip()
            option = self._casing.lower_first(option) if inside else self._casing.raise_first(option)
        checks = ["differs_from_true"]
        if self.spec.strict:
            checks += ["option_not_accepted", "no_containment", "not_implied"]
        if self.spec.rewording is not None:
            checks.append("no_paraphrase")
        text, answer = replace_span(true.text, span, option), Span(start=span.start, end=span.start + len(option))
        seam = true.seam if true.seam is not None and true.seam.end <= span.start else None
        produced_by = self.produced_by(f"{self.spec.option}_option")
        made = altered_statement(true, produced_by, text, "replacement", checks, answer, seam, choice.wrong_from, tags)
        return [Kept(made)]

    def _answer_span(self, true: Statement, choice: Choice) -> Span | None:
        if self.spec.place == "span" and true.joined != "model" and true.answer is not None:
            return true.answer
        distance = self.spec.rescue_distance if true.joined == "model" else 0
        answer = strip_marks(choice.answer, self.spec.marks)
        if self.spec.matching == "words" and (whole := last_whole_match(answer, true.text, "words")) is not None:
            return whole
        place = locate_answer(answer, true.text, distance)
        return place if place is not None and is_on_boundaries(place, true.text, self.spec.matching) else None

    def _overlaps(self, option: str, answer: str, key: str) -> bool:
        """Whether one contains the other; every answer contains an option of marks alone (with an empty `key`)."""
        rules = (self.spec.matching, self.spec.ignore)
        return not key or contains_text(option, answer, *rules) or contains_text(answer, option, *rules)

    def _ordered_options(self, true: Statement, choice: Choice) -> Sequence[Option]:
        """The wrong options in the order in which they are tried."""
        seed, wrong = f"{self.context.seed}:{true.id}", list(choice.wrong_options())
        if self._weights is not None:
            return self._weights.in_random_order(true.partition, choice.options, choice.answer_key, seed)
        if self.spec.option != "first":
            random.Random(seed).shuffle(wrong)
        return wrong

    def _can_replace(self, option: str, answer: str) -> bool:
        """Whether nothing but the statement can speak against the option."""
        option, answer = strip_marks(option, self.spec.marks), strip_marks(answer, self.spec.marks)
        if not option or any(has_match(pattern, option) for pattern in self.spec.not_options):
            return False
        return self._shapes.shapes_of(option) == self._shapes.shapes_of(answer)

    def _choose_option(self, true: Statement, choice: Choice, span: Span) -> str | Dropped:
        """The text of the wrong option for the answer's place `span`, or the drop if there is none."""
        spec: ReplaceSpec = self.spec
        options = [strip_marks(option.text, spec.marks) for option in self._ordered_options(true, choice)]
        accepted = comparison_key(choice.answer, spec.ignore)
        answer = strip_marks(choice.answer, spec.marks)
        shapes = self._shapes.shapes_of(answer)
        side, after = bound_before(true.text[: span.start], spec.bounds), true.text[span.end :]
        reason, nearest = "no_wrong_option", ""
        for option in options:
            if not option or option == answer or any(has_match(pattern, option) for pattern in spec.not_options):
                continue
            key = comparison_key(option, spec.ignore)
            if spec.strict and key == accepted:
                continue
            if spec.strict and self._overlaps(option, answer, key):
                reason = "ambiguous_option"
                continue
            if spec.rewording and spec.rewording.fits(option, answer, true.text, spec.matching, spec.ignore):
                reason = "paraphrase"
                continue
            if shapes != self._shapes.shapes_of(option):
                reason = "other_shape"
                continue
            if may_be_implied(option, answer, after, side, self._numbers):
                reason = "implied_by_true"
                continue
            if not self._is_near(option, choice):
                return option
            nearest = nearest or option
        return nearest or Dropped(reason, " | ".join(options))

    def _is_near(self, option: str, choice: Choice) -> bool:
        return self.spec.near is not None and self.spec.near.fits(option, strip_marks(choice.answer, self.spec.marks))
