"""The page about what flows between steps."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from benchbuilder.core import registry
from benchbuilder.core.records.payloads import Fact, Item, Option, Support
from benchbuilder.core.records.roles import Answer, Candidate, Evidence, Passage, Question, Rating, Score, Statement
from benchbuilder.core.records.row import Origin, ProducedBy, Row, Span
from reference_pages.reading import field_texts, prose, table, type_text

ROLES: tuple[type[Row], ...] = (Fact, Statement, Question, Passage, Candidate, Evidence, Item, Answer, Score)


def records() -> str:
    """The row header, the roles, the payloads."""
    parts = [
        "# Records",
        "Steps exchange tables of rows, stored as Parquet. A table holds rows of one class. Every row has the same "
        "*row header*; its *role* adds fields. Facts and items carry a *payload*, the fields of a domain.",
        "## Row header",
        prose(Row),
        _fields(Row, ()),
        "The id is a hash of the record's name, its identity fields, its slot, and the id of the driving parent. For a "
        "row of a source, the name of the source takes the parent's place. Equal texts from two parents make two rows. "
        "A row that a filter or a deduplication keeps stays unchanged, with the same id.",
    ]
    for small in (Origin, ProducedBy, Span):
        parts += [f"### {small.__name__}", prose(small), _fields(small, ())]
    parts.append("## Roles")
    for role in ROLES:
        parts += [f"### {role.name}", prose(role)]
        parts.append(f"Identity fields: {', '.join(f'`{name}`' for name in role.identity)}.")
        parts.append(_fields(role, Row.model_fields))
    parts.append("## Payloads")
    own = {
        name: kind for name, kind in registry.kinds_of_slot("payload").items() if kind.distribution == "benchbuilder"
    }
    for name, kind in own.items():
        parts += [f"### {name}", prose(kind.load()), _fields(kind.load(), ())]
    for small in (Option, Support, Rating):
        parts += [f"### {small.__name__}", prose(small), _fields(small, ())]
    return "\n\n".join(part for part in parts if part)


def _fields(cls: type[BaseModel], skip: Any) -> str:
    texts = field_texts(cls)
    rows = [
        (f"`{name}`", "a payload" if name == "payload" else type_text(info.annotation), texts.get(name, ""))
        for name, info in cls.model_fields.items()
        if name not in skip
    ]
    if any(text for *_, text in rows):
        return table(("field", "type", "meaning"), rows)
    return table(("field", "type"), (row[:2] for row in rows))
