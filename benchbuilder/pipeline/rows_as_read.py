"""Three rows of each source as they were understood, so that people see what a file was taken for."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from benchbuilder.config import LoadedRecipe
from benchbuilder.core import Passage, Row, Triple, create_from_spec, show_invisible, split_gold, truncate_text
from benchbuilder.sources import Source

_ROWS = 200
_SHOWN = 3
_LONGEST = 110
_APART = " | "


def understood_rows(loaded: LoadedRecipe) -> Iterator[str]:
    """Lines about three of the first rows of each source: question, right and wrong answers, label, evidence.

    The seed draws them; one of them has the rarest shape. Sources that must read a whole file for its first row have
    none.
    """
    for name, spec in loaded.recipe.sources.items():
        source: Source = create_from_spec("source", spec, name, loaded.recipe.language)
        yield from shown_rows(name, source.first_rows(_ROWS), loaded.recipe.seed)


def shown_rows(name: str, rows: Sequence[Row], seed: int) -> Iterator[str]:
    """Lines about three of `rows`, with the place of each."""
    chosen = _chosen(rows, seed)
    if chosen:
        yield f"{name}, as read:"
    for row in chosen:
        yield f"  {row.origin.file}:{row.origin.line}"
        for number, (label, text) in enumerate(_parts(row)):
            yield f"{'      ' if number else '    '}{label}: {text}"


def _chosen(rows: Sequence[Row], seed: int) -> list[Row]:
    """The rows to show, in their order: of the rarest shape the longest one, and others by seed."""
    if len(rows) <= _SHOWN:
        return list(rows)
    shapes = [tuple((label, text.count(_APART)) for label, text in _parts(row)) for row in rows]
    counts = Counter(shapes)
    sizes = [sum(len(text) for _, text in _parts(row, None)) for row in rows]
    rarest = min(range(len(rows)), key=lambda at: (counts[shapes[at]], -sizes[at]))
    others = random.Random(seed).sample([at for at in range(len(rows)) if at != rarest], _SHOWN - 1)
    return [rows[at] for at in sorted([rarest, *others])]


def _parts(row: Row, longest: int | None = _LONGEST) -> list[tuple[str, str]]:
    """The parts of a row by what they were taken for; a part without text is left out."""
    payload: Any = getattr(row, "payload", row)
    if isinstance(payload, Passage):
        parts: dict[str, Sequence[str]] = {"text": [payload.text], "title": [payload.title]}
    elif isinstance(payload, Triple):
        parts = {"head": [payload.head], "relation": [payload.relation], "tail": [payload.tail]}
    elif hasattr(payload, "answer_keys"):
        right = {option.key: option.text for option in payload.options if option.key in payload.answer_keys}
        wrong = [option.text for option in payload.options if option.key not in right]
        parts = {"question": [payload.context, payload.question], "right": [*right.values()], "wrong": wrong}
    elif hasattr(payload, "right_answers") and hasattr(payload, "question"):
        parts = {"question": [payload.context, payload.question], "right": payload.right_answers()}
        parts |= {"wrong": payload.wrong_answers()}
    elif hasattr(payload, "label") and hasattr(payload, "asked"):
        parts = {"question" if payload.asked else "claim": [payload.text], "label": [payload.label]}
        parts |= {"about the text": [payload.premise]}
    else:
        parts = payload.texts()
    gold = [split_gold(name)[1] for name in getattr(payload, "gold", ())]
    shown = {label: _APART.join(filter(None, texts)) for label, texts in {**parts, "evidence": gold}.items()}
    plain = {label: show_invisible(text.replace("\n", " / ")) for label, text in shown.items() if text}
    return [(label, truncate_text(text, longest) if longest else text) for label, text in plain.items()]
