"""The votes of people on released items, without anything that tells who they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from benchbuilder.annotation import Subject, Votes, judgement_requests, make_candidate_tasks
from benchbuilder.config import AnnotationSpec
from benchbuilder.core import Evidence
from benchbuilder.exporters import FinishedBuild
from benchbuilder.pipeline import Plan, Store
from benchbuilder.publishing.release.private_folder import PrivateFolder
from benchbuilder.publishing.release.records import CANARY
from benchbuilder.steps import ReviewStep

VOTES_SCHEMA = pa.schema([
    *(pa.field(name, pa.string()) for name in ("item", CANARY, "subject", "passage", "question", "role", "annotator")),
    pa.field("value", pa.float64()),
])  # fmt: skip
"""`subject` is ``claim`` or ``evidence``, `role` ``annotator`` or ``adjudicator``. `passage` is empty for a claim."""


def released_votes(
    plan: Plan, store: Store, finished: FinishedBuild, public: Iterable[str], private: PrivateFolder, canary: str
) -> Iterator[dict[str, Any]]:
    """Every vote on the items `public`, by the order of the items; answers in words are left out, for names hide there.

    Annotators are named by a hash that only the secret of the private folder can compute: the same person has the same
    name in every release, and no list of names can be tried.
    """
    node = plan.nodes[finished.items]
    step = node.producer
    annotation = step.backend.annotation_spec if isinstance(step, ReviewStep) else None
    if annotation is None or not isinstance(step, ReviewStep) or not {"each", "evidence"} <= set(node.inputs):
        return
    rows = {port: [row for name in names for row in finished.tables[name]] for port, names in node.inputs.items()}
    tasks = make_candidate_tasks(rows["each"], rows["evidence"])
    requests = judgement_requests(tasks.tasks, annotation)
    votes = step.backend.collect(requests.keys(), store.workplace)
    subjects: dict[str, list[Subject]] = {}
    for subject in requests:
        subjects.setdefault(subject.key, []).append(subject)
    evidence: dict[str, dict[str, Evidence]] = {}
    for row in rows["evidence"]:
        evidence.setdefault(row.of, {})[row.passage] = row
    table, wanted = finished.tables[finished.items], set(public)
    for item in table:
        if item.id not in wanted:
            continue
        shown = {"": tasks.task_key_of[item.candidate]}
        for support in item.payload.evidence:
            shown[support.passage] = tasks.paragraph_key_of[evidence[item.candidate][support.passage].id]
        for passage, key in shown.items():
            for subject in subjects.get(key, ()):
                request = requests[subject]
                head = {"item": item.id, CANARY: canary, "subject": request.subject_kind, "passage": passage,
                        "question": request.question}  # fmt: skip
                for cells in _votes_on(subject, request.question, votes, annotation, private):
                    yield {**head, **cells}


def _votes_on(
    subject: Subject, question: str, votes: Votes, annotation: AnnotationSpec, private: PrivateFolder
) -> Iterator[Mapping[str, Any]]:
    if annotation.questions_about()[question].answer == "text":
        return
    given = [("annotator", person, value) for person, value in votes.by_subject.get(subject, {}).items()]
    if subject in votes.decisions:
        given.append(("adjudicator", *votes.decisions[subject]))
    named = [(role, pseudonym(person, private), value) for role, person, value in given]
    for role, name, value in sorted(named, key=lambda vote: vote[:2]):
        yield {"role": role, "annotator": name, "value": float(value)}


def pseudonym(person: str, private: PrivateFolder) -> str:
    """What stands for a person in every release of a benchmark."""
    return "person-" + private.digest("person", person)[:8]
