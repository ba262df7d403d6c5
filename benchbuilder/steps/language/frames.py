"""Frames, which match complete sentences and rewrite them with the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Self

import regex
from pydantic import Field, model_validator

from benchbuilder.core import Casing, FrozenModel, Regex, Span, WordForms, has_match, match_group_spans

GAP = "%answer%"
"""Replaces the answer in a sentence to match."""
_PART = re.compile(r"\{([^{}]*)\}|(\[)|(\])|([^{}\[\]]+)")


class SentenceFrame(FrozenModel):
    """How a sentence is rewritten: `match` matches the complete sentence, `write` is the template of the new one.

    `match` may contain ``%column%`` for the forms of a table of words. `write` contains ``{group}`` for a named group
    of `match`, ``{group.column}`` for another form of that word, ``{answer}``, and at most one part in square brackets:
    the predicate, where a negation belongs. With ``null``, no rule applies. The answer must have one of the shapes
    `answers` (empty: any) and none of the shapes `unless`.
    """

    match: Annotated[Regex, Field(min_length=1)]
    write: str | None
    answers: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    before: bool = False
    """Whether the recipe's word for the answer's shape, such as an article, is put before it."""

    @model_validator(mode="after")
    def _check_groups(self) -> Self:
        parts = list(_PART.finditer(self.write or ""))
        marks = "".join((part[2] or "") + (part[3] or "") for part in parts)
        if marks not in ("", "[]") or "".join(part[0] for part in parts) != (self.write or ""):
            raise ValueError("write: braces and brackets must be closed, and at most one part is in brackets")
        return self


def check_frames(
    frames: Mapping[str, SentenceFrame | None], shapes: Mapping[str, Regex], parts: Mapping[str, Regex]
) -> None:
    """ValueError if a frame names a shape that is not among `shapes`, or writes a group that is not in its `match`."""
    expand = WordForms(parts=parts).expand
    for name, frame in frames.items():
        if frame is None:
            continue
        if unknown := [shape for shape in (*frame.answers, *frame.unless) if shape not in shapes]:
            raise ValueError(f"frames.{name}: the shape {unknown[0]!r} is not among {', '.join(shapes) or 'none'}")
        known = {*regex.compile(expand(frame.match)).groupindex, "answer"}
        for part in _PART.finditer(frame.write or ""):
            if part[1] is not None and part[1].partition(".")[0] not in known:
                raise ValueError(f"frames.{name}.write: {{{part[1]}}} is no group of its `match` ({', '.join(known)})")


@dataclass(frozen=True, slots=True)
class FramedText:
    """The text that a frame wrote, with the spans of answer and predicate."""

    name: str
    text: str
    answer: Span | None
    seam: Span | None


class SentenceFrames:
    """The frames of a recipe, in order; `shapes` are patterns of answers by name."""

    def __init__(
        self,
        frames: Mapping[str, SentenceFrame | None],
        shapes: Mapping[str, Regex],
        forms: WordForms,
        casing: Casing | None,
        before: Mapping[str, str] | None = None,
    ) -> None:
        self._before = before or {}
        self._frames = [(name, frame) for name, frame in frames.items() if frame is not None]
        self._shapes, self._forms, self._casing = shapes, forms, casing
        self._shapes_of = lru_cache(maxsize=4096)(self._match_shapes)

    def shapes_of(self, answer: str) -> frozenset[str]:
        """The names of the shapes of `answer`."""
        return self._shapes_of(answer)

    def _match_shapes(self, answer: str) -> frozenset[str]:
        patterns = self._shapes.items()
        return frozenset(name for name, pattern in patterns if has_match(self._forms.expand(pattern), answer))

    def has(self, name: str) -> bool:
        """Whether a frame has this name."""
        return any(name == known for known, _ in self._frames)

    def apply(self, text: str, answer: str) -> FramedText | None:
        """The text of the first frame that matches `text` and suits the answer; ``None`` if no rule applies."""
        shapes = self.shapes_of(answer)
        for name, frame in self._frames:
            if not _suits(frame, shapes):
                continue
            groups = match_group_spans(self._forms.expand(frame.match), text)
            if groups is None:
                continue
            if frame.write is None:
                return None
            words = (word for shape, word in self._before.items() if frame.before and shape in shapes)
            return self._fill_template(name, frame.write, groups, answer, next(words, ""))
        return None

    def why_unmatched(self, text: str, answer: str) -> str:
        """Why no frame rewrites `text`: none matches it, or those that match are for other answers."""
        shapes = self.shapes_of(answer)
        for name, frame in self._frames:
            if match_group_spans(self._forms.expand(frame.match), text) is None:
                continue
            if not _suits(frame, shapes):
                return f"no frame fits (`{name}` fits the question, not the answer {answer!r})"
            return f"no frame fits (`{name}` leaves such questions to a model)"
        return "no frame fits"

    def _fill_template(
        self, name: str, template: str, groups: Mapping[str, tuple[str, int]], answer: str, word: str
    ) -> FramedText | None:
        text, place, seam, opened = "", None, None, 0
        for part in _PART.finditer(template):
            if part[2]:
                opened = len(text)
                continue
            if part[3]:
                seam = Span(start=opened, end=len(text))
                continue
            text += word if part[1] == "answer" else ""
            piece = part[0] if part[1] is None else self._value(part[1], groups, answer, first=not text)
            if piece is None:
                return None
            piece = piece.lstrip(" ") if not text or text.endswith(" ") else piece
            if part[1] == "answer":
                place = Span(start=len(text), end=len(text) + len(piece))
            text += piece
        return FramedText(name, self._casing.raise_first(text) if self._casing else text, place, seam)

    def _value(self, name: str, groups: Mapping[str, tuple[str, int]], answer: str, *, first: bool) -> str | None:
        """The value of ``{name}``; ``None`` if its word has no such form."""
        group, _, column = name.partition(".")
        value, start = (answer, 0) if group == "answer" else groups[group]
        if column:
            return self._forms.other_form(value, column) or None
        return self._casing.lower_first(value) if self._casing and start == 0 and not first else value


def _suits(frame: SentenceFrame, shapes: frozenset[str]) -> bool:
    """Whether a frame is for answers of these shapes."""
    return (not frame.answers or not shapes.isdisjoint(frame.answers)) and shapes.isdisjoint(frame.unless)


def with_gap(text: str, answer: Span) -> str:
    """`text` with `GAP` instead of the answer.

    >>> with_gap("It is iron", Span(start=6, end=10))
    'It is %answer%'
    """
    return text[: answer.start] + GAP + text[answer.end :]
