"""Counts what people voted on an item; who voted is never read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.annotation import Subject, judgement_requests, make_candidate_tasks
from benchbuilder.config import load_recipe
from benchbuilder.core import BenchbuilderError, Candidate, Evidence, Support
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.row_story import inspector_of
from benchbuilder.pipeline import Checksums, last_overrides, make_plan
from benchbuilder.steps import ReviewStep


@dataclass(frozen=True)
class CountedVotes:
    """The votes on one question about an item or one of its paragraphs (`paragraph` from 1; 0: the item).

    `counts` has how many people gave each value, the highest value first. `decided` says if somebody decided a dispute.
    Answers in words are counted as one value without a name, for people hide in words.
    """

    question: str
    paragraph: int
    counts: tuple[tuple[str, int], ...]
    decided: bool


def vote_counts(build: BuildFolder, step: str, item_id: str) -> tuple[CountedVotes, ...]:
    """The votes on an item, question by question; none if nobody judged it, or the recipe is not as it was."""
    words = build.overrides or last_overrides(build.store) or ()
    if not words:
        return ()
    try:
        store = build.store
        plan = make_plan(load_recipe(words).whole, store, Checksums(store.checksums).sha256_of)
        node = plan.nodes.get(step)
        if node is None or node.key != build.manifest(step).key or not isinstance(node.producer, ReviewStep):
            return ()
        return _counted(build, node.producer, item_id, store.workplace)
    except BenchbuilderError:
        return ()


def _counted(build: BuildFolder, step: ReviewStep, item_id: str, workplace: Path) -> tuple[CountedVotes, ...]:
    annotation = step.backend.annotation_spec
    (_, item), *ancestors = inspector_of(build).trace(item_id)
    name: Any = getattr(item, "candidate", "")
    candidates = [row for _, row in ancestors if isinstance(row, Candidate) and row.id == name]
    if annotation is None or not candidates:
        return ()
    evidence = [row for _, row in ancestors if isinstance(row, Evidence) and row.of == name]
    tasks = make_candidate_tasks(candidates, evidence)
    requests = judgement_requests(tasks.tasks, annotation)
    votes = step.backend.collect(requests.keys(), workplace)
    places = {tasks.paragraph_key_of[row.id]: place for place, row in enumerate(_in_order(item, evidence), start=1)}
    questions = annotation.questions_about()
    found: list[CountedVotes] = []
    for subject, request in requests.items():
        in_words = questions[request.question].answer == "text"
        given = votes.by_subject.get(subject, {})
        if given:
            counts = Counter("" if in_words else f"{float(value):g}" for value in given.values())
            label = str(questions[request.question].label) or request.question
            found.append(CountedVotes(
                label, _place(subject, places), tuple(sorted(counts.items(), reverse=True)),
                subject in votes.decisions,
            ))  # fmt: skip
    return tuple(sorted(found, key=lambda counted: counted.paragraph))


def _in_order(item: Any, evidence: list[Evidence]) -> list[Evidence]:
    """The evidence in the order in which the item shows it."""
    supports: tuple[Support, ...] = getattr(item.payload, "evidence", ())
    order = {support.passage: place for place, support in enumerate(supports)}
    return sorted((row for row in evidence if row.passage in order), key=lambda row: order[row.passage])


def _place(subject: Subject, places: dict[str, int]) -> int:
    return places.get(subject.key, 0)
