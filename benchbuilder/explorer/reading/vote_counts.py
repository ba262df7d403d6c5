"""Counts what people voted on a candidate or an item; who voted is never shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.annotation import judgement_requests, make_candidate_tasks
from benchbuilder.core import BenchbuilderError, Candidate, Evidence, Row, Support
from benchbuilder.explorer.reading.build_folders import BuildFolder
from benchbuilder.explorer.reading.built_nodes import built_nodes
from benchbuilder.steps import ReviewStep


@dataclass(frozen=True)
class CountedVotes:
    """The votes on one question about a candidate or one of its paragraphs (`paragraph` from 1; 0: the candidate).

    `counts` has how many people gave each value, the highest value first. `decided` says if somebody decided a dispute.
    Answers in words are counted as one value without a name, for people hide in words.
    """

    question: str
    paragraph: int
    counts: tuple[tuple[str, int], ...]
    decided: bool


def vote_counts(build: BuildFolder, rows: Sequence[Row]) -> tuple[CountedVotes, ...]:
    """The votes on the first candidate of `rows` and on its paragraphs, question by question.

    Paragraphs have the order of the first row, if it is an item, and else that of `rows`. There are none if nobody
    judged the candidate, or if the recipe is not as it was.
    """
    candidate = next((row for row in rows if isinstance(row, Candidate)), None)
    if candidate is None:
        return ()
    evidence = [row for row in rows if isinstance(row, Evidence) and row.of == candidate.id]
    try:
        for node in built_nodes(build):
            step = node.producer
            if isinstance(step, ReviewStep) and (
                counted := _counted(build, step, candidate, _in_order(rows[0], evidence))
            ):
                return counted
    except BenchbuilderError:
        pass
    return ()


def _counted(
    build: BuildFolder, step: ReviewStep, candidate: Candidate, evidence: Sequence[Evidence]
) -> tuple[CountedVotes, ...]:
    annotation = step.backend.annotation_spec
    if annotation is None:
        return ()
    tasks = make_candidate_tasks([candidate], evidence)
    requests = judgement_requests(tasks.tasks, annotation)
    votes = step.backend.collect(requests.keys(), build.store.workplace)
    places = {tasks.paragraph_key_of[row.id]: place for place, row in enumerate(evidence, start=1)}
    questions = annotation.questions_about()
    found: list[CountedVotes] = []
    for subject, request in requests.items():
        in_words = questions[request.question].answer == "text"
        if given := votes.by_subject.get(subject, {}):
            counts = Counter("" if in_words else f"{float(value):g}" for value in given.values())
            label = str(questions[request.question].label) or request.question
            found.append(CountedVotes(
                label, places.get(subject.key, 0), tuple(sorted(counts.items(), reverse=True)),
                subject in votes.decisions,
            ))  # fmt: skip
    return tuple(sorted(found, key=lambda counted: counted.paragraph))


def _in_order(row: Any, evidence: list[Evidence]) -> list[Evidence]:
    """The evidence in the order in which an item shows it, without what it does not show; else as it is."""
    supports: tuple[Support, ...] = getattr(getattr(row, "payload", None), "evidence", ())
    if not supports:
        return evidence
    order = {support.passage: place for place, support in enumerate(supports)}
    return sorted((each for each in evidence if each.passage in order), key=lambda each: order[each.passage])
