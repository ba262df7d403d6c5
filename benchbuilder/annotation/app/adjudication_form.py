"""A dispute as a form: what the judges answered, what an adjudicator decides, and whether it takes a reason."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchbuilder.annotation.aggregate import overrides
from benchbuilder.annotation.app.forms import LONGEST_NOTE, NOTE, Entry, active_seconds, checked
from benchbuilder.annotation.app.i18n import Texts
from benchbuilder.annotation.app.sessions import Form
from benchbuilder.annotation.base import ShownParagraph, Value
from benchbuilder.annotation.database.models import Dispute, Submission
from benchbuilder.annotation.database.sanitise import as_typed, field_name
from benchbuilder.config.spec.annotation import JudgingSpec

ERROR_KINDS = ("ambiguous_text", "guideline_gap", "annotator_error", "edge_case", "other")
CONFIDENCE = ("high", "medium", "low")
REASON = NOTE
"""The field with the reason is called like that of an annotator's remark, which the script of the page knows."""


@dataclass(frozen=True)
class Point:
    """One question in dispute: its `entry` in the form, and what each judge answered."""

    entry: Entry
    peers: tuple[Value | None, ...]


@dataclass(frozen=True)
class Matters:
    """A dispute as its page shows it.

    `claim` are the points about the task, `beside` the paragraphs with points of their own, `rest` the other ones.
    `shown` stands for all that is in dispute and what was answered: if it changes, so did the dispute.
    """

    claim: tuple[Point, ...]
    beside: tuple[tuple[ShownParagraph, tuple[Point, ...]], ...]
    rest: tuple[ShownParagraph, ...]
    shown: str

    def points(self) -> tuple[Point, ...]:
        """All of them in the order of the page."""
        return (*self.claim, *(point for _, points in self.beside for point in points))


def matters_of(
    dispute: Dispute, spec: JudgingSpec, texts: Mapping[str, str], errors: Mapping[str, str] | None = None
) -> Matters:
    """The form of `dispute`, filled with `texts` by field; `errors` says what is wrong, by field."""
    wrong, asked = errors or {}, spec.asked()
    by_key: dict[str, list[Point]] = {}
    for subject, name in dispute.subjects:
        field = field_name(subject)
        entry = Entry(subject, name, asked[name], 0, texts.get(field, ""), wrong.get(field, ""))
        by_key.setdefault(subject.key, []).append(Point(entry, dispute.peers.get(subject, ())))
    paragraphs = dispute.task.paragraphs
    found = Matters(
        claim=tuple(by_key.get(dispute.task.key, ())),
        beside=tuple((each, tuple(by_key[each.key])) for each in paragraphs if each.key in by_key),
        rest=tuple(each for each in paragraphs if each.key not in by_key),
        shown=_shown(dispute),
    )
    return _numbered(found)


def _numbered(found: Matters) -> Matters:
    """With the steps of the entries as they follow each other on the page."""
    steps = {point.entry.field: step for step, point in enumerate(found.points(), start=1)}

    def number(points: Sequence[Point]) -> tuple[Point, ...]:
        return tuple(replace(p, entry=replace(p.entry, step=steps[p.entry.field])) for p in points)

    beside = tuple((paragraph, number(points)) for paragraph, points in found.beside)
    return replace(found, claim=number(found.claim), beside=beside)


def _shown(dispute: Dispute) -> str:
    lines = sorted(
        f"{field_name(subject)} {sorted(map(repr, dispute.peers.get(subject, ())))}" for subject, _ in dispute.subjects
    )
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=12).hexdigest()


def submission_of(found: Matters, form: Form, t: Texts) -> tuple[Submission, dict[str, str]]:
    """What an adjudicator hands in, and by field what is wrong with it. Everything in dispute must be decided."""
    entries = [point.entry for point in found.points()]
    values, errors = checked(entries, form, t)
    for entry in entries:
        if entry.subject not in values and entry.field not in errors:
            errors[entry.field] = t("error.missing")
    reason = form(REASON).strip()
    against = any(
        overrides(point.entry.question, values[point.entry.subject], point.peers)
        for point in found.points()
        if point.entry.subject in values
    )
    if len(reason) > LONGEST_NOTE:
        errors[REASON] = t("error.long", n=LONGEST_NOTE, found=len(reason))
    elif against and not reason:
        errors[REASON] = t("adjudicate.reasonless")
    submission = Submission(
        values,
        active_seconds=active_seconds(form),
        reason=reason,
        error_kinds=tuple(kind for kind in ERROR_KINDS if kind in form.all("error_kinds")),
        guideline_gap=form("guideline_gap") == "1",
        confidence=form("confidence") if form("confidence") in CONFIDENCE else "",
    )
    return submission, errors


def draft_of(form: Form) -> dict[str, str]:
    """What is kept of a form that was not submitted, under the names that the database uses for what was taken back."""
    data = form.starting("v.") | {REASON: form(REASON), "confidence": form("confidence")}
    data["error_kinds"] = ",".join(kind for kind in ERROR_KINDS if kind in form.all("error_kinds"))
    data["guideline_gap"] = "1" if form("guideline_gap") == "1" else ""
    return data


def texts_of(dispute: Dispute) -> dict[str, str]:
    """The texts of the form: the draft, else what was decided before.

    In the draft of a decision that was taken back, the reason stands under its own name.
    """
    if dispute.draft is not None:
        data = dict(dispute.draft.data)
        return data | {REASON: data.get(REASON) or data.get("reason", "")}
    return decided_texts(dispute)


def decided_texts(dispute: Dispute) -> dict[str, str]:
    """The texts of the form that would submit what was decided before."""
    decided = {field_name(subject): as_typed(value) for subject, value in dispute.decided.items()}
    return decided | {REASON: dispute.reason}
