"""Guiding questions as form fields: parses entered texts into values and errors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

from benchbuilder.annotation.base import ShownParagraph, Subject, Task, Value
from benchbuilder.annotation.database.models import PageState
from benchbuilder.annotation.database.page_state import PAGE_KEY
from benchbuilder.annotation.database.sanitise import form_field_name
from benchbuilder.annotation.tasks import asked_about, wording_key
from benchbuilder.annotation.values import parse_value
from benchbuilder.config import AnnotationSpec, Band, GuidingQuestion
from benchbuilder.core import PageTexts
from benchbuilder.web import PostedForm

MAX_NOTE_CHARS = 4000
NOTE_FIELD = "note"
_MAX_MARK_CHARS = 40


@dataclass(frozen=True)
class QuestionField:
    """One question in a form: the `field_name` that answers it, its `text` so far, and the `error` of that, if any.

    `step` is its place among the questions of the page, from 1, as the recipe orders them.
    """

    subject: Subject
    name: str
    question: GuidingQuestion
    step: int
    text: str = ""
    error: str = ""

    @property
    def field_name(self) -> str:
        """Name and id of the form field."""
        return form_field_name(self.subject)

    @property
    def value(self) -> Value | None:
        """The parsed value of the text, ``None`` if it is empty or not allowed."""
        try:
            return parse_value(self.question, self.text)
        except ValueError:
            return None

    @property
    def choices(self) -> dict[int, str]:
        """The values of a scale with their meanings; 1 and 0 without meanings for binary questions."""
        if self.question.answer == "scale":
            return dict(sorted(self.question.options.items()))
        return {1: "", 0: ""} if self.question.answer == "binary" else {}

    @property
    def bands(self) -> list[tuple[Band, bool]]:
        """The bands of a scalar from the highest, and whether the value is in the band (the higher one of two)."""
        value, is_found, bands = self.value, False, list[tuple[Band, bool]]()
        for band in self.question.anchors():
            here = not is_found and isinstance(value, int | float) and band.low <= value <= band.high
            bands.append((band, here))
            is_found = is_found or here
        return bands


@dataclass(frozen=True)
class TaskForm:
    """The questions of a task as its page shows them.

    `before_evidence` and `after_evidence` are questions about the task before and after those about evidence.
    `paragraphs` has the questions of each paragraph. `shown_hash` hashes all subjects of the form.
    """

    before_evidence: tuple[QuestionField, ...]
    paragraphs: tuple[tuple[ShownParagraph, tuple[QuestionField, ...]], ...]
    after_evidence: tuple[QuestionField, ...]
    shown_hash: str

    def fields(self) -> tuple[QuestionField, ...]:
        """All questions in the order of their steps."""
        return (
            *self.before_evidence,
            *(entry for _, entries in self.paragraphs for entry in entries),
            *self.after_evidence,
        )

    def asks_paragraphs_yes_or_no(self) -> bool:
        """Whether a question about paragraphs is answered with yes or no."""
        return any(entry.question.answer == "binary" for _, entries in self.paragraphs for entry in entries)

    def evidence_counts(self) -> list[tuple[GuidingQuestion, int, int]]:
        """Each question about evidence with the number of answered paragraphs and of all paragraphs."""
        by_question: dict[str, list[QuestionField]] = {}
        for _, entries in self.paragraphs:
            for entry in entries:
                by_question.setdefault(entry.name, []).append(entry)
        return [(same[0].question, sum(e.value is not None for e in same), len(same)) for same in by_question.values()]


def make_task_form(
    task: Task, spec: AnnotationSpec, texts: Mapping[str, str] | None = None, errors: Mapping[str, str] | None = None
) -> TaskForm:
    """The form of `task`, filled with `texts` and `errors` by field.

    Questions are in order, with all about evidence at the position of the first of them.
    """
    texts, errors = texts or {}, errors or {}
    evidence = spec.questions_about("evidence") if task.paragraphs else {}
    place = min((question.order for question in evidence.values()), default=0)
    claim = asked_about(task, spec)
    first = {name: question for name, question in claim.items() if not evidence or question.order < place}
    steps = count(1)

    def entries(questions: Mapping[str, GuidingQuestion], key: str, text: str) -> tuple[QuestionField, ...]:
        subjects = {name: Subject(key, wording_key(question), text) for name, question in questions.items()}
        fields = {name: form_field_name(subject) for name, subject in subjects.items()}
        return tuple(
            QuestionField(
                subjects[name], name, question, next(steps), texts.get(fields[name], ""), errors.get(fields[name], "")
            )
            for name, question in questions.items()
        )

    before = entries(first, task.key, task.text)
    paragraphs = tuple((each, entries(evidence, each.key, each.text)) for each in task.paragraphs)
    after = entries({name: q for name, q in claim.items() if name not in first}, task.key, task.text)
    form = TaskForm(before, paragraphs, after, "")
    return replace(form, shown_hash=hash_subjects(entry.subject for entry in form.fields()))


def hash_subjects(subjects: Iterable[Subject]) -> str:
    """Hash of all `subjects`."""
    names = "\n".join(sorted(form_field_name(subject) for subject in subjects))
    return hashlib.blake2b(names.encode(), digest_size=12).hexdigest()


def standing_answers(
    fields: Iterable[QuestionField], labels: Mapping[str, str], texts: PageTexts
) -> list[tuple[str, str]]:
    """Label and answer of each field that has one, as a page shows what counts."""
    shown: list[tuple[str, str]] = []
    for field in fields:
        answer = field.text
        if field.question.answer == "binary" and answer:
            answer = texts("answer.yes" if answer == "1" else "answer.no")
        elif field.question.answer == "scale" and isinstance(field.value, int):
            answer = f"{answer} {field.choices.get(field.value, '')}".strip()
        if answer:
            shown.append((labels[field.field_name], answer))
    return shown


def page_state(form: PostedForm) -> PageState:
    """What the page of `form` showed."""
    return PageState(form("base"), form("draft"), form(PAGE_KEY)[:_MAX_MARK_CHARS])


def parse_answers(
    fields: Iterable[QuestionField], form: PostedForm, texts: PageTexts
) -> tuple[dict[Subject, Value], dict[str, str]]:
    """Parse the values of a form; return them with error texts by field."""
    values: dict[Subject, Value] = {}
    errors: dict[str, str] = {}
    for entry in fields:
        text = form(entry.field_name)
        try:
            value = parse_value(entry.question, text)
        except ValueError:
            errors[entry.field_name] = _error_text(entry, text, texts)
            continue
        if value is not None:
            values[entry.subject] = value
        elif entry.question.required:
            errors[entry.field_name] = texts("error.missing")
    if len(form(NOTE_FIELD).strip()) > MAX_NOTE_CHARS:
        errors[NOTE_FIELD] = texts("error.long", n=MAX_NOTE_CHARS, found=len(form(NOTE_FIELD).strip()))
    return values, errors


def _error_text(entry: QuestionField, text: str, texts: PageTexts) -> str:
    if entry.question.answer == "text":
        return texts("error.long", n=entry.question.max_chars, found=len(text.strip()))
    return texts(f"error.{entry.question.answer}", options=", ".join(str(value) for value in entry.choices))


def active_seconds(form: PostedForm) -> float | None:
    """The seconds that the page was visible, as counted by its script; ``None`` without scripts."""
    text = form("active")
    return float(text) if text.isascii() and text.isdigit() and len(text) <= 6 else None
