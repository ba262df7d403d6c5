"""Votes for Label Studio: a labelling configuration, tasks with predictions and annotations, and a table of users."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.formats.label_studio_config import (
    HOTKEYS,
    anchors,
    display,
    labelling_config,
    options,
    shown_fields,
)
from benchbuilder.annotation.formats.lossiness import about_judging, about_votes, by_task, only
from benchbuilder.annotation.formats.models import Export, Loss, Material, Rater, Skip, Suggestion, Vote
from benchbuilder.annotation.formats.parse_votes import json_bytes
from benchbuilder.annotation.formats.questions import NOTE, Control, controls, reordered, row_data, subjects
from benchbuilder.annotation.formats.user_table import User, Users, number_of, users_of, write_users
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.config.spec.annotation import GuidingQuestion

GOLD = "gold"
"""The code of the user who gives the expected answers of planted tasks; no person has it."""

CONFIG, TASKS, USERS, GUIDELINE = "labeling_config.xml", "tasks.json", "users.csv", "instructions.md"


def write_label_studio(material: Material, users: Users | None = None) -> Export:
    """The files that a Label Studio project is made of, and what they cannot carry.

    `users` is a table with the ids that the people have there; without one, ids are made from their codes. Answers to
    planted tasks are annotations of the user ``gold``, marked as ground truth.
    """
    table = _with_gold(material, users)
    flat = controls(material.project.spec, material.tasks)
    columns = _columns(material, flat)
    writer = _Writer(material, table, flat)
    rows = [{"data": columns | row_data(material, task, flat), **writer.row(task)} for task in material.tasks]
    files = {
        CONFIG: labelling_config(material.project.spec, material.tasks, flat),
        TASKS: json_bytes(rows),
        USERS: write_users(table),
    }
    if guideline := material.project.guideline:
        files[GUIDELINE] = guideline.encode()
    return Export(files, _losses(material, flat, writer))


def _with_gold(material: Material, users: Users | None) -> Users:
    """The table, completed with made ids for those whom it does not know."""
    gold = [Rater(GOLD, GOLD, "lead")] if any(task.expected for task in material.tasks) else []
    people = [*material.everyone(), *gold]
    if users is None:
        return users_of(people, number_of)
    there = [user for user in users.all if user.id.isascii() and user.id.isdecimal()]
    known = Users(there)
    return Users(there + [User(number_of(rater), "", rater) for rater in people if known.id_of(rater) is None])


def _columns(material: Material, flat: Sequence[Control]) -> dict[str, str]:
    """Every column that the configuration shows, empty: Label Studio refuses rows that lack one."""
    names = [f"text_{name}" for name in shown_fields(material.project.spec, material.tasks)]
    last = max([control.paragraph for control in flat] + [len(task.paragraphs) for task in material.tasks], default=0)
    numbers = range(1, last + 1)
    return dict.fromkeys([*names, *(f"{what}_{n}" for n in numbers for what in ("paragraph", "source"))], "")


class _Writer:
    def __init__(self, material: Material, users: Users, flat: Sequence[Control]) -> None:
        self.users, self.flat = users, flat
        self.target = f"text_{next(iter(shown_fields(material.project.spec, material.tasks)))}"
        self.votes = by_task(material)
        self.skips: dict[str, list[Skip]] = {}
        for skip in material.skips:
            self.skips.setdefault(skip.task, []).append(skip)
        self.suggestions: dict[str, dict[str, list[Suggestion]]] = {}
        tasks = {s: asked.claim for s, asked in material.asked().items()}
        for one in material.suggestions:
            if one.subject in tasks:
                self.suggestions.setdefault(tasks[one.subject], {}).setdefault(one.agent, []).append(one)
        self.other_notes = self.other_times = self.other_scores = 0

    def row(self, task: Task) -> dict[str, Any]:
        """What people and models said of `task`."""
        annotations = [self._annotation(task, votes) for votes in self.votes.get(task.key, {}).values()]
        annotations += [self._skipped(skip) for skip in self.skips.get(task.key, [])]
        if task.expected:
            annotations.append(self._expected(task))
        predictions = [
            self._prediction(task, agent, said) for agent, said in self.suggestions.get(task.key, {}).items()
        ]
        return {"predictions": predictions, "annotations": annotations}

    def _prediction(self, task: Task, agent: str, said: Sequence[Suggestion]) -> dict[str, Any]:
        score = only([one.score for one in said])
        self.other_scores += sum(one.score != score for one in said)
        values = {one.subject: one.value for one in said}
        return {"model_version": agent, "score": score, "result": self._results(task, f"model {agent}", values)}

    def _results(self, task: Task, who: str, values: Mapping[Subject, Value]) -> list[dict[str, Any]]:
        about = subjects(task, self.flat)
        return [
            self._result(task, who, control.control, control.question.answer, values[about[control.schema]], control)
            for control in self.flat
            if about.get(control.schema) in values
        ]

    def _result(
        self, task: Task, who: str, name: str, answer: str, value: Value, control: Control | None = None
    ) -> dict[str, Any]:
        number = control.paragraph if control else 0
        kind, said = {
            "text": ("textarea", {"text": [value]}),
            "scalar": ("number", {"number": value}),
        }.get(answer, ("choices", {"choices": [str(value)]}))
        return {
            "id": hashlib.blake2b("\0".join((task.key, who, name)).encode(), digest_size=8).hexdigest(),
            "from_name": name,
            "to_name": f"paragraph_{number}" if number else self.target,
            "type": kind,
            "value": said,
        }

    def _annotation(self, task: Task, votes: Sequence[Vote]) -> dict[str, Any]:
        """One person's votes on a task; of their remarks the latest, and the time of the latest vote."""
        latest = max(votes, key=lambda vote: vote.at)
        notes = [vote.note for vote in sorted(votes, key=lambda vote: vote.at) if vote.note]
        self.other_notes += len(set(notes)) - bool(notes)
        self.other_times += sum(vote.at != latest.at for vote in votes)
        who = f"person {latest.code}"
        result = self._results(task, who, {vote.subject: vote.value for vote in votes if vote.value is not None})
        if notes:
            result.append(self._result(task, who, NOTE, "text", notes[-1]))
        times = {vote.at: vote.seconds for vote in votes}
        seconds = [second for second in times.values() if second is not None]
        return self._shell(latest.rater, latest.at, round(sum(seconds), 3) if seconds else None, result)

    def _shell(
        self, rater: Rater, at: datetime | None, seconds: float | None, result: list[dict[str, Any]],
        *, cancelled: bool = False, truth: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        shell: dict[str, Any] = {"completed_by": int(self.users.id_of(rater) or 0), "was_cancelled": cancelled}
        shell |= {"ground_truth": truth, "lead_time": seconds, "result_count": len(result), "result": result}
        if at is not None:
            shell |= {"created_at": at.isoformat(), "updated_at": at.isoformat()}
        return shell

    def _skipped(self, skip: Skip) -> dict[str, Any]:
        return self._shell(skip.rater, skip.at, skip.seconds, [], cancelled=True)

    def _expected(self, task: Task) -> dict[str, Any]:
        expected = dict(task.expected)
        about = subjects(task, self.flat)
        values = {
            about[control.schema]: expected[control.name]
            for control in self.flat
            if control.name in expected and not control.paragraph
        }
        result = self._results(task, "gold", values)
        return self._shell(Rater(GOLD, GOLD, "lead"), None, None, result, truth=True)


def _losses(material: Material, flat: Sequence[Control], writer: _Writer) -> list[Loss]:
    spec = material.project.spec
    losses = [
        Loss("Label Studio Community shows every user what the others answered: judging is not blind there"),
        Loss("each user's own order of the tasks, and whom a task is assigned to"),
        *about_judging(material),
        *about_votes(material),
    ]
    longest = max((control.paragraph for control in flat), default=0)
    uneven = sum(len(task.paragraphs) < longest for task in material.tasks)
    optional = sum(c.question.required and not c.required for c in flat)
    shown = [text for control in flat for text in _wording(control.question)]
    shown += [spec.paragraph, *shown_fields(spec, material.tasks).values()]
    choices = sum(len(options(c.question)) for c in flat if c.question.answer in ("binary", "scale"))
    numbers = [vote for vote in material.counting() if _off_step(spec.asked(), vote)]
    if reordered(spec):
        losses.append(Loss("the order of the guiding questions: those about paragraphs come after all others"))
    counted = [
        Loss(f"controls are made for {longest} paragraphs: tasks with fewer show empty ones", uneven),
        Loss("controls about paragraphs that only some tasks have: they cannot be required", optional),
        Loss("choices beyond the number of hotkeys: they have none", max(0, choices - len(HOTKEYS))),
        Loss("words in which $ became ＄, or characters that XML forbids �", sum(display(t) != t for t in shown)),
        Loss("guiding questions with text answers: their largest length is not enforced", len({
            c.name for c in flat if c.question.answer == "text"})),
        Loss("numbers between the steps of the slider: it shows the nearest step", len(numbers)),
        Loss("remarks besides the latest of a person on a task: one is kept", writer.other_notes),
        Loss("votes at another time than the person's latest on the task: they get that time", writer.other_times),
        Loss("suggestions with scores of their own: a prediction has one score for all", writer.other_scores),
        Loss("planted tasks: their answers can be seen there as ground truth", sum(
            bool(task.expected) for task in material.tasks)),
    ]  # fmt: skip
    return losses + [loss for loss in counted if loss.count]


def _wording(question: GuidingQuestion) -> list[str]:
    words = [question.label, question.text, *anchors(question)]
    return words + [text for _, text in options(question)] if question.answer in ("binary", "scale") else words


def _off_step(questions: Mapping[str, GuidingQuestion], vote: Vote) -> bool:
    question = questions.get(vote.question)
    if question is None or question.answer != "scalar" or isinstance(vote.value, str) or vote.value is None:
        return False
    return (
        wording_key(question) == vote.subject.wording
        and abs(vote.value / question.step - round(vote.value / question.step)) > 1e-6
    )
