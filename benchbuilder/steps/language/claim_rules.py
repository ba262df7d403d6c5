"""What a claim read from a paragraph must keep: checks without a model, by data of the language."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from benchbuilder.config import Spec
from benchbuilder.core import (
    LengthUnit,
    Regex,
    Span,
    all_numbers,
    find_all,
    has_match,
    plain_form,
    quote_span,
    split_sentences,
    split_words,
    text_length,
    truncate_text,
)
from benchbuilder.steps.language.odd_texts import has_markup, odd_characters

CLAIM_FAULTS: Mapping[str, str] = {
    "not_a_sentence": "The claim is no sentence: it is too short, or a question.",
    "too_long": "The claim is too long.",
    "quote_not_found": "The quote is not in the paragraph, letter for letter.",
    "quote_too_short": "The quote is too short to show anything.",
    "unsupported_words": "Too many words of the claim are neither in the quote nor in the title or the headings.",
    "other_numbers": "The claim and the quote have different numbers.",
    "pronoun": "The claim has a pronoun instead of a name.",
    "points_elsewhere": "The claim points at another place: above, this study, a table.",
    "several_facts": "The claim has several sentences, or several facts in one.",
    "hedge_lost": "The quote says that something may be so, or is usually so, and the claim does not.",
    "already_said": "Another claim of the paragraph says the same, or has the same quote.",
}
"""The drop reasons of the checks, in their order."""


class ClaimRules(Spec):
    """What a claim must keep. The patterns and words are data of the language."""

    unit: LengthUnit
    """The unit of lengths: characters or words."""
    shortest: Annotated[int, Field(ge=1)]
    """The fewest units of a claim."""
    longest: Annotated[int, Field(ge=1)]
    """The most units of a claim."""
    shortest_quote: Annotated[int, Field(ge=1)]
    """The fewest units of a quote."""
    max_unsupported: Annotated[float, Field(ge=0, le=1)] = 0.2
    """The largest share of content words of a claim that are not in quote, title or headings."""
    max_overlap: Annotated[float, Field(ge=0, le=1)] = 0.8
    """The largest overlap of two quotes, as the share of the text in either that is in both."""
    function_words: tuple[str, ...]
    """Words without content; every other word of a claim needs support."""
    written_numbers: tuple[Regex, ...] = ()
    """Patterns of numbers in words."""
    pronouns: tuple[Regex, ...]
    """Patterns of words that stand for a name."""
    elsewhere: tuple[Regex, ...]
    """Patterns that point at another place."""
    joins: tuple[Regex, ...]
    """Patterns between two facts in one sentence."""
    hedges: tuple[Regex, ...]
    """Patterns of doubt and limits. One that is in the quote must be in the claim."""
    questions: tuple[Regex, ...]
    """Patterns of questions."""
    stop: str
    """The final stop, which a claim gets if it has none."""
    stops: tuple[str, ...]
    """Marks that always end a sentence."""
    soft_stops: tuple[str, ...] = ()
    """Marks that end a sentence except in numbers and abbreviations."""
    abbreviations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A claim as the model wrote it: the sentence, the quote that supports it, and the date that it holds for."""

    claim: str
    quote: str
    as_of: str = ""


@dataclass(frozen=True, slots=True)
class ReadText:
    """What a claim may rest on: the paragraph, and the title and headings above it."""

    paragraph: str
    title: str


class ClaimCheck:
    """Checks proposals against the paragraph that they were read from. `tokens` splits text into words."""

    def __init__(self, rules: ClaimRules, tokens: Callable[[str], Sequence[str]]) -> None:
        self._rules, self._tokens = rules, tokens
        self._function_words = frozenset(word.casefold() for word in rules.function_words)

    def fault(self, proposal: Proposal, read: ReadText, accepted: Sequence[Proposal]) -> tuple[str, str] | None:
        """The first check that `proposal` fails and its evidence; ``None`` if it passes.

        `accepted` are the other claims of the paragraph that passed.
        """
        claim, quote, rules = proposal.claim, proposal.quote, self._rules
        if odd := odd_characters(claim):
            return "reply_odd_characters", odd
        if has_markup(claim):
            return "reply_markup", ""
        if text_length(claim, rules.unit) < rules.shortest or self._first(rules.questions, claim):
            return "not_a_sentence", ""
        if (length := text_length(claim, rules.unit)) > rules.longest:
            return "too_long", str(length)
        place = quote_span(quote, read.paragraph)
        if place is None:
            return "quote_not_found", truncate_text(quote, 80)
        if text_length(quote, rules.unit) < rules.shortest_quote:
            return "quote_too_short", quote
        for check in (self._words, self._numbers, self._wording, self._hedges):
            if (found := check(claim, quote, read)) is not None:
                return found
        return self._said(claim, place, read, accepted)

    def _words(self, claim: str, quote: str, read: ReadText) -> tuple[str, str] | None:
        """Content words without support."""
        known = plain_form(f"{quote}\n{read.title}")
        words = {word for token in self._tokens(claim) for word in split_words(token)}
        content = {word for word in words if _has_letters(word) and word not in self._function_words}
        missing = sorted(word for word in content if plain_form(word) not in known)
        if content and len(missing) > self._rules.max_unsupported * len(content):
            return "unsupported_words", ", ".join(missing)
        return None

    def _numbers(self, claim: str, quote: str, read: ReadText) -> tuple[str, str] | None:
        """Numbers that claim and quote do not share; those of the title may be in the claim."""
        said, quoted, titled = (self._all_numbers(text) for text in (claim, quote, read.title))
        if different := sorted((said - quoted - titled) | (quoted - said)):
            return "other_numbers", ", ".join(different)
        return None

    def _all_numbers(self, text: str) -> set[str]:
        written = {
            span.slice_of(text).casefold()
            for pattern in self._rules.written_numbers
            for span in find_all(pattern, text)
        }
        return set(all_numbers(text)) | written

    def _wording(self, claim: str, quote: str, read: ReadText) -> tuple[str, str] | None:  # noqa: ARG002
        """Pronouns, pointers, and more than one fact."""
        rules = self._rules
        for reason, patterns in (("pronoun", rules.pronouns), ("points_elsewhere", rules.elsewhere)):
            if match := self._first(patterns, claim):
                return reason, match
        sentences = split_sentences(claim, rules.stops, rules.soft_stops, rules.abbreviations)
        if len(sentences) > 1:
            return "several_facts", sentences[1]
        if match := self._first(rules.joins, claim):
            return "several_facts", match
        return None

    def _hedges(self, claim: str, quote: str, read: ReadText) -> tuple[str, str] | None:  # noqa: ARG002
        """Words of doubt that the quote has and the claim has not."""
        for pattern in self._rules.hedges:
            if (match := self._first((pattern,), quote)) and not has_match(pattern, claim):
                return "hedge_lost", match
        return None

    def _said(self, claim: str, place: Span, read: ReadText, accepted: Sequence[Proposal]) -> tuple[str, str] | None:
        """Another accepted claim with the same words or the same quote."""
        for other in accepted:
            spot = quote_span(other.quote, read.paragraph)
            same = plain_form(other.claim) == plain_form(claim)
            if same or (spot is not None and _overlap(place, spot) > self._rules.max_overlap):
                return "already_said", other.claim
        return None

    def _first(self, patterns: Collection[Regex], text: str) -> str:
        """The text of the first match of `patterns`, or ""."""
        return next((spans[0].slice_of(text) for pattern in patterns if (spans := find_all(pattern, text))), "")


def _overlap(first: Span, second: Span) -> float:
    both = max(0, min(first.end, second.end) - max(first.start, second.start))
    return both / (max(first.end, second.end) - min(first.start, second.start)) if both else 0.0


def _has_letters(word: str) -> bool:
    return any(mark.isalpha() for mark in word)
