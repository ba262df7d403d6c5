"""The header that every row has."""

from __future__ import annotations

import hashlib
import json
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


class FrozenModel(BaseModel):
    """Frozen data that rejects unknown fields."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Origin(FrozenModel):
    """The origin of a row: a source file (as the recipe names it) and its unit there, from 1."""

    file: str
    line: int


class ProducedBy(FrozenModel):
    """The rule, prompt or reader that made a row, and its version."""

    rule: str
    version: str = "1"


class Span(FrozenModel):
    """Half-open character range ``[start, end)`` of a text, in Unicode code points."""

    start: int
    end: int

    def slice_of(self, text: str) -> str:
        """The text inside the span.

        >>> Span(start=1, end=3).slice_of("abcd")
        'bc'
        """
        return text[self.start : self.end]


def content_id(name: str, identity: object, parent: str) -> str:
    """Id of a row: its record name and 80 bits of a hash of (name, identity fields, driving parent).

    >>> content_id("fact", {"a": 1}, "") == content_id("fact", {"a": 1}, "")
    True
    """
    text = _JSON([name, identity, parent])
    return f"{name}-{hashlib.blake2b(text.encode(), digest_size=10).hexdigest()}"


class Row(FrozenModel):
    """The header of rows. Roles add fields; the engine reads only the header.

    `of` is the driving parent (empty for a source row), `parents` every ancestor, nearest first. `slot` tells several
    outputs of one parent apart; `partition` is the source under which the row counts.
    """

    name: ClassVar[str] = "row"
    identity: ClassVar[tuple[str, ...]] = ()

    id: str = ""
    of: str = ""
    parents: tuple[str, ...] = ()
    slot: str = ""
    origin: Origin
    produced_by: ProducedBy
    language: str
    partition: str

    @classmethod
    def build(cls, **fields: Any) -> Self:
        """A row whose id is computed from its identity fields, its slot and its driving parent."""
        row = cls(**fields)
        dumped = row.model_dump(mode="json", include=set(cls.identity))
        identity = [dumped, row.slot, "" if row.of else row.partition]
        return row.model_copy(update={"id": content_id(cls.name, identity, row.of)})

    @classmethod
    def child(cls, parent: Row, *others: Row, produced_by: ProducedBy, slot: str = "", **fields: Any) -> Self:
        """A row made from `parent` (which drives it) and `others`; it keeps origin, language and partition."""
        lineage = dict.fromkeys(
            [*(row.id for row in (parent, *others)), *parent.parents, *(i for row in others for i in row.parents)]
        )
        envelope: dict[str, Any] = {
            "of": parent.id,
            "parents": tuple(lineage),
            "slot": slot,
            "origin": parent.origin,
            "produced_by": produced_by,
            "language": parent.language,
            "partition": parent.partition,
        }
        return cls.build(**{**envelope, **fields})


TRANSLATED = "translate/"
"""How the rules of rows begin that are translations of the rows that drove them."""


def drawn_name(row: Row) -> str:
    """The id by which the seed draws for `row`: of a translation that of its original, so that languages draw alike."""
    return str(row.of) if row.of and row.produced_by.rule.startswith(TRANSLATED) else row.id


def payload_kind(cls: type[Row]) -> str:
    """The payload kind of a row class, empty if it has none.

    >>> from benchbuilder.core.records.payloads import Fact, Triple
    >>> payload_kind(Fact[Triple])
    'triple'
    """
    field = cls.model_fields.get("payload")
    return str(getattr(field.annotation, "kind", "")) if field is not None else ""
