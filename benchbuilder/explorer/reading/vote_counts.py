"""How people voted on a candidate and its paragraphs: numbers of votes for each answer, never who gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from benchbuilder.annotation import AnnotationBackend, judgement_requests, make_candidate_tasks
from benchbuilder.config import load_recipe
from benchbuilder.core import BenchbuilderError, Candidate, Evidence, Row, create_from_spec
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.pipeline import last_overrides

_APP = "app"
"""The backend whose votes are in a database that experts write to: its own pages show them."""


@dataclass(frozen=True)
class VoteCount:
    """The votes on one guiding question about a candidate, or about a paragraph of it, by value."""

    question: str
    paragraph: str
    counts: Mapping[str, int]
    decided: str = ""


def vote_counts(build: BuildFolder, rows: Iterable[Row]) -> list[VoteCount]:
    """The votes on the candidate among `rows` and on its paragraphs; none without votes, or where they are unknown."""
    known = list(rows)
    candidates = [row for row in known if isinstance(row, Candidate)][:1]
    words = build.overrides or tuple(last_overrides(build.store) or ())
    if not candidates or not words:
        return []
    try:
        spec = _annotation_of(words, build.built_at)
        if spec is None or spec.kind == _APP:
            return []
        backend: AnnotationBackend = create_from_spec("annotation", spec)
        if backend.annotation_spec is None:
            return []
        tasks = make_candidate_tasks(candidates, [row for row in known if isinstance(row, Evidence)])
        requests = judgement_requests(tasks.tasks, backend.annotation_spec)
        votes = backend.collect(requests.keys(), build.store.workplace)
    except BenchbuilderError:
        return []
    questions = backend.annotation_spec.questions_about()
    return [
        VoteCount(
            questions[request.question].label or request.question,
            subject.text if request.subject_kind == "evidence" else "",
            dict(Counter(str(value) for value in votes.by_subject[subject].values()).most_common()),
            str(votes.decisions[subject][1]) if subject in votes.decisions else "",
        )
        for subject, request in requests.items() if subject in votes.by_subject
    ]  # fmt: skip


@lru_cache(maxsize=8)
def _annotation_of(words: tuple[str, ...], _built_at: Any) -> Any:
    """The settings of the annotation in a recipe; ``None`` if it cannot be loaded."""
    try:
        return load_recipe(words).recipe.annotation
    except BenchbuilderError:
        return None
