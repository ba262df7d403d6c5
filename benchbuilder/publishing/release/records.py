"""What a release says of each item: all of it, or of private items only what must be known to answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from benchbuilder.publishing.release.items import SharedItem
from benchbuilder.publishing.release.private_folder import PrivateFolder

CANARY = "canary"
LABEL_HASH = "label_hash"
_LEFT_OUT = frozenset(("parents", "candidate", "produced-by"))
"""Columns that name rows of the build, which nobody else has."""
_ASKED = ("type", "language", "context", "question", "full-question")
"""All that is published of a private item, with its secret name."""


def released_columns(schema: pa.Schema) -> list[str]:
    """The columns of a build's items that are released, as the build's own files spell them."""
    return [name for name in schema.names if name not in _LEFT_OUT]


def public_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of public items: names with underscores, the spelling with hyphens beside it, canary and licence."""
    names = released_columns(schema)
    fields = [pa.field("id", pa.string()), pa.field(CANARY, pa.string())]
    fields += [schema.field(name).with_name(plain_name(name)) for name in names if name != "id"]
    fields += [schema.field(name) for name in names if "-" in name]
    return pa.schema([*fields, pa.field("licence", pa.string())])


def plain_name(name: str) -> str:
    """The name of a column without hyphens: templates read those as a minus.

    >>> plain_name("full-question")
    'full_question'
    """
    return name.replace("-", "_")


def public_record(item: SharedItem, schema: pa.Schema, canary: str, licence: str) -> dict[str, Any]:
    """An item with everything that is known of it, in the columns of `public_schema`."""
    values = {**item.columns, CANARY: canary, "licence": licence}
    return {name: values[name] if name in values else values[plain_name(name)] for name in schema.names}


def private_schema(with_task: bool) -> pa.Schema:
    """The columns of private items."""
    names = ["id", CANARY, *(["task"] if with_task else []), *map(plain_name, _ASKED), "full-question", LABEL_HASH]
    return pa.schema([pa.field(name, pa.string()) for name in names])


def private_record(
    item: SharedItem, name: str, canary: str, version: str, schema: pa.Schema, private: PrivateFolder
) -> dict[str, str]:
    """An item without its label.

    `label_hash` binds the maker to the label. It is different in every version, so it tells nothing of corrections, and
    its key never leaves, so no label can be tried.
    """
    asked: Mapping[str, str] = {plain_name(key): str(item.columns.get(plain_name(key)) or "") for key in _ASKED}
    label = private.digest("label", version, name, item.expected, item.answer, item.answer_wrong)
    values = {**asked, "full-question": asked["full_question"], "id": name, CANARY: canary, "task": item.task,
              LABEL_HASH: label}  # fmt: skip
    return {column: values[column] for column in schema.names}


def feature(field: pa.Field[Any]) -> dict[str, Any]:
    """A column as the front matter of a card declares it, for ``datasets``."""
    return {"name": field.name, **_feature_type(field.type)}


def _feature_type(kind: Any) -> dict[str, Any]:
    if pa.types.is_list(kind):
        inner = _feature_type(kind.value_type)
        return {"list": inner.get("struct", inner.get("dtype"))}
    if pa.types.is_struct(kind):
        return {"struct": [feature(kind.field(place)) for place in range(kind.num_fields)]}
    return {"dtype": {"double": "float64", "float": "float32"}.get(str(kind), str(kind))}
