"""What goes into the database as text: JSON, hashes, and what people type."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.core import truncate_code_points

_LONGEST_NOTE = 4000


def dump_json(data: object) -> str:
    """JSON in one spelling; what is in an order keeps it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()


def load_json(text: str) -> Any:
    """What `dump_json` wrote."""
    return json.loads(text)


def storable_text(text: str) -> str:
    """`text` without what no database takes: NUL and halves of surrogate pairs."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def storable_note(text: str) -> str:
    """A remark: storable, without white space at its ends, and no longer than 4,000 characters."""
    return truncate_code_points(storable_text(text).strip(), _LONGEST_NOTE)


def hash_secret(secret: str) -> str:
    """What stands in the database for a token or a session."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def form_field_name(subject: Subject) -> str:
    """Name of the form field, and in a draft, of what is answered about `subject`."""
    return f"v.{subject.key}.{subject.wording}"


def value_as_typed(value: Value) -> str:
    """`value` as somebody would type it."""
    if isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else f"{value:.6g}"


def make_draft_data(values: Mapping[Subject, Value], note: str, detail: Mapping[str, Any]) -> dict[str, str]:
    """A draft with what was submitted: `values`, the remark, and what an adjudicator said besides."""
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
