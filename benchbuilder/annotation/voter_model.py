"""Fits Dawid and Skene's model to the votes on each guiding question; it is shown, and decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbuilder.annotation.base import Subject
from benchbuilder.annotation.collect import CollectedVotes
from benchbuilder.config import AnnotationSpec, GuidingQuestion
from benchbuilder.core import fit_voter_model, is_voter_model_shown

_DIGITS = 4
_TWICE = 2.0
"""An answer must be so much more probable than the decision: less is a matter of luck."""


def summarise_voter_model(spec: AnnotationSpec, collected: CollectedVotes) -> dict[str, Any]:
    """For each question with named answers: what the model says of its voters, and where it differs from a decision.

    Each has ``voters`` and ``shared`` (subjects that two or more judged), and ``shown``. A question that is shown has
    ``reliability`` (person to how often they are right, by the model) and ``differs``: subjects of which another answer
    is at least twice as probable as the decision. Each has ``shown`` (key), ``text``, ``decision``, ``adjudicated`` (or
    not), ``likely`` and ``probability``; those that no adjudicator has seen come first.
    """
    return {
        name: _of_question(name, question, collected)
        for name, question in spec.questions_about().items()
        if question.answer in ("binary", "scale")
    }


def _of_question(name: str, question: GuidingQuestion, collected: CollectedVotes) -> dict[str, Any]:
    votes: dict[Subject, Mapping[str, Any]] = {
        subject: given
        for subject, request in collected.requests.items()
        if request.question == name and (given := collected.votes.by_subject.get(subject))
    }
    voters = {voter for given in votes.values() for voter in given}
    shared = sum(len(given) > 1 for given in votes.values())
    counts = {"voters": len(voters), "shared": shared, "shown": is_voter_model_shown(len(voters), shared)}
    if not counts["shown"]:
        return counts
    answers = sorted(question.options or {0: "", 1: ""})
    place = {float(answer): number for number, answer in enumerate(answers)}
    units = [{voter: place[float(value)] for voter, value in given.items()} for given in votes.values()]
    model = fit_voter_model(units, len(answers))
    differs: list[dict[str, Any]] = []
    for subject, probabilities in zip(votes, model.probabilities, strict=True):
        decision, likely = collected.labels.values.get(subject), int(probabilities.argmax())
        if decision in place and probabilities[likely] >= _TWICE * probabilities[place[decision]]:
            probability = round(float(probabilities[likely]), _DIGITS)
            differs.append({"shown": subject.key, "text": subject.text, "decision": decision,
                            "adjudicated": subject in collected.labels.adjudicated_subjects,
                            "likely": answers[likely], "probability": probability})  # fmt: skip
    reliability = {voter: round(right, _DIGITS) for voter, right in model.reliability().items()}
    differs.sort(key=lambda one: (one["adjudicated"], -one["probability"], one["shown"]))
    return {**counts, "reliability": reliability, "differs": differs}
