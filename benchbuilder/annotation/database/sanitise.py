"""Makes texts that the database can store: JSON, hashes, and what people type."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.database.models import DecisionDetails
from benchbuilder.core import parse_json, truncate_code_points

_LONGEST_NOTE = 4000


def dump_json(data: object) -> str:
    """Compact JSON; the order of keys is kept."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


load_json = parse_json
"""Parses what `dump_json` wrote."""


def storable_text(text: str) -> str:
    """`text` without characters that databases refuse: NUL and lone surrogates."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def storable_note(text: str) -> str:
    """A storable remark: stripped, and at most 4,000 characters long."""
    return truncate_code_points(storable_text(text).strip(), _LONGEST_NOTE)


def storable_details(details: DecisionDetails) -> dict[str, Any]:
    """The details of a decision that are not empty, for the detail of its event."""
    values: dict[str, Any] = {
        "reason": storable_note(details.reason), "confidence": storable_note(details.confidence),
        "error_kinds": [storable_note(kind) for kind in details.error_kinds], "guideline_gap": details.guideline_gap,
    }  # fmt: skip
    return {name: value for name, value in values.items() if value}


def hash_secret(secret: str) -> str:
    """The hash that the database stores in place of a token or a session."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def form_field_name(subject: Subject) -> str:
    """The name of the answer about `subject` in forms and drafts."""
    return f"v.{subject.key}.{subject.wording}"


def value_as_typed(value: Value) -> str:
    """`value` as a person would type it."""
    if isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else f"{value:.6g}"


def make_draft_data(values: Mapping[Subject, Value], note: str, detail: Mapping[str, Any]) -> dict[str, str]:
    """A draft of a submission: `values`, the remark, and the adjudicator's details."""
    data = {form_field_name(subject): value_as_typed(value) for subject, value in values.items()}
    data |= {"note": note} if note else {}
    for name in ("reason", "confidence"):
        if detail.get(name):
            data[name] = str(detail[name])
    if detail.get("error_kinds"):
        data["error_kinds"] = ",".join(detail["error_kinds"])
    if detail.get("guideline_gap"):
        data["guideline_gap"] = "1"
    return data
