"""Writes votes for Label Studio: a labelling configuration, tasks with annotations, and a table of users."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.formats.label_studio_config import (
    HOTKEYS,
    anchor_lines,
    answer_options,
    displayable_text,
    displayed_fields,
    labelling_config,
)
from benchbuilder.annotation.formats.models import (
    ExportInput,
    ExportLoss,
    Rater,
    SkipRecord,
    VoteExport,
    VoteRecord,
    write_files,
)
from benchbuilder.annotation.formats.parse_votes import json_list_bytes
from benchbuilder.annotation.formats.questions import (
    NOTE,
    Control,
    control_subjects,
    question_controls,
    task_columns,
    tool_losses,
)
from benchbuilder.annotation.formats.user_table import UserTable, complete_user_table, number_id, write_user_table
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.config import GuidingQuestion
from benchbuilder.core import show_invisible

GOLD_USER = "gold"
"""The code of the user who gives the expected answers of gold tasks; no person has it."""

CONFIG_FILE, TASKS_FILE, USERS_FILE, GUIDELINE_FILE = (
    "labeling_config.xml",
    "tasks.json",
    "users.csv",
    "instructions.md",
)


def write_label_studio(export: ExportInput, users: UserTable | None, folder: Path) -> VoteExport:
    """Write the files of a Label Studio project.

    `users` has the ids of people in Label Studio; without it, ids are made from their codes. Expected answers of gold
    tasks are annotations of the user ``gold``, marked as ground truth.
    """
    table = _complete_user_table(export, users)
    flat = question_controls(export.project.spec, export.summary)
    columns = _columns(export)
    writer = _LabelStudioWriter(export, table, flat)
    files = {CONFIG_FILE: [labelling_config(export.project.spec, export.summary, flat)]}
    rows = ({"data": columns | task_columns(export, task, flat), **writer.row(task)} for task in export.tasks)
    files |= {TASKS_FILE: json_list_bytes(rows), USERS_FILE: [write_user_table(table)]}
    if guideline := export.project.guideline:
        files[GUIDELINE_FILE] = [show_invisible(guideline).encode()]
    write_files(folder, files)
    return VoteExport([*files], _losses(export, flat, writer))


def _complete_user_table(export: ExportInput, users: UserTable | None) -> UserTable:
    """The users whose ids are numbers, with made ids for people who are missing among them."""
    gold = [Rater(GOLD_USER, GOLD_USER, "lead")] if export.summary.gold else []
    numbered = [user for user in (users.users if users else ()) if user.id.isascii() and user.id.isdecimal()]
    return complete_user_table(UserTable(numbered), [*export.all_raters(), *gold], number_id)


def _columns(export: ExportInput) -> dict[str, str]:
    """Every column of the configuration, empty: Label Studio refuses rows without them."""
    names = [f"text_{name}" for name in displayed_fields(export.project.spec, export.summary)]
    numbers = range(1, export.summary.most_paragraphs + 1)
    return dict.fromkeys([*names, *(f"{what}_{n}" for n in numbers for what in ("paragraph", "source"))], "")


class _LabelStudioWriter:
    def __init__(self, export: ExportInput, users: UserTable, controls: Sequence[Control]) -> None:
        self.users, self.controls = users, controls
        self.target = f"text_{next(iter(displayed_fields(export.project.spec, export.summary)))}"
        self.votes_of_people = export.votes_of_people
        self.skips: dict[str, list[SkipRecord]] = {}
        for skip in export.skips:
            self.skips.setdefault(skip.task, []).append(skip)
        self.extra_note_count = self.moved_time_count = 0

    def row(self, task: Task) -> dict[str, Any]:
        """The annotations of `task`."""
        annotations = [self._annotation(task, votes) for votes in self.votes_of_people(task)]
        annotations += [
            self._annotation_object(skip.rater, skip.created_at, skip.seconds, [], cancelled=True)
            for skip in self.skips.get(task.key, [])
        ]
        if task.expected:
            annotations.append(self._gold_annotation(task))
        return {"predictions": [], "annotations": annotations}

    def _results(self, task: Task, who: str, values: Mapping[Subject, Value]) -> list[dict[str, Any]]:
        about = control_subjects(task, self.controls)
        return [
            self._result(
                task, who, control.control_name, control.question.answer, values[about[control.label_name]], control
            )
            for control in self.controls
            if about.get(control.label_name) in values
        ]

    def _result(
        self, task: Task, who: str, name: str, answer: str, value: Value, control: Control | None = None
    ) -> dict[str, Any]:
        number = control.paragraph if control else 0
        kind, content = {"text": ("textarea", {"text": [value]}), "scalar": ("number", {"number": value})}.get(
            answer, ("choices", {"choices": [str(value)]})
        )
        return {
            "id": hashlib.blake2b("\0".join((task.key, who, name)).encode(), digest_size=8).hexdigest(),
            "from_name": name,
            "to_name": f"paragraph_{number}" if number else self.target,
            "type": kind,
            "value": content,
        }

    def _annotation(self, task: Task, votes: Sequence[VoteRecord]) -> dict[str, Any]:
        """One person's votes on a task, with their latest remark and the time of their latest vote."""
        latest = max(votes, key=lambda vote: vote.created_at)
        notes = [vote.note for vote in sorted(votes, key=lambda vote: vote.created_at) if vote.note]
        self.extra_note_count += len(set(notes)) - bool(notes)
        self.moved_time_count += sum(vote.created_at != latest.created_at for vote in votes)
        who = f"person {latest.code}"
        result = self._results(task, who, {vote.subject: vote.value for vote in votes if vote.value is not None})
        if notes:
            result.append(self._result(task, who, NOTE, "text", notes[-1]))
        times = {vote.created_at: vote.seconds for vote in votes}
        seconds = [second for second in times.values() if second is not None]
        return self._annotation_object(
            latest.rater, latest.created_at, round(sum(seconds), 3) if seconds else None, result
        )

    def _annotation_object(
        self, rater: Rater, created_at: datetime | None, seconds: float | None, result: list[dict[str, Any]],
        *, cancelled: bool = False, truth: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        annotation: dict[str, Any] = {"completed_by": int(self.users.id_of(rater) or 0), "was_cancelled": cancelled}
        annotation |= {"ground_truth": truth, "lead_time": seconds, "result_count": len(result), "result": result}
        if created_at is not None:
            annotation |= {"created_at": created_at.isoformat(), "updated_at": created_at.isoformat()}
        return annotation

    def _gold_annotation(self, task: Task) -> dict[str, Any]:
        expected = dict(task.expected)
        about = control_subjects(task, self.controls)
        values = {
            about[control.label_name]: expected[control.name]
            for control in self.controls
            if control.name in expected and control.label_name in about and not control.paragraph
        }
        result = self._results(task, "gold", values)
        return self._annotation_object(Rater(GOLD_USER, GOLD_USER, "lead"), None, None, result, truth=True)


def _losses(export: ExportInput, controls: Sequence[Control], writer: _LabelStudioWriter) -> list[ExportLoss]:
    spec = export.project.spec
    losses = [
        ExportLoss("Label Studio Community shows every user the answers of others: judging is not blind there"),
        *tool_losses(export),
    ]
    longest = max((control.paragraph for control in controls), default=0)
    uneven = export.summary.shorter_than(longest)
    optional = Counter(bool(c.paragraph) for c in controls if c.question.required and not c.required)
    shown = [text for control in controls for text in _question_texts(control.question)]
    shown += [spec.paragraph, *displayed_fields(spec, export.summary).values()]
    choices = sum(len(answer_options(c.question)) for c in controls if c.question.answer in ("binary", "scale"))
    questions = spec.questions_about()
    numbers = sum(_is_off_step(questions, vote) for vote in export.counting_votes())
    counted = [
        ExportLoss(f"controls are made for {longest} paragraphs: tasks with fewer show empty ones", uneven),
        ExportLoss("controls about paragraphs that only some tasks have: they cannot be required", optional[True]),
        ExportLoss("controls about fields that only some tasks have: all tasks show them, none requires them",
            optional[False]),
        ExportLoss("choices beyond the number of hotkeys: they have none", max(0, choices - len(HOTKEYS))),
        ExportLoss("texts in which $ became ＄, or characters that XML forbids became �",
            sum(displayable_text(t) != t for t in shown)),
        ExportLoss("guiding questions with text answers: their largest length is not enforced", len({
            c.name for c in controls if c.question.answer == "text"})),
        ExportLoss("numbers between the steps of the slider: it shows the nearest one", numbers),
        ExportLoss("earlier remarks of a person on a task: only the latest is kept", writer.extra_note_count),
        ExportLoss("votes earlier than the person's latest on the task: they get the time of the latest",
            writer.moved_time_count),
        ExportLoss("gold tasks: their answers are visible there as ground truth", export.summary.gold),
    ]  # fmt: skip
    return losses + counted


def _question_texts(question: GuidingQuestion) -> list[str]:
    words = [question.label, question.text, *anchor_lines(question)]
    return words + [text for _, text in answer_options(question)] if question.answer in ("binary", "scale") else words


def _is_off_step(questions: Mapping[str, GuidingQuestion], vote: VoteRecord) -> bool:
    question = questions.get(vote.question)
    if question is None or question.answer != "scalar" or isinstance(vote.value, str) or vote.value is None:
        return False
    return (
        wording_key(question) == vote.subject.wording
        and abs(vote.value / question.step - round(vote.value / question.step)) > 1e-6
    )
