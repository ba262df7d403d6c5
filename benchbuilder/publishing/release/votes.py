"""The votes of people on released items, without anything that tells who they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from itertools import chain
from operator import itemgetter
from typing import Any

import pyarrow as pa

from benchbuilder.annotation import Subject, Votes, judgement_requests, make_candidate_tasks
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
    plan: Plan, store: Store, finished: FinishedBuild, public: Collection[str], private: PrivateFolder, canary: str
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
    tables = {port: [finished.tables[name] for name in names] for port, names in node.inputs.items()}
    tasks = make_candidate_tasks(chain.from_iterable(tables["each"]), chain.from_iterable(tables["evidence"]))
    requests = judgement_requests(tasks.tasks, annotation)
    votes = step.backend.collect(requests.keys(), store.workplace)
    subjects: dict[str, list[Subject]] = {}
    for subject in requests:
        subjects.setdefault(subject.key, []).append(subject)
    evidence = {
        place[:2]: place[2]
        for table in tables["evidence"]
        for place in zip(*(table.column(name) for name in ("of", "passage", "id")), strict=True)
    }
    name_of = cache(partial(pseudonym, private))
    in_words = {name for name, asked in annotation.questions_about().items() if asked.answer == "text"}
    for item in finished.tables[finished.items]:
        if item.id not in public:
            continue
        shown = {"": tasks.task_key_of[item.candidate]}
        for support in item.payload.evidence:
            shown[support.passage] = tasks.paragraph_key_of[evidence[item.candidate, support.passage]]
        for passage, key in shown.items():
            for subject in subjects.get(key, ()):
                request = requests[subject]
                head = {"item": item.id, CANARY: canary, "subject": request.subject_kind, "passage": passage,
                        "question": request.question}  # fmt: skip
                if request.question not in in_words:
                    yield from ({**head, **cells} for cells in _votes_on(subject, votes, name_of))


def _votes_on(subject: Subject, votes: Votes, name_of: Callable[[str], str]) -> list[dict[str, Any]]:
    given = [("annotator", person, value) for person, value in votes.by_subject.get(subject, {}).items()]
    if subject in votes.decisions:
        given.append(("adjudicator", *votes.decisions[subject]))
    named = sorted(((role, name_of(person), value) for role, person, value in given), key=itemgetter(0, 1))
    return [{"role": role, "annotator": name, "value": float(value)} for role, name, value in named]


def pseudonym(private: PrivateFolder, person: str) -> str:
    """What stands for a person in every release of a benchmark."""
    return "person-" + private.digest("person", person)[:8]
