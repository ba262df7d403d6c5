"""Writes votes for Argilla 2: the settings and records of a dataset as JSON for its client.

Numbers from 0 to 1 become ratings from 0 to 10, as its server accepts only integers; such questions are called
``x10_NAME``. The files are written without Argilla's client; `rg.Settings.from_json` and `rg.Record.from_dict` read
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import IO, Any, NamedTuple

from benchbuilder.annotation.base import Subject, Task, Value
from benchbuilder.annotation.formats.label_studio_config import anchor_lines, answer_options, displayed_fields
from benchbuilder.annotation.formats.models import (
    ExportInput,
    ExportLoss,
    ParsedVotes,
    VoteExport,
    VoteRecord,
    write_files,
)
from benchbuilder.annotation.formats.parse_votes import VoteCollector, json_bytes, json_list_bytes, load_json_rows
from benchbuilder.annotation.formats.questions import (
    NOTE,
    PROJECT,
    SUBJECTS,
    TASK,
    Control,
    bind_row,
    control_subjects,
    question_controls,
    task_columns,
    tool_losses,
)
from benchbuilder.annotation.formats.user_table import (
    UserTable,
    complete_user_table,
    make_user_table,
    uuid_id,
    write_user_table,
)
from benchbuilder.core import DataError

SETTINGS_FILE, RECORDS_FILE, USERS_FILE = "settings.json", "records.json", "users.csv"
LONGEST_NAME, LONGEST_TITLE, LONGEST_DESCRIPTION, LONGEST_OPTION, LONGEST_GUIDELINE = 200, 500, 1000, 500, 10_000
MOST_OPTIONS = 500
"""Limits of its server."""

_NOWHERE = Subject("", "")


def write_argilla(export: ExportInput, users: UserTable | None, folder: Path) -> VoteExport:
    """Write settings, records and a table of users.

    `users` has the ids of people in Argilla; without it, ids are made from their codes. Answers of an annotator who
    answered every required question of a task are submitted, others are drafts.

    Raises:
        DataError: its server would refuse the project.
    """
    table = complete_user_table(users, export.all_raters(), uuid_id)
    flat = question_controls(export.project.spec, export.summary)
    _check_limits(flat)
    writer = _ArgillaWriter(export, table, flat)
    files = {
        SETTINGS_FILE: [json_bytes(writer.settings())],
        RECORDS_FILE: json_list_bytes(map(writer.record, export.tasks)),
        USERS_FILE: [write_user_table(table)],
    }
    write_files(folder, files)
    return VoteExport([*files], writer.losses())


def question_name(control: Control) -> str:
    """``q_NAME``, or ``x10_NAME`` for a number; with ``-n`` for a paragraph."""
    return f"x10_{control.label_name}" if control.question.answer == "scalar" else control.control_name


def _check_limits(controls: Sequence[Control]) -> None:
    problems = [
        f"the name {name!r} is longer than {LONGEST_NAME} characters"
        for name in map(question_name, controls)
        if len(name) > LONGEST_NAME
    ]
    problems += [
        f"{control.name} has {len(control.question.options)} options, more than {MOST_OPTIONS}"
        for control in controls
        if len(control.question.options) > MOST_OPTIONS and control.paragraph <= 1
    ]
    if problems:
        raise DataError(
            "Argilla's server would refuse this project",
            why="\n         ".join(problems[:20]),
            next="export it for another tool, or change its questions",
        )


def to_tenths(value: float) -> int:
    """`value`, from 0 to 1, as the nearest rating from 0 to 10; the middle goes up.

    >>> to_tenths(0.75), to_tenths(0.25), to_tenths(0.04)
    (8, 3, 0)
    """
    return int((Decimal(repr(float(value))) * 10).to_integral_value(ROUND_HALF_UP))


class _ArgillaWriter:
    def __init__(self, export: ExportInput, users: UserTable, controls: Sequence[Control]) -> None:
        self.export, self.users, self.controls = export, users, controls
        self.shortened_count = self.rounded_count = self.crossed_count = self.extra_note_count = self.draft_count = 0
        self.first_required = next(iter([c.control_name for c in controls if c.required]), "")

    def settings(self) -> dict[str, Any]:
        """The settings, as `rg.Settings.serialize` returns them."""
        project = self.export.project
        fields = [
            {"name": f"text_{name}", "title": self._shorten(label, LONGEST_TITLE), "required": number == 0,
             "settings": {"type": "text", "use_markdown": False}}
            for number, (name, label) in enumerate(displayed_fields(project.spec, self.export.summary).items())
        ]  # fmt: skip
        for number in range(1, self.export.summary.most_paragraphs + 1):
            for name in ("source", "paragraph"):
                title = self._shorten(f"{project.spec.paragraph} {number}", LONGEST_TITLE)
                fields.append({"name": f"{name}_{number}", "title": title, "required": False,
                               "settings": {"type": "text", "use_markdown": False}})  # fmt: skip
        note = {"name": NOTE, "title": NOTE, "description": None, "required": False}
        questions = [self._question(control) for control in self.controls]
        questions.append(note | {"settings": {"type": "text", "use_markdown": False}})
        if not self.first_required:
            questions[0]["required"] = True
        return {
            "guidelines": self._shorten(project.guideline, LONGEST_GUIDELINE) or None,
            "questions": questions,
            "fields": fields,
            "vectors": [],
            "metadata": [
                {"name": name, "title": name, "visible_for_annotators": False, "type": "terms",
                 "settings": {"type": "terms", "values": None}}
                for name in (TASK, PROJECT)
            ],
            "allow_extra_metadata": True,
            "distribution": {"strategy": "overlap", "min_submitted": project.spec.votes_per_task()},
            "mapping": None,
        }  # fmt: skip

    def _question(self, control: Control) -> dict[str, Any]:
        question = control.question
        number = f" · {self.export.project.spec.paragraph} {control.paragraph}" if control.paragraph else ""
        settings: dict[str, Any] = {"type": "text", "use_markdown": False}
        text = question.text
        if question.answer == "scalar":
            settings = {"type": "rating", "options": [{"value": value} for value in range(11)]}
            text = "\n\n".join([text, "0–10 = 0–1", *anchor_lines(question)])
        elif question.answer != "text":
            labels = [{"value": v, "text": self._shorten(t, LONGEST_OPTION)} for v, t in answer_options(question)]
            visible = len(labels) if len(labels) >= 3 else None
            settings = {"type": "label_selection", "options": labels, "visible_options": visible}
        return {
            "name": question_name(control),
            "title": self._shorten(question.label + number, LONGEST_TITLE),
            "description": self._shorten(text, LONGEST_DESCRIPTION),
            "required": control.required,
            "settings": settings,
        }

    def _shorten(self, text: str, longest: int) -> str:
        self.shortened_count += len(text) > longest
        return text if len(text) <= longest else text[: longest - 1] + "…"

    def record(self, task: Task) -> dict[str, Any]:
        """The record of `task`, as `rg.Record.to_dict` returns it, with the status of each response."""
        data = task_columns(self.export, task, self.controls)
        about = control_subjects(task, self.controls)
        responses: dict[str, list[dict[str, Any]]] = {}
        submitted = 0
        for votes in self.export.votes_of_people(task):
            if votes[0].role == "annotator":
                submitted += self._add_responses(votes, about, responses)
        return {
            "id": task.key,
            "fields": {name: text for name, text in data.items() if not name.startswith("bb_")},
            "metadata": {
                TASK: task.key,
                PROJECT: data[PROJECT],
                SUBJECTS: json.dumps(data[SUBJECTS], ensure_ascii=False),
            },
            "suggestions": {},
            "responses": responses,
            "vectors": {},
            "status": "completed" if submitted >= self.export.project.spec.votes_per_task() else "pending",
            "_server_id": None,
        }

    def _add_responses(
        self, votes: Sequence[VoteRecord], about: Mapping[str, Subject], responses: dict[str, list[dict[str, Any]]]
    ) -> bool:
        """Add one person's answers; return whether they are submitted. Its server refuses incomplete submissions."""
        values = {vote.subject: vote.value for vote in votes}
        needed = [c.label_name for c in self.controls if c.required] or [self.controls[0].label_name]
        whole = all(about.get(schema, _NOWHERE) in values for schema in needed)
        self.draft_count += 0 if whole else len(votes)
        common = {"user_id": self.users.id_of(votes[0].rater), "status": "submitted" if whole else "draft"}
        for control in self.controls:
            value = values.get(about.get(control.label_name, _NOWHERE))
            if value is not None:
                self._count_rounding(control, value)
                answer = {"value": self._value(control, value)} | common
                responses.setdefault(question_name(control), []).append(answer)
        notes = [vote.note for vote in sorted(votes, key=lambda vote: vote.created_at) if vote.note]
        self.extra_note_count += len(set(notes)) - bool(notes)
        if notes:
            responses.setdefault(NOTE, []).append({"value": notes[-1]} | common)
        return whole

    @staticmethod
    def _value(control: Control, value: Value) -> Value:
        if isinstance(value, str):
            return value
        return to_tenths(value) if control.question.answer == "scalar" else str(int(value))

    def _count_rounding(self, control: Control, value: Value) -> None:
        if control.question.answer == "scalar" and not isinstance(value, str):
            near, threshold = to_tenths(value) / 10, control.question.threshold
            self.rounded_count += near != value
            self.crossed_count += (value >= threshold) != (near >= threshold)

    def losses(self) -> list[ExportLoss]:
        """The losses of the export; call it after the files are made."""
        tasks = self.export.summary
        longest = tasks.most_paragraphs
        decisions = sum(vote.role != "annotator" for vote in self.export.counting_votes())
        counted = [
            ExportLoss("numbers finer than 0.1: they are rounded", self.rounded_count),
            ExportLoss("of these, numbers that cross the threshold", self.crossed_count),
            ExportLoss(f"questions are made for {longest} paragraphs: tasks with fewer show all of them",
                tasks.shorter_than(longest)),
            ExportLoss("questions about paragraphs that only some tasks have: they cannot be required", sum(
                control.question.required and not control.required for control in self.controls)),
            ExportLoss("answers of people who left a required question open: they are drafts", self.draft_count),
            ExportLoss("decisions of adjudicators", decisions),
            ExportLoss("texts that are too long for the server: they are cut; votes refer to the whole text",
                self.shortened_count),
            ExportLoss("earlier remarks of a person on a task: only the latest is kept", self.extra_note_count),
            ExportLoss("tasks that were skipped", len(self.export.skips)),
            ExportLoss("expected answers of gold tasks", tasks.gold),
            ExportLoss("no question is required in the recipe: the first one is required there",
                int(not self.first_required)),
        ]  # fmt: skip
        when = ExportLoss("when a vote was given, and how long it took")
        return [when, *tool_losses(self.export), *counted]


_RESPONSES_SUFFIX = ".responses"
_SUBMITTED = "submitted"


class _Response(NamedTuple):
    """The answer of one user to one question; without a status it counts as submitted."""

    question: str
    value: object
    user: object
    status: object


def read_argilla(name: str, file: IO[bytes], export: ExportInput, users: UserTable | None = None) -> ParsedVotes:
    """Read the votes of `Dataset.records.to_json`, or of ``to_list(flatten=True)`` as JSON.

    Only submitted answers count. The flattened form marks drafts; the nested form marks them only if benchbuilder wrote
    it. `users` identifies the users; without it, ids are those that `write_argilla` makes from codes.
    """
    collector = VoteCollector(export)
    table = users or make_user_table(export.all_raters(), uuid_id)
    for number, row in enumerate(load_json_rows(name, file, collector.parsed), start=1):
        where = f"{name}:{number}"
        if not row:
            continue
        responses = [response for response in _responses(where, row, collector) if response.value is not None]
        if not responses:
            continue
        try:
            subjects = bind_row(_flatten_row(row), collector.task_with)
        except ValueError as error:
            collector.add_problem(where, str(error))
            continue
        _collect_responses(where, responses, table, subjects, collector)
    return collector.parsed


def _flatten_row(row: Mapping[str, Any]) -> dict[str, Any]:
    nested = [row[part] for part in ("fields", "metadata") if isinstance(row.get(part), dict)]
    return {key: value for part in [row, *nested] for key, value in part.items()}


def _responses(where: str, row: Mapping[str, Any], collector: VoteCollector) -> Iterator[_Response]:
    nested = row.get("responses")
    if isinstance(nested, dict):
        for question, answers in nested.items():
            for response in answers if isinstance(answers, list) else [answers]:
                if isinstance(response, dict):
                    status = response.get("status") or _SUBMITTED
                    yield _Response(question, response.get("value"), response.get("user_id"), status)
                else:
                    collector.add_problem(where, f"{question} has a response that is no object")
        return
    for key, values in row.items():
        if not key.endswith(_RESPONSES_SUFFIX) or values is None:
            continue
        question = key.removesuffix(_RESPONSES_SUFFIX)
        people, states = row.get(f"{key}.users"), row.get(f"{key}.status")
        if isinstance(values, list) and states is None:
            states = [_SUBMITTED] * len(values)
        lists: list[list[Any]] = [part for part in (values, people, states) if isinstance(part, list)]
        if len(lists) < 3 or len({len(part) for part in lists}) > 1:
            collector.add_problem(where, f"{key}, its users and its status are not lists of one length")
            continue
        for value, user, status in zip(*lists, strict=True):
            yield _Response(question, value, user, status or _SUBMITTED)


def _collect_responses(
    where: str, responses: list[_Response], table: UserTable, subjects: Mapping[str, Subject], collector: VoteCollector
) -> None:
    notes = {
        str(response.user): response.value
        for response in responses
        if response.question == NOTE and response.status == _SUBMITTED
    }
    answered = {str(response.user) for response in responses if response.question != NOTE}
    strangers: set[str] = set()
    for response in responses:
        control = _control(response.question)
        user = table.find(response.user)
        if response.status != _SUBMITTED:
            collector.parsed.add_omitted("answers that are not submitted")
        elif user is None:
            if str(response.user) not in strangers:
                collector.add_problem(
                    where, f"there is no user {response.user!r} in this project; add them to the table of users"
                )
            strangers.add(str(response.user))
        elif control in subjects:
            raw = response.value
            if response.question.startswith("x10_"):
                raw = _tenth(raw)
                if raw is None:
                    collector.add_problem(
                        where, f"{response.question} is {response.value!r}; allowed are whole numbers from 0 to 10"
                    )
                    continue
            note = notes.get(str(response.user), "")
            collector.add_answer(
                user.rater, subjects[control], raw, where=where, label=response.question,
                note=note if isinstance(note, str) else "",
            )  # fmt: skip
        elif response.question == NOTE and str(response.user) not in answered:
            collector.parsed.add_omitted("remarks without an answer")


def _control(question: str) -> str:
    return f"q_{question.removeprefix('x10_')}" if question.startswith("x10_") else question


def _tenth(raw: object) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or raw not in range(11):
        return None
    return int(raw) / 10
