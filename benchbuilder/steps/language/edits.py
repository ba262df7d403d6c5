"""Edits and negations of texts that update the spans of their parts, and the false statements that they make."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, Self

from pydantic import model_validator
from rapidfuzz.distance import Postfix, Prefix

from benchbuilder.core import (
    FrozenModel,
    ProducedBy,
    Regex,
    Span,
    Statement,
    comparison_form,
    match_count,
    replace_all,
    template_faults,
    to_half_width,
)


def answer_text(statement: Statement) -> str:
    """The answer of a statement, or an empty string if its position is unknown."""
    return statement.answer.slice_of(statement.text) if statement.answer is not None else ""


def comparison_form_without(text: str, marks: str) -> str:
    """The comparison form of `text` without any of the characters `marks`."""
    return comparison_form("".join(character for character in text if character not in marks))


def altered_statement(
    before: Statement,
    produced_by: ProducedBy,
    text: str,
    joined: Literal["negation", "replacement"],
    checks: Sequence[str],
    answer: Span | None,
    seam: Span | None = None,
    wrong_from: str = "",
    tags: Sequence[str] = (),
) -> Statement:
    """The statement `text` of the opposite truth value, made of `before` by a negation or by another answer.

    It has the tags of `before`, and `tags`.
    """
    return Statement.child(
        before, produced_by=produced_by, polarity="false" if before.polarity == "true" else "true", text=text,
        joined=joined, answer=answer, seam=seam, context=before.context, fact=before.fact, family=before.family,
        negated=(joined == "negation") != before.negated, checks=tuple(checks), form=before.form, wrong_from=wrong_from,
        tags=(*before.tags, *tags),
    )  # fmt: skip


def replace_span(text: str, span: Span, new: str) -> str:
    """`text` with the part in `span` replaced by `new`.

    >>> replace_span("a is b", Span(start=2, end=4), "is not")
    'a is not b'
    """
    return text[: span.start] + new + text[span.end :]


def shift_span(span: Span | None, edited: Span, size: int) -> Span | None:
    """The position of `span` after `edited` became `size` characters; ``None`` if the edit touched it.

    >>> shift_span(Span(start=5, end=6), Span(start=2, end=4), 6)
    Span(start=9, end=10)
    """
    if span is None or span.end <= edited.start:
        return span
    if span.start < edited.end:
        return None
    offset = size - (edited.end - edited.start)
    return Span(start=span.start + offset, end=span.end + offset)


def check_statement_form(form: str) -> str:
    """A form with one ``{statement}`` and no other placeholder; ValueError otherwise."""
    if template_faults(form, ("statement",)) or form.count("{statement}") != 1:
        raise ValueError(f"{form!r}: {{statement}} is needed once, and nothing else in braces")
    return form


def longest_end(text: str, ends: tuple[str, ...]) -> str:
    """The longest of `ends` that `text` ends in, or the empty string.

    >>> longest_end("the first choice is", ("is", "choice is"))
    'choice is'
    """
    if not text.endswith(ends):
        return ""
    return max((end for end in ends if text.endswith(end)), key=len)


def cuts_word(text: str, position: int, words: tuple[str, ...]) -> bool:
    """Whether `position` is inside an occurrence of one of `words` in `text`.

    >>> cuts_word("its reaction is", 6, ("reaction",))
    True
    """
    known, lengths = _words_and_lengths(words)
    return any(
        text[start : start + length] in known
        for length in lengths
        for start in range(max(0, position - length + 1), position)
    )


@lru_cache(maxsize=64)
def _words_and_lengths(words: tuple[str, ...]) -> tuple[frozenset[str], tuple[int, ...]]:
    return frozenset(words), tuple(sorted({len(word) for word in words}))


def single_edit(before: str, after: str, keep: Span | None) -> tuple[Span, str] | None:
    """The only part of `before` that differs in `after`, and its new text; ``None`` if it touches `keep`.

    Differences in width are ignored. If a repeated character makes the part ambiguous, it is the one outside `keep`.

    >>> single_edit("It is so.", "It is not so.", Span(start=6, end=8))
    (Span(start=6, end=6), 'not ')
    """
    old, new = to_half_width(before), to_half_width(after)
    room = min(len(old), len(new))
    head, tail = Prefix.similarity(old, new), Postfix.similarity(old, new)
    start = head if keep is None else min(head, keep.start)
    rest = min(tail, room - start)
    if keep is None or len(old) - rest <= keep.start:
        return Span(start=start, end=len(old) - rest), after[start : len(new) - rest]
    rest = min(tail, len(old) - keep.end)
    start = min(head, room - rest)
    if start < keep.end:
        return None
    return Span(start=start, end=len(old) - rest), after[start : len(new) - rest]


def exchanges(before: str, after: str, old: str, new: str) -> list[int]:
    """The positions in `before` where replacing one `old` by `new` gives `after`, ignoring differences in width.

    >>> exchanges("It is so.", "It is not so.", "", "not "), exchanges("It is so.", "It is no.", "", "not ")
    ([6], [])
    """
    before, after = to_half_width(before), to_half_width(after)
    old, new = to_half_width(old), to_half_width(new)
    if len(after) - len(before) != len(new) - len(old):
        return []
    places = [n for n in range(len(before) - len(old) + 1) if before.startswith(old, n)]
    return [n for n in places if before[:n] + new + before[n + len(old) :] == after]


def text_between(text: str, before: str, after: str) -> tuple[str, str, str]:
    """Compare `text` with `before` + `after`: the lost end of `before`, the text between, the lost start of `after`.

    >>> text_between("It was blue then.", "It is ", " then.")
    ('is ', 'was blue', '')
    """
    head = Prefix.similarity(before, text)
    rest = text[head:]
    tail = Postfix.similarity(after, rest)
    return before[head:], rest[: len(rest) - tail], after[: len(after) - tail]


class SearchRule(FrozenModel):
    """One step of an ordered search for the place to negate.

    The last occurrence of any of `words` is negated: by `insert` before it, or `replace` instead of it. The rule does
    not apply to a text with any of `unless`.
    """

    words: tuple[str, ...]
    unless: tuple[str, ...] = ()
    insert: str = ""
    replace: str = ""

    @model_validator(mode="after")
    def _check_one_edit(self) -> Self:
        if not self.words or not all(self.words):
            raise ValueError("words: at least one word is needed, and none may be empty")
        if bool(self.insert) == bool(self.replace):
            raise ValueError("either insert or replace says how to negate, not both")
        return self


def search_negation(text: str, rules: Sequence[SearchRule]) -> tuple[Span, str] | None:
    """The edit of the first rule that applies: a span and its new text; ``None`` if no rule applies.

    >>> search_negation("it is so", [SearchRule(words=("is",), insert="never ")])
    (Span(start=3, end=3), 'never ')
    """
    for rule in rules:
        if any(word in text for word in rule.unless):
            continue
        start, word = max((text.rfind(word), word) for word in rule.words)
        if start < 0:
            continue
        if rule.insert:
            return Span(start=start, end=start), rule.insert
        return Span(start=start, end=start + len(word)), rule.replace
    return None


def count_negations(text: str, negations: Sequence[Regex], harmless: Sequence[Regex]) -> int:
    """The number of negations in `text`, without matches of `harmless` (words that only look like a negation).

    >>> count_negations("not a non-stick pan", ["not?", "non"], ["non-stick"])
    1
    """
    if not negations:
        return 0
    pattern = "|".join(f"(?:{pattern})" for pattern in negations)
    return match_count(pattern, mask_harmless(text, harmless))


def mask_harmless(text: str, harmless: Sequence[Regex]) -> str:
    """`text` with one NUL character instead of each match of `harmless`.

    >>> mask_harmless("not a non-stick pan", ["non-stick"]).count("non")
    0
    """
    return replace_all("|".join(f"(?:{pattern})" for pattern in harmless), "\0", text) if harmless else text


def without_negations(text: str, negations: Sequence[Regex], harmless: Sequence[Regex]) -> str:
    """`text` without its negations; matches of `harmless` stay.

    >>> without_negations("not a non-stick pan", ["not? ?", "non"], ["non-stick"])
    'a non-stick pan'
    """
    if not negations:
        return text
    kept, out = ("|".join(f"(?:{pattern})" for pattern in patterns) for patterns in (harmless, negations))
    return replace_all(f"(?P<kept>{kept})|{out}" if harmless else f"(?P<kept>(?!))|{out}", r"\g<kept>", text)
