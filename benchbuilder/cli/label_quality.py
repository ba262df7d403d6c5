"""What commands print about the quality of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbuilder.config import Recipe
from benchbuilder.core import count_phrase
from benchbuilder.exporters import holds_sample_votes, summaries_of_notes


def labels_line(notes_by_step: Mapping[str, Mapping[str, Any]], recipe: Recipe) -> str:
    """How many guiding questions reach the floor of agreement; empty if nobody was asked or there is no floor."""
    if not any("agreement" in notes for notes in notes_by_step.values()):
        return ""
    plain = recipe.model_dump(
        mode="json", by_alias=True, include={"annotation", "card", "steps"}, serialize_as_any=True
    )
    judged = list(summaries_of_notes(notes_by_step, plain).values())
    held = [row for one in judged for row in one.agreement if row.decides and row.standing]
    if not held:
        return ""
    weak, unknown = (sum(len(one.questions(word)) for one in judged) for word in ("weak", "unknown"))
    reached = len(held) - weak - unknown
    counts = [f"{n} {word}" for n, word in ((weak, "weak"), (unknown, "cannot tell")) if n]
    more = f" ({', '.join(counts)}); benchbuild votes quality recipe={recipe.name}" if counts else ""
    more += "; the votes are illustrative" if holds_sample_votes(plain) else ""
    return f"labels: {reached} of {count_phrase(len(held), 'guiding question')} reach the floor of agreement{more}"
