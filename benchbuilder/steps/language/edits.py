"""Edits of a text that keep the spans of its parts in step."""

from __future__ import annotations

from rapidfuzz.distance import Postfix, Prefix

from benchbuilder.core import Span, to_half_width


def replace_span(text: str, span: Span, new: str) -> str:
    """`text` with the part in `span` replaced by `new`.

    >>> replace_span("a is b", Span(start=2, end=4), "is not")
    'a is not b'
    """
    return text[: span.start] + new + text[span.end :]


def shift_span(span: Span | None, edited: Span, size: int) -> Span | None:
    """Where `span` stands after `edited` became `size` characters; ``None`` if the edit touched it.

    >>> shift_span(Span(start=5, end=6), Span(start=2, end=4), 6)
    Span(start=9, end=10)
    """
    if span is None or span.end <= edited.start:
        return span
    if span.start < edited.end:
        return None
    by = size - (edited.end - edited.start)
    return Span(start=span.start + by, end=span.end + by)


def without_end(text: str, end: str) -> str:
    """`text` without `end` at its end, once.

    >>> without_end("It is.", ".")
    'It is'
    """
    return text.removesuffix(end) if end else text


def longest_end(text: str, ends: tuple[str, ...]) -> str:
    """The longest of `ends` that `text` ends in, or the empty string.

    >>> longest_end("the first choice is", ("is", "choice is"))
    'choice is'
    """
    return max((end for end in ends if end and text.endswith(end)), key=len, default="")


def cuts_word(text: str, position: int, words: tuple[str, ...]) -> bool:
    """Whether position `position` lies inside an occurrence of one of `words` in `text`.

    >>> cuts_word("its reaction is", 6, ("reaction",))
    True
    """
    for word in words:
        start = text.find(word, max(0, position - len(word) + 1), position + len(word) - 1)
        if start >= 0 and start < position < start + len(word):
            return True
    return False


def single_edit(before: str, after: str, keep: Span | None) -> tuple[Span, str] | None:
    """The one part of `before` that `after` has otherwise, and what stands there; ``None`` if it touches `keep`.

    Widths do not count as a difference. Where a repeated character leaves it open, the part is the one outside
    `keep`.

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
    """Where in `before` one `old` must become `new` to give `after`; widths do not count as a difference.

    >>> exchanges("It is so.", "It is not so.", "", "not "), exchanges("It is so.", "It is no.", "", "not ")
    ([6], [])
    """
    before, after = to_half_width(before), to_half_width(after)
    old, new = to_half_width(old), to_half_width(new)
    if len(after) - len(before) != len(new) - len(old):
        return []
    places = range(len(before) - len(old) + 1)
    return [at for at in places if before[:at] + new + before[at + len(old) :] == after and before.startswith(old, at)]


def text_between(text: str, before: str, after: str) -> tuple[str, str, str]:
    """What `text` has between `before` and `after`: lost at the end of `before`, put there, lost at `after`'s start.

    >>> text_between("It was blue then.", "It is ", " then.")
    ('is ', 'was blue', '')
    """
    head = Prefix.similarity(before, text)
    rest = text[head:]
    tail = Postfix.similarity(after, rest)
    return before[head:], rest[: len(rest) - tail], after[: len(after) - tail]
