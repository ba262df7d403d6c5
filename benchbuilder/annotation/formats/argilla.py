"""Votes for Argilla 2: the settings of a dataset and its records, as JSON that its client reads.

Numbers from 0 to 1 become ratings from 0 to 10, the only numbers that its server takes; such questions are called
``x10_NAME``. It is written without Argilla's client: `rg.Settings.from_json` and `rg.Record.from_dict` read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.formats.label_studio_config import anchors, options, shown_fields
from benchbuilder.annotation.formats.lossiness import about_judging, about_votes, by_task
from benchbuilder.annotation.formats.models import Export, Loss, Material, Suggestion, Vote
from benchbuilder.annotation.formats.parse_votes import json_bytes
from benchbuilder.annotation.formats.questions import (
    NOTE,
    PROJECT,
    SUBJECTS,
    TASK,
    Control,
    controls,
    reordered,
    row_data,
    subjects,
)
from benchbuilder.annotation.formats.user_table import User, Users, users_of, uuid_of, write_users
from benchbuilder.core.errors import DataError

SETTINGS, RECORDS, USERS = "settings.json", "records.json", "users.csv"
LONGEST_NAME, LONGEST_TITLE, LONGEST_DESCRIPTION, LONGEST_OPTION, LONGEST_GUIDELINE = 200, 500, 1000, 500, 10_000
MOST_OPTIONS = 500
"""What its server refuses beyond."""

_NOWHERE = Subject("", "")


def write_argilla(material: Material, users: Users | None = None) -> Export:
    """Settings, records and a table of users, and what they cannot carry; DataError where its server would refuse.

    `users` is a table with the ids that the people have there; without one, ids are made from their codes. Answers of
    an annotator who answered every required question about a task are submitted, others are drafts.
    """
    table = users or users_of(material.everyone(), uuid_of)
    missing = [rater for rater in material.everyone() if table.id_of(rater) is None]
    table = Users(table.all + [User(uuid_of(rater), "", rater) for rater in missing])
    flat = controls(material.project.spec, material.tasks)
    _refuse(flat)
    writer = _Writer(material, table, flat)
    settings = writer.settings()
    records = [writer.record(task) for task in material.tasks]
    files = {SETTINGS: json_bytes(settings), RECORDS: json_bytes(records), USERS: write_users(table)}
    return Export(files, writer.losses())


def question_name(control: Control) -> str:
    """``q_NAME``, or ``x10_NAME`` for a number; with ``-n`` for a paragraph."""
    return f"x10_{control.schema}" if control.question.answer == "scalar" else control.control


def _refuse(flat: Sequence[Control]) -> None:
    problems = [
        f"the name {name!r} is longer than {LONGEST_NAME} characters"
        for name in map(question_name, flat)
        if len(name) > LONGEST_NAME
    ]
    problems += [
        f"{control.name} has {len(control.question.options)} options, more than {MOST_OPTIONS}"
        for control in flat
        if len(control.question.options) > MOST_OPTIONS and control.paragraph <= 1
    ]
    if problems:
        raise DataError(
            "Argilla's server would refuse this project",
            why="\n         ".join(problems[:20]),
            next="export it for another tool, or write its questions otherwise",
        )


def tenths(value: float) -> int:
    """`value`, from 0 to 1, as the nearest rating from 0 to 10; the middle goes up.

    >>> tenths(0.75), tenths(0.25), tenths(0.04)
    (8, 3, 0)
    """
    return int((Decimal(repr(float(value))) * 10).to_integral_value(ROUND_HALF_UP))


class _Writer:
    def __init__(self, material: Material, users: Users, flat: Sequence[Control]) -> None:
        self.material, self.users, self.flat = material, users, flat
        self.votes = by_task(material)
        self.suggestions: dict[Subject, Suggestion] = {}
        self.more_suggestions = self.cut = self.rounded = self.crossed = self.notes = self.drafts = 0
        for one in material.suggestions:
            self.more_suggestions += self.suggestions.setdefault(one.subject, one) is not one
        self.first = next(iter([c.control for c in flat if c.required]), "")

    def settings(self) -> dict[str, Any]:
        """What `rg.Settings.serialize` gives."""
        project = self.material.project
        fields = [
            {"name": f"text_{name}", "title": self._cut(label, LONGEST_TITLE), "required": number == 0,
             "settings": {"type": "text", "use_markdown": False}}
            for number, (name, label) in enumerate(shown_fields(project.spec, self.material.tasks).items())
        ]  # fmt: skip
        for number in range(1, max((len(task.paragraphs) for task in self.material.tasks), default=0) + 1):
            for name in ("source", "paragraph"):
                title = self._cut(f"{project.spec.paragraph} {number}", LONGEST_TITLE)
                fields.append({"name": f"{name}_{number}", "title": title, "required": False,
                               "settings": {"type": "text", "use_markdown": False}})  # fmt: skip
        note = {"name": NOTE, "title": NOTE, "description": None, "required": False}
        questions = [self._question(control) for control in self.flat]
        questions.append(note | {"settings": {"type": "text", "use_markdown": False}})
        if not self.first:
            questions[0]["required"] = True
        return {
            "guidelines": self._cut(project.guideline, LONGEST_GUIDELINE) or None,
            "questions": questions,
            "fields": fields,
            "vectors": [],
            "metadata": [
                {"name": name, "title": name, "visible_for_annotators": False, "type": "terms",
                 "settings": {"type": "terms", "values": None}}
                for name in (TASK, PROJECT)
            ],
            "allow_extra_metadata": True,
            "distribution": {"strategy": "overlap", "min_submitted": project.spec.votes_each()},
            "mapping": None,
        }  # fmt: skip

    def _question(self, control: Control) -> dict[str, Any]:
        question = control.question
        number = f" · {self.material.project.spec.paragraph} {control.paragraph}" if control.paragraph else ""
        settings: dict[str, Any] = {"type": "text", "use_markdown": False}
        text = question.text
        if question.answer == "scalar":
            settings = {"type": "rating", "options": [{"value": value} for value in range(11)]}
            text = "\n\n".join([text, "0–10 = 0–1", *anchors(question)])
        elif question.answer != "text":
            labels = [{"value": v, "text": self._cut(t, LONGEST_OPTION)} for v, t in options(question)]
            visible = len(labels) if len(labels) >= 3 else None
            settings = {"type": "label_selection", "options": labels, "visible_options": visible}
        return {
            "name": question_name(control),
            "title": self._cut(question.label + number, LONGEST_TITLE),
            "description": self._cut(text, LONGEST_DESCRIPTION),
            "required": control.required,
            "settings": settings,
        }

    def _cut(self, text: str, longest: int) -> str:
        self.cut += len(text) > longest
        return text if len(text) <= longest else text[: longest - 1] + "…"

    def record(self, task: Task) -> dict[str, Any]:
        """What `rg.Record.to_dict` gives, with the status of each response."""
        data = row_data(self.material, task, self.flat)
        about = subjects(task, self.flat)
        responses: dict[str, list[dict[str, Any]]] = {}
        submitted = 0
        for votes in self.votes.get(task.key, {}).values():
            if votes[0].role == "annotator":
                submitted += self._respond(votes, about, responses)
        suggestions: dict[str, dict[str, Any]] = {}
        for control in self.flat:
            if said := self.suggestions.get(about.get(control.schema, _NOWHERE)):
                value = self._value(control, said.value)
                suggestions[question_name(control)] = {"value": value, "score": said.score, "agent": said.agent}
        return {
            "id": task.key,
            "fields": {name: text for name, text in data.items() if not name.startswith("bb_")},
            "metadata": {
                TASK: task.key,
                PROJECT: data[PROJECT],
                SUBJECTS: json.dumps(data[SUBJECTS], ensure_ascii=False),
            },
            "suggestions": suggestions,
            "responses": responses,
            "vectors": {},
            "status": "completed" if submitted >= self.material.project.spec.votes_each() else "pending",
            "_server_id": None,
        }

    def _respond(
        self, votes: Sequence[Vote], about: Mapping[str, Subject], responses: dict[str, list[dict[str, Any]]]
    ) -> bool:
        """Add one person's answers; whether they are submitted: its server refuses those that lack a required one."""
        values = {vote.subject: vote.value for vote in votes}
        needed = [c.schema for c in self.flat if c.required] or [self.flat[0].schema]
        whole = all(about.get(schema, _NOWHERE) in values for schema in needed)
        self.drafts += 0 if whole else len(votes)
        shell = {"user_id": self.users.id_of(votes[0].rater), "status": "submitted" if whole else "draft"}
        for control in self.flat:
            value = values.get(about.get(control.schema, _NOWHERE))
            if value is not None:
                self._count(control, value)
                said = {"value": self._value(control, value)} | shell
                responses.setdefault(question_name(control), []).append(said)
        notes = [vote.note for vote in sorted(votes, key=lambda vote: vote.at) if vote.note]
        self.notes += len(set(notes)) - bool(notes)
        if notes:
            responses.setdefault(NOTE, []).append({"value": notes[-1]} | shell)
        return whole

    @staticmethod
    def _value(control: Control, value: Value) -> Value:
        if isinstance(value, str):
            return value
        return tenths(value) if control.question.answer == "scalar" else str(int(value))

    def _count(self, control: Control, value: Value) -> None:
        if control.question.answer == "scalar" and not isinstance(value, str):
            near, threshold = tenths(value) / 10, control.question.threshold
            self.rounded += near != value
            self.crossed += (value >= threshold) != (near >= threshold)

    def losses(self) -> list[Loss]:
        """What the files do not say; to be asked when they are made."""
        tasks, votes = self.material.tasks, self.material.counting()
        longest = max((len(task.paragraphs) for task in tasks), default=0)
        uneven = sum(len(task.paragraphs) < longest for task in tasks)
        decisions = sum(vote.role != "annotator" for vote in votes)
        counted = [
            Loss("numbers with a resolution finer than 0.1: they are rounded to it", self.rounded),
            Loss("of these, numbers that come to lie on the other side of the threshold", self.crossed),
            Loss(f"questions are made for {longest} paragraphs: tasks with fewer show all of them", uneven),
            Loss("questions about paragraphs that only some tasks have: they cannot be required", sum(
                control.question.required and not control.required for control in self.flat)),
            Loss("answers of people who left a required question of the task open: they are drafts", self.drafts),
            Loss("decisions of adjudicators", decisions),
            Loss("texts that are longer than the server takes: they are cut, votes stay bound to the whole", self.cut),
            Loss("remarks besides the latest of a person on a task: one is kept", self.notes),
            Loss("suggestions of further models on one question: the first is kept", self.more_suggestions),
            Loss("tasks that were skipped", len(self.material.skips)),
            Loss("expected answers of planted tasks", sum(bool(task.expected) for task in tasks)),
            Loss("no question is required in the recipe: there, the first one is", int(not self.first)),
        ]  # fmt: skip
        losses = [
            Loss("each user's own order of the tasks, and whom a task is assigned to"),
            Loss("when a vote was given, and how long it took"),
            *about_judging(self.material),
            *about_votes(self.material),
        ]
        if reordered(self.material.project.spec):
            losses.append(Loss("the order of the guiding questions: those about paragraphs come after all others"))
        return losses + [loss for loss in counted if loss.count]
