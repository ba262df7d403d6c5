"""Guiding questions as form fields: what was entered, what of it is a value, and what is wrong with the rest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from benchbuilder.annotation.app.i18n import Texts
from benchbuilder.annotation.app.sessions import Form
from benchbuilder.annotation.base import ShownParagraph, Subject, Task, Value
from benchbuilder.annotation.database.sanitise import as_typed, field_name
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.annotation.values import parse_value
from benchbuilder.config.spec.annotation import Band, GuidingQuestion, JudgingSpec

LONGEST_NOTE = 4000
NOTE = "note"


@dataclass(frozen=True)
class Entry:
    """One question in a form: the `field` that answers it, its `text` so far, and the `error` of that, if any.

    `step` is its place among the questions of the page, from 1, as the recipe orders them.
    """

    subject: Subject
    name: str
    question: GuidingQuestion
    step: int
    text: str = ""
    error: str = ""

    @property
    def field(self) -> str:
        """Name and id of the form field."""
        return field_name(self.subject)

    @property
    def value(self) -> Value | None:
        """What the text so far means, ``None`` if it means nothing."""
        try:
            return parse_value(self.question, self.text)
        except ValueError:
            return None

    @property
    def choices(self) -> dict[int, str]:
        """The values of a scale with what they mean; for a binary question 1 and 0, without words."""
        if self.question.answer == "scale":
            return dict(sorted(self.question.options.items()))
        return {1: "", 0: ""} if self.question.answer == "binary" else {}

    @property
    def bands(self) -> list[tuple[Band, bool]]:
        """The bands of a scalar from the highest, and whether the value so far lies there (of two, in the higher)."""
        value, found, bands = self.value, False, list[tuple[Band, bool]]()
        for band in self.question.anchors():
            here = not found and isinstance(value, int | float) and band.low <= value <= band.high
            bands.append((band, here))
            found = found or here
        return bands


@dataclass(frozen=True)
class Sheet:
    """The questions of a task as its page shows them.

    `before` and `after` are those about the task that stand before and after those about evidence; `beside` holds for
    each paragraph its own. `shown` stands for everything that is asked: if it changes, so did what is shown.
    """

    before: tuple[Entry, ...]
    beside: tuple[tuple[ShownParagraph, tuple[Entry, ...]], ...]
    after: tuple[Entry, ...]
    shown: str

    def entries(self) -> tuple[Entry, ...]:
        """All questions in the order of their steps."""
        return (*self.before, *(entry for _, entries in self.beside for entry in entries), *self.after)

    def about_evidence(self) -> list[tuple[GuidingQuestion, int, int]]:
        """Each question about evidence, for how many paragraphs it is answered, and of how many."""
        found: dict[str, list[Entry]] = {}
        for _, entries in self.beside:
            for entry in entries:
                found.setdefault(entry.name, []).append(entry)
        return [(same[0].question, sum(e.value is not None for e in same), len(same)) for same in found.values()]

    def filled(self, texts: Mapping[str, str], errors: Mapping[str, str] | None = None) -> Sheet:
        """The same questions with the `texts` and `errors` by field."""
        wrong = errors or {}

        def fill(entries: Iterable[Entry]) -> tuple[Entry, ...]:
            return tuple(replace(e, text=texts.get(e.field, ""), error=wrong.get(e.field, "")) for e in entries)

        beside = tuple((paragraph, fill(entries)) for paragraph, entries in self.beside)
        return replace(self, before=fill(self.before), beside=beside, after=fill(self.after))


def sheet_of(task: Task, spec: JudgingSpec) -> Sheet:
    """The questions that `spec` asks about `task`, in their order: all about evidence where its first one is."""
    evidence = spec.asked("evidence") if task.paragraphs else {}
    place = min((question.order for question in evidence.values()), default=0)
    claim = spec.asked("claim")
    first = {name: question for name, question in claim.items() if not evidence or question.order < place}
    step = 0

    def entries(questions: Mapping[str, GuidingQuestion], key: str, text: str) -> tuple[Entry, ...]:
        nonlocal step
        made: list[Entry] = []
        for name, question in questions.items():
            step += 1
            made.append(Entry(Subject(key, wording_key(question), text), name, question, step))
        return tuple(made)

    before = entries(first, task.key, task.text)
    beside = tuple((each, entries(evidence, each.key, each.text)) for each in task.paragraphs)
    after = entries({name: q for name, q in claim.items() if name not in first}, task.key, task.text)
    sheet = Sheet(before, beside, after, "")
    return replace(sheet, shown=shown_hash(entry.subject for entry in sheet.entries()))


def shown_hash(subjects: Iterable[Subject]) -> str:
    """What stands for all `subjects` together."""
    names = "\n".join(sorted(field_name(subject) for subject in subjects))
    return hashlib.blake2b(names.encode(), digest_size=12).hexdigest()


def texts_of(answers: Mapping[Subject, Value], note: str) -> dict[str, str]:
    """The fields of a form that would submit `answers` and `note`."""
    return {field_name(subject): as_typed(value) for subject, value in answers.items()} | {NOTE: note}


def base_of(texts: Mapping[str, str]) -> str:
    """What stands for all that was submitted, as the `texts` of a form: another one, if any of it is another."""
    lines = "\n".join(f"{name} {text!r}" for name, text in sorted(texts.items()) if text)
    return hashlib.blake2b(lines.encode(), digest_size=8).hexdigest()


def checked(entries: Iterable[Entry], form: Form, t: Texts) -> tuple[dict[Subject, Value], dict[str, str]]:
    """The values that a form holds, and by field what is wrong with the others, in words."""
    values: dict[Subject, Value] = {}
    errors: dict[str, str] = {}
    for entry in entries:
        text = form(entry.field)
        try:
            value = parse_value(entry.question, text)
        except ValueError:
            errors[entry.field] = _complaint(entry, text, t)
            continue
        if value is not None:
            values[entry.subject] = value
        elif entry.question.required:
            errors[entry.field] = t("error.missing")
    if len(form(NOTE).strip()) > LONGEST_NOTE:
        errors[NOTE] = t("error.long", n=LONGEST_NOTE, found=len(form(NOTE).strip()))
    return values, errors


def _complaint(entry: Entry, text: str, t: Texts) -> str:
    if entry.question.answer == "text":
        return t("error.long", n=entry.question.max_chars, found=len(text.strip()))
    return t(f"error.{entry.question.answer}", options=", ".join(str(value) for value in entry.choices))


def active_seconds(form: Form) -> float | None:
    """The seconds that the page was in view, as a script counted them; ``None`` if none did."""
    text = form("active")
    return float(text) if text.isascii() and text.isdigit() and len(text) <= 6 else None
