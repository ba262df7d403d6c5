"""The name quiz: does a model prefer a question of the benchmark to the same question with another name in it?

Only questions that hold the wrong answer are asked, beside variants with answers of other items in the same frame. All
say something false (or, negated, something true), so that knowledge favours none of them. In the control, a variant
takes the place of the original.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from benchbuilder.core import Item
from benchbuilder.evaluation.audit.exposure.base import (
    ExposureMaterial,
    ExposureTask,
    ExposureWork,
    ScoredReply,
    question_text,
)
from benchbuilder.evaluation.parsing.supported_answers import common_ends

QUIZ = "quiz"
KEYS = "ABCD"
_SHORTEST = 2
_MARKS = " .,;:!?。，；：！？"
"""Marks at the ends of an answer that a question may lack."""
_FRAME = 4
"""How many characters (or half as many words) before an answer make its frame: answers of one frame are alike."""
_LETTER = re.compile(r"(?<![A-Za-z])([A-Da-d])(?![A-Za-z])")


def quiz_tasks(material: ExposureMaterial) -> list[ExposureTask]:
    """A quiz about each original, and as many in which every text is a variant; the right place goes round."""
    spans = _spans_by_frame(material)
    tasks: list[ExposureTask] = []
    for item in material.items:
        if len(tasks) >= 2 * material.wanted:
            break
        texts = _variants(material, item, spans)
        if texts is not None:
            place = (len(tasks) // 2) % len(KEYS)
            for control, four in ((False, texts[:-1]), (True, [texts[-1], *texts[1:-1]])):
                tasks.append(ExposureTask(QUIZ, item.id, partial(_ask, material, item.id, four, place, control)))
    return tasks


def differing_spans(first: Sequence[str], second: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Two texts in tokens without their common beginning and end."""
    begin, end = common_ends(first, second)
    return first[begin : len(first) - end], second[begin : len(second) - end]


def _spans(material: ExposureMaterial, item: Item[Any]) -> tuple[str, str]:
    """How the right and the wrong answer of an item differ."""
    answers = (getattr(item.payload, "answer", ""), getattr(item.payload, "answer_wrong", ""))
    right, wrong = differing_spans(*(material.tokens(text) for text in answers))
    return material.join(right).strip(_MARKS), material.join(wrong).strip(_MARKS)


def _spans_by_frame(material: ExposureMaterial) -> dict[tuple[str, str], list[str]]:
    """The answers that questions of one partition hold in the same frame."""
    found: dict[tuple[str, str], set[str]] = {}
    for item in material.pool:
        for span in _spans(material, item):
            if (frame := _frame(material, item, span)) is not None:
                found.setdefault(frame, set()).add(span)
    return {frame: sorted(spans) for frame, spans in found.items()}


def _frame(material: ExposureMaterial, item: Item[Any], span: str) -> tuple[str, str] | None:
    """Partition and words before the answer `span`; ``None`` if the question does not hold it once."""
    text = question_text(item)
    if len(span) < _SHORTEST or text.count(span) != 1:
        return None
    size = _FRAME if material.unit == "characters" else _FRAME // 2
    before = material.tokens(text[: text.index(span)])[-size:]
    return (item.partition, material.join(before)) if len(before) == size else None


def _variants(material: ExposureMaterial, item: Item[Any], spans: dict[tuple[str, str], list[str]]) -> list[str] | None:
    """The original and four texts with other answers; ``None`` if the item does not hold its wrong answer once."""
    text, (right, wrong) = question_text(item), _spans(material, item)
    frame = _frame(material, item, wrong)
    if frame is None or (right and right in text):
        return None
    others = (span for span in _by_likeness(spans[frame], wrong, f"{material.seed}:{item.id}")
              if span not in (right, wrong) and span not in text)  # fmt: skip
    chosen = [span for span, _ in zip(others, range(len(KEYS)), strict=False)]
    return [text, *(text.replace(wrong, span) for span in chosen)] if len(chosen) == len(KEYS) else None


def _by_likeness(spans: Sequence[str], like: str, salt: str) -> Iterator[str]:
    """Spans of nearly the same length first, otherwise at random."""

    def rank(span: str) -> tuple[int, bytes]:
        return abs(len(span) - len(like)), hashlib.blake2b(f"{salt}:{span}".encode(), digest_size=8).digest()

    yield from sorted(spans, key=rank)


def _ask(material: ExposureMaterial, item: str, texts: Sequence[str], place: int, control: bool) -> ExposureWork:
    """Ask which text is the original; the first of `texts` stands at `place`."""
    order = [*texts[1:]]
    order.insert(place, texts[0])
    options = [{"key": key, "text": text} for key, text in zip(KEYS, order, strict=True)]
    reply = yield from material.ask("quiz", KEYS[place], title=material.title, options=options)
    letters = {letter.upper() for letter in _LETTER.findall(reply)}
    return ScoredReply(QUIZ, item, control, KEYS[place], reply, float(letters == {KEYS[place]}))
