"""Drops labelled claims that contradict each other, or that nobody can judge alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Dropped,
    Fact,
    GatherStream,
    LabelledClaim,
    LengthUnit,
    NotApplicable,
    Regex,
    SpecIssue,
    Table,
    combined_column,
    content_keys,
    decided_pieces,
    equality_key,
    first_equal,
    text_length,
    truncate_text,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.patterns import first_match
from benchbuilder.steps.language.questions import CONTEXT_REMARK

_READ = ["premise", "text", "asked"]
_ASKS = ("?", "？", "؟")
_LABELS = ("unknown", "true", "false")
_FEW, _SHARE = 3, 0.02
"""So many claims with both labels, and this share of all, are no slips."""


class ScreenClaimsSpec(StepSpec):
    """What is no claim of its own."""

    unit: LengthUnit = "words"
    """The unit of `shortest`."""
    shortest: Annotated[int, Field(ge=1)] = 3
    """A claim of fewer units is a fragment."""
    not_alone: tuple[Regex, ...] = ()
    """Patterns of claims that leave open who, where or when is meant, or tell somebody to do something; claims with a
    premise are not searched."""
    context_dependent: tuple[Regex, ...] = ()
    """Patterns of claims about a text that is not shown; claims with a premise are not searched."""


class ScreenClaims(Gather):
    """Keeps claims that are true or false, and whose text says by itself what is claimed.

    Two records with one text and two labels contradict each other, and both are dropped: nobody knows which is right.
    Of records with one text and one label, the first is kept.
    """

    kind: ClassVar[str] = "screen_claims"
    version = 2
    spec_class: ClassVar[type[StepSpec]] = ScreenClaimsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[LabelledClaim])}
    reasons: ClassVar[Mapping[str, str]] = {
        "contradicts": "Another record says the opposite of the same text; both are dropped.",
        "repeated": "An earlier record has the same text and label.",
        "asks": "The text is a question, to which neither label is an answer (the source may read it `as: yes_no`).",
        "fragment": "The text is too short to be a sentence of its own.",
        "not_alone": "The claim leaves open who, where or when is meant, tells somebody to do something or is a title.",
        "context_dependent": "The claim is about a text that is not shown.",
        "unknown_label": "The claim is neither labelled as true nor as false.",
    }

    spec: ScreenClaimsSpec

    def remarks(self) -> Iterator[SpecIssue]:
        """Which words the language lacks."""
        if not self.spec.context_dependent:
            yield CONTEXT_REMARK
        if not self.spec.not_alone:
            yield SpecIssue("not_alone", "no words find claims that do not stand alone (forms.not_alone)", "", ())

    def remarks_on(self, rows: Sequence[Any]) -> Iterator[SpecIssue]:
        """That many claims have both labels: the labels may be about texts that a column holds."""
        labels: dict[str, set[str]] = {}
        for row in rows:
            if isinstance(claim := row.payload, LabelledClaim) and claim.label in _LABELS[1:] and not claim.premise:
                labels.setdefault(equality_key(claim.text), set()).add(claim.label)
        both = [text for text, found in labels.items() if len(found) > 1]
        if len(both) >= _FEW and len(both) >= _SHARE * len(labels):
            found = f"{len(both)} of {len(labels)} claims are labelled as true and as false, and dropped: "
            found += "are the labels about texts?"
            hints = ("in that case set `about: text` and `columns.premise` of the source",)
            yield SpecIssue("from", found, truncate_text(both[0], 80), hints)

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Every claim, kept or dropped, in the order of the input."""
        table = tables["each"]
        return GatherStream(decided_pieces(table, dict(self._decisions(table, _AlikeClaims(table)))))

    def _decisions(self, table: Table[Any], alike: _AlikeClaims) -> Iterator[tuple[int, Dropped | NotApplicable]]:
        """The claims that are not kept, by position."""
        for start, batch in _claims(table):
            for place, claim in enumerate(batch.select(_READ).to_pylist(), start):
                if (found := alike.outcome(place) or self._fault(**claim)) is not None:
                    yield place, found

    def _fault(self, text: str, premise: str, asked: bool) -> Dropped | None:
        if not asked and text.rstrip().endswith(_ASKS):
            return Dropped("asks", text)
        if text_length(text, self.spec.unit) < self.spec.shortest:
            return Dropped("fragment", text)
        if premise:
            return None
        screens = {"context_dependent": self.spec.context_dependent, "not_alone": self.spec.not_alone}
        found = ((reason, first_match(patterns, text)) for reason, patterns in screens.items())
        return next((Dropped(reason, pattern) for reason, pattern in found if pattern is not None), None)


class _AlikeClaims:
    """Which claims speak of the same thing, by a hash of their texts."""

    def __init__(self, table: Table[Any]) -> None:
        keys, labels, ids = list[Any]([np.zeros((0, 2), np.uint64)]), [np.zeros(0, np.int64)], list[Any]()
        for _, batch in _claims(table):
            keys.append(content_keys(_key(claim["premise"], claim["text"]) for claim in batch.to_pylist()))
            code: Any = pc.index_in(combined_column(batch, "label"), value_set=pa.array(_LABELS))
            labels.append(code.to_numpy().astype(np.int64))
            ids.append(combined_column(batch, "id"))
        self._ids = pa.chunked_array(ids, pa.string())
        self._labels = np.concatenate(labels)
        known = np.flatnonzero(self._labels > 0)
        groups = first_equal(np.concatenate(keys)[known])
        none = len(self._labels)
        self._first = np.full((len(_LABELS), none), none, np.int64)
        for label in (1, 2):
            own = known[groups[self._labels[known] == label]]
            np.minimum.at(self._first[label], own, known[self._labels[known] == label])
        self._group = np.full(none, none, np.int64)
        self._group[known] = known[groups]

    def outcome(self, place: int) -> Dropped | NotApplicable | None:
        """What becomes of a claim beside those that are alike."""
        label = int(self._labels[place])
        if not label:
            return NotApplicable("unknown_label")
        group = self._group[place]
        if (other := int(self._first[3 - label, group])) < len(self._labels):
            return Dropped("contradicts", f"{self._ids[other].as_py()} is labelled as {_LABELS[3 - label]}")
        if group != place:
            return Dropped("repeated", f"kept: {self._ids[int(group)].as_py()}")
        return None


def _claims(table: Table[Any]) -> Iterator[tuple[int, pa.Table]]:
    """What is read of the claims, piece by piece, with the position of the first."""
    start = 0
    for batch in table.batches(["id", "payload"]):
        payload = combined_column(batch, "payload")
        columns = {name: pc.struct_field(payload, name) for name in ("premise", "text", "label", "asked")}
        yield start, pa.table({"id": combined_column(batch, "id"), **columns})
        start += batch.num_rows


def _key(premise: str, text: str) -> tuple[str, str]:
    """What two records have in common that speak of the same thing."""
    return equality_key(premise), equality_key(text)
