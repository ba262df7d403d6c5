"""Makes annotation tasks from rows; the key of a task is the hash of what it shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from benchbuilder.annotation.base import ShownParagraph, Subject, Task
from benchbuilder.config import AnnotationSpec, GuidingQuestion
from benchbuilder.core import Candidate, Evidence


@dataclass(frozen=True, slots=True)
class JudgementRequest:
    """A requested judgement: guiding question `question` about `subject`, which belongs to the task `task_key`."""

    subject: Subject
    question: str
    subject_kind: str
    task_key: str


@dataclass(frozen=True)
class CandidateTasks:
    """Tasks in the order of their candidates, and the keys of candidate and evidence rows by row id.

    Identical candidates are one task, and identical paragraphs of one claim are shown once. Evidence without a
    candidate has no key.
    """

    tasks: tuple[Task, ...]
    task_key_of: dict[str, str]
    paragraph_key_of: dict[str, str]


def _hash(prefix: str, *parts: str, size: int = 10) -> str:
    """A key that starts with a letter, so spreadsheets do not read it as a number."""
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return prefix + hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def _fields(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    text = candidate.context + candidate.question
    return (("text", text), ("right", candidate.answer), ("wrong", candidate.answer_wrong))


def paragraph_key(task: str, text: str) -> str:
    """Hash of the key of a task and the text of a paragraph."""
    return _hash("p", task, text)


def wording_key(question: GuidingQuestion) -> str:
    """Hash of a guiding question's wording, and of the meaning of its answers unless they are 0 and 1."""
    if question.answer == "binary":
        return _hash("w", question.text, size=6)
    meanings = [f"{value}: {text}" for value, text in sorted(question.options.items())]
    meanings += [f"{band.low} {band.high}: {band.text}" for band in question.anchors()]
    return _hash("w", question.text, question.answer, *meanings, size=6)


def task_key(fields: Iterable[tuple[str, str]]) -> str:
    """Hash of the texts that a task shows, without its paragraphs."""
    return _hash("c", *(text for _, text in fields))


def make_candidate_tasks(candidates: Iterable[Candidate], evidence: Iterable[Evidence]) -> CandidateTasks:
    """Make tasks of `candidates` with their `evidence`: what the fact names, then by score, whichever the base."""
    tasks: dict[str, Task] = {}
    claim_of: dict[str, str] = {}
    for candidate in candidates:
        key = claim_of[candidate.id] = task_key(_fields(candidate))
        about = (("partition", candidate.partition), ("candidate", candidate.id))
        tasks.setdefault(key, Task(key, _fields(candidate), about=about))
    paragraph_of: dict[str, str] = {}
    placed: dict[str, list[tuple[Any, ShownParagraph]]] = {key: [] for key in tasks}
    for row in evidence:
        if row.of not in claim_of:
            continue
        claim = claim_of[row.of]
        key = paragraph_of[row.id] = paragraph_key(claim, row.text)
        place = row.rank > 0, -row.score, key  # equal scores by hash: no base stands first
        placed[claim].append((place, ShownParagraph(key, row.base, row.title, row.text)))
    shown: list[Task] = []
    for key, task in tasks.items():
        paragraphs: dict[str, ShownParagraph] = {}
        for _, paragraph in sorted(placed.pop(key), key=lambda one: one[0]):
            paragraphs.setdefault(paragraph.key, paragraph)
        shown.append(replace(task, paragraphs=tuple(paragraphs.values())))
    return CandidateTasks(tuple(shown), claim_of, paragraph_of)


def make_row_tasks(rows: Iterable[Any], fields: Iterable[str]) -> tuple[tuple[Task, ...], dict[str, str]]:
    """Make tasks that show `fields` of rows, equal ones once; also return the task key of each row by row id."""
    tasks: dict[str, Task] = {}
    key_of: dict[str, str] = {}
    names = tuple(fields)
    for row in rows:
        texts = dict(row.payload.display_fields())
        shown = tuple((name, texts.get(name, "")) for name in names)
        key = key_of[row.id] = task_key(shown)
        tasks.setdefault(key, Task(key, shown, about=(("partition", row.partition), ("row", row.id))))
    return tuple(tasks.values()), key_of


def asked_about(task: Task, spec: AnnotationSpec) -> dict[str, GuidingQuestion]:
    """The guiding questions about `task` as a whole, in order: those about a field only if it shows something there."""
    empty = {name for name, text in task.fields if not text.strip()}
    return {name: question for name, question in spec.questions_about("claim").items() if question.field not in empty}


def judgement_requests(tasks: Iterable[Task], spec: AnnotationSpec) -> dict[Subject, JudgementRequest]:
    """Every judgement that the recipe requests about `tasks`, by subject."""
    wordings = {name: wording_key(question) for name, question in spec.questions_about("claim").items()}
    on_evidence = [(name, wording_key(question)) for name, question in spec.questions_about("evidence").items()]
    requests: dict[Subject, JudgementRequest] = {}
    for task in tasks:
        for name in asked_about(task, spec):
            subject = Subject(task.key, wordings[name], task.text)
            requests[subject] = JudgementRequest(subject, name, "claim", task.key)
        for paragraph in task.paragraphs:
            for name, wording in on_evidence:
                subject = Subject(paragraph.key, wording, paragraph.text)
                requests[subject] = JudgementRequest(subject, name, "evidence", task.key)
    return requests
