"""What a page was made from: hashes by which a submission finds out whether something else was saved meanwhile."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from benchbuilder.annotation.base import Subject, Value
from benchbuilder.annotation.database.models import PageState
from benchbuilder.annotation.database.sanitise import form_field_name, value_as_typed

PAGE_KEY = "page"
"""The name under which a draft keeps the mark of the page that saved it."""


def knows_draft(seen: PageState, stored: Mapping[str, str] | None) -> bool:
    """Whether the page `seen` showed the draft `stored` or saved it itself; there may be none."""
    if not stored:
        return True
    return seen.draft == hash_draft(stored) or (seen.page != "" and seen.page == stored.get(PAGE_KEY))


def hash_texts(texts: Mapping[str, str]) -> str:
    """Hash of the non-empty `texts` of a form; empty if there are none."""
    lines = "\n".join(f"{name} {text!r}" for name, text in sorted(texts.items()) if text)
    return hashlib.blake2b(lines.encode(), digest_size=8).hexdigest() if lines else ""


def hash_draft(data: Mapping[str, str]) -> str:
    """Hash of the texts of a draft, without the mark of its page."""
    return hash_texts({name: text for name, text in data.items() if name != PAGE_KEY})


def answer_texts(answers: Mapping[Subject, Value], note: str) -> dict[str, str]:
    """The fields of a form with `answers` and `note`."""
    return {form_field_name(subject): value_as_typed(value) for subject, value in answers.items()} | {"note": note}


def hash_answers(answers: Mapping[Subject, Value], note: str) -> str:
    """Hash of the answers that count, and of the remark; empty if there are none."""
    return hash_texts(answer_texts(answers, note))
