"""The way of one row: up to the line of a file, with what each step did to its text, and down to items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import regex
from rapidfuzz.distance import Indel

from benchbuilder.core import Row, schema_of
from benchbuilder.explorer.reading.branch_pages import shown_fields, shown_texts
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.build_summaries import items_steps
from benchbuilder.explorer.reading.step_indexes import StepIndexes
from benchbuilder.pipeline import InspectedFlow, Inspector, TracedBranch

_TOKENS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]|[\p{L}\p{M}\p{N}]+|\s+|.", regex.DOTALL)
_MOST_TOKENS = 4_000
_ISLAND = 2
"""A kept part of fewer signs between two changes joins them."""


class DiffPiece(NamedTuple):
    """A part of two texts: in both (``same``), only in the first (``del``) or only in the second (``ins``)."""

    sort: Literal["same", "del", "ins"]
    text: str


def diff_texts(before: str, after: str) -> list[DiffPiece]:
    """The pieces of two texts in order; two long texts count as one change.

    >>> [tuple(piece) for piece in diff_texts("病变部位在（）", "病变部位在黑质。")]
    [('same', '病变部位在'), ('del', '（）'), ('ins', '黑质。')]
    """
    if before == after:
        return [DiffPiece("same", after)] if after else []
    old, new = _TOKENS.findall(before), _TOKENS.findall(after)
    if len(old) > _MOST_TOKENS or len(new) > _MOST_TOKENS:
        return [DiffPiece("del", before), DiffPiece("ins", after)]
    parts: list[tuple[bool, str, str]] = []
    for code in Indel.opcodes(old, new):
        one, other = "".join(old[code.src_start : code.src_end]), "".join(new[code.dest_start : code.dest_end])
        _add(parts, code.tag == "equal", one, other)
    return [piece for part in _without_islands(parts) for piece in _pieces(*part)]


def _add(parts: list[tuple[bool, str, str]], same: bool, one: str, other: str) -> None:
    if parts and parts[-1][0] == same:
        _, first, second = parts.pop()
        one, other = first + one, second + other
    parts.append((same, one, other))


def _without_islands(parts: Sequence[tuple[bool, str, str]]) -> list[tuple[bool, str, str]]:
    joined: list[tuple[bool, str, str]] = []
    for place, (same, one, other) in enumerate(parts):
        is_island = same and 0 < place < len(parts) - 1 and len(one) < _ISLAND
        _add(joined, same and not is_island, one, other)
    return joined


def _pieces(same: bool, one: str, other: str) -> list[DiffPiece]:
    if same:
        return [DiffPiece("same", one)]
    first = _common_signs(one, other)
    last = _common_signs(one[first:][::-1], other[first:][::-1])
    pieces = (
        DiffPiece("same", one[:first]), DiffPiece("del", one[first : len(one) - last]),
        DiffPiece("ins", other[first : len(other) - last]), DiffPiece("same", one[len(one) - last :]),
    )  # fmt: skip
    return [piece for piece in pieces if piece.text]


def _common_signs(one: str, other: str) -> int:
    """With how many equal signs two texts begin."""
    differing = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


_JOINS = {"question": " → ", "head": " "}


@dataclass(frozen=True)
class LineageStep:
    """A row on the way, the step that made it, and what became of its text in the row before it on the page."""

    step: str
    row: Row
    texts: Mapping[str, str]
    changes: tuple[DiffPiece, ...] = ()

    @property
    def text(self) -> str:
        """Its text in a line."""
        return main_text(self.texts)


@dataclass(frozen=True)
class NextUse:
    """What a step made of a row: the outcome, its reason and detail, and the id of the row that came out."""

    step: str
    outcome: str
    reason: str
    meaning: str
    detail: str
    out: str


@dataclass(frozen=True)
class RowStory:
    """A row with its way: `line` leads along `of` to the file, `beside` has other ancestors, `branches` its ends."""

    step: str
    row: Row
    texts: Mapping[str, str]
    line: tuple[LineageStep, ...]
    beside: tuple[LineageStep, ...]
    uses: tuple[NextUse, ...]
    branches: tuple[TracedBranch, ...]


def inspector_of(build: BuildFolder) -> Inspector:
    """An inspector of a build as it is now; it compares no checksums."""
    manifests = build.manifests()
    return Inspector(
        InspectedFlow.of_build(manifests, items_steps(build.recipe)), manifests, build.store, compares=False,
        index=StepIndexes(build),
    )  # fmt: skip


def read_story(build: BuildFolder, row_id: str) -> RowStory:
    """The way of a row; DataError if the build has no such row."""
    inspector = inspector_of(build)
    (step, row), *ancestors = inspector.trace(row_id)
    by_id = {ancestor.id: (name, ancestor) for name, ancestor in ancestors}
    line: list[LineageStep] = []
    child, above = row, row.of
    while above in by_id:
        name, parent = by_id.pop(above)
        texts = texts_of(parent)
        changes = diff_texts(main_text(texts), main_text(texts_of(child)))
        line.append(LineageStep(name, parent, texts, tuple(changes)))
        child, above = parent, parent.of
    beside = [LineageStep(name, other, texts_of(other)) for name, other in ancestors if other.id in by_id]
    return RowStory(
        step, row, texts_of(row), tuple(line), tuple(beside), _uses(inspector, row_id),
        tuple(inspector.branches_from(step, row_id)),
    )  # fmt: skip


def read_unit(build: BuildFolder, file: str, line: int) -> tuple[tuple[TracedBranch, ...], tuple[tuple[str, Row], ...]]:
    """What became of a unit of a file, and the rows that were read from it; DataError if no source has it."""
    inspector = inspector_of(build)
    reference = f"{file}:{line}"
    branches = tuple(inspector.branches_of(reference))
    return branches, tuple(inspector.rows_read_at(reference))


def _uses(inspector: Inspector, row_id: str) -> tuple[NextUse, ...]:
    return tuple(
        NextUse(name, line["outcome"], line["reason"], inspector.manifests[name].reasons.get(line["reason"], ""),
                line["detail"], line["out"])
        for name, line in inspector.uses_of(row_id)
    )  # fmt: skip


def texts_of(row: Row) -> dict[str, str]:
    """The texts of a row that a table of its kind shows, by field."""
    data: Mapping[str, Any] = row.model_dump(mode="json")
    texts: dict[str, str] = {}
    for name in shown_fields(schema_of(type(row))):
        value: Any = data
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        texts |= shown_texts({name.rpartition(".")[2]: value})
    return texts


def main_text(texts: Mapping[str, str]) -> str:
    """The texts of a row as one: of a fact its question and answer, or its three parts; else the first."""
    first = next(iter(texts), "")
    if first == "question" and "answer_wrong" in texts:
        return texts[first]
    return _JOINS[first].join(texts.values()) if first in _JOINS else texts.get(first, "")
