"""Asking people about tasks, waiting while something is missing, and telling what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.annotation.aggregate import Verdicts, decide
from benchbuilder.annotation.base import Ballot, Instructions, Subject, Task, Votes
from benchbuilder.annotation.tasks import Asked, everything_asked
from benchbuilder.config.spec.annotation import GuidingQuestion, JudgingSpec
from benchbuilder.core.context import Context
from benchbuilder.core.display import counted
from benchbuilder.core.errors import WaitingForPeople


@dataclass(frozen=True)
class Poll:
    """What people were asked, what came back, and what it decides."""

    asked: dict[Subject, Asked]
    ballot: Ballot
    verdicts: Verdicts


def poll(votes: Votes, judging: JudgingSpec, tasks: Sequence[Task], context: Context, sorts: Mapping[str, str]) -> Poll:
    """What people decided about `tasks`; while something is missing, ask for it and wait.

    `sorts` names what is judged, by subject of guiding questions: it tells of what is missing.
    """
    asked = everything_asked(tasks, judging)
    ballot = votes.collect(asked.keys(), context.workplace)
    verdicts = decide(asked, ballot, judging)
    wanted = verdicts.wanted(asked)
    instructions = votes.ask(tasks, ballot, wanted, context)
    if wanted:
        raise _waiting(ballot, instructions, sorts)
    return Poll(asked, ballot, verdicts)


def meaning(name: str, question: GuidingQuestion, value: float) -> str:
    """What it means to fail the gate of a guiding question."""
    needed = f"{value:g}" if question.answer == "binary" else f"{value:g} or more"
    return f"People did not answer {needed} to the guiding question {name!r}: {question.text}"


def how_decided(subject: Subject, verdicts: Verdicts, judging: JudgingSpec) -> str:
    """How a decision came about, in a word or two."""
    if subject in verdicts.adjudicated:
        return "adjudicated"
    return "mean of all" if judging.rule == "mean" else "unanimous"


def questions_told(judging: JudgingSpec, made: Poll) -> dict[str, Any]:
    """What was asked, and how often it was decided so that it passes (binary: so that it is 1)."""
    total, yes = Counter[str](), Counter[str]()
    questions = judging.asked()
    required = judging.required("claim") | judging.required("evidence")
    for subject, value in made.verdicts.decided.items():
        name = made.asked[subject].question
        total[name] += 1
        least = 1.0 if questions[name].answer == "binary" else required.get(name, questions[name].threshold)
        yes[name] += value >= least
    return {
        name: {"label": question.label, "text": question.text, "subject": question.subject,
               "required": required.get(name), "yes": yes[name], "judged": total[name]}
        for name, question in questions.items()
    }  # fmt: skip


def votes_told(made: Poll) -> dict[str, Any]:
    """Who voted how often, how it was decided, and what did not count."""
    verdicts, ballot = made.verdicts, made.ballot
    cast = Counter(person for votes in ballot.votes.values() for person in votes)
    deciding = Counter(ballot.decisions[subject][0] for subject in verdicts.adjudicated)
    return {
        "annotators": dict(sorted(cast.items())) | dict(sorted(deciding.items())),
        "unanimous": len(verdicts.decided) - len(verdicts.adjudicated),
        "adjudicated": len(verdicts.adjudicated),
        "unneeded": verdicts.unneeded,
        "stale": sum(ballot.stale.values()),
        "stale_by_file": dict(sorted(ballot.stale.items())),
    }


def comments_told(made: Poll) -> list[dict[str, str]]:
    """Remarks of annotators, each with the key of what it is about."""
    return [{"annotator": c.annotator, "shown": c.key, "text": c.text} for c in sorted(made.ballot.comments)]


def _waiting(ballot: Ballot, instructions: Instructions, sorts: Mapping[str, str]) -> WaitingForPeople:
    missing = instructions.missing
    total = sum(missing.values())
    people = dict.fromkeys(name.rpartition(": ")[0] for name in missing)
    told = ", ".join(f"{person} {' and '.join(_of(person, missing, sorts))}" for person in people)
    stale = sum(ballot.stale.values())
    warnings = [instructions.warning] if instructions.warning else []
    if stale:
        warnings.append(f"{stale} votes are about something that is no longer shown and do not count")
    return WaitingForPeople(
        f"{counted(total, 'judgement')} {'is' if total == 1 else 'are'} missing: {told}",
        missing=dict(missing),
        where=instructions.where,
        why="; ".join(warnings),
        next=instructions.next,
    )


def _of(person: str, missing: Mapping[str, int], sorts: Mapping[str, str]) -> list[str]:
    return [f"{missing[f'{person}: {sort}']} {word}" for sort, word in sorts.items() if f"{person}: {sort}" in missing]
