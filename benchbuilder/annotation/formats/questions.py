"""Maps guiding questions to controls for tools without paragraphs: one control per question and paragraph.

A control about a whole task is called ``q_NAME``, one about the n-th paragraph ``q_NAME-n``; names of questions have no
hyphens. Besides the texts (``text_FIELD``, ``paragraph_n``, ``source_n``), a row has ``bb_task``, the key of its task,
and ``bb_subjects``, which maps each control to its subject: the key of the text and the hash of the wording. Imported
votes are matched by these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchbuilder.annotation.base import Subject, Task
from benchbuilder.annotation.formats.models import ExportInput, ExportLoss, judging_losses, vote_losses
from benchbuilder.annotation.formats.parse_votes import same_shown
from benchbuilder.annotation.formats.task_summary import TaskSummary
from benchbuilder.annotation.tasks import wording_key
from benchbuilder.config import AnnotationSpec, GuidingQuestion
from benchbuilder.core import parse_json

NOTE = "bb_note"
TASK, SUBJECTS, PROJECT = "bb_task", "bb_subjects", "bb_project"


@dataclass(frozen=True)
class Control:
    """Guiding question `name` about a whole task (`paragraph` is 0) or about a paragraph (counted from 1).

    It is `required` if the question is required and every task has that paragraph, or the field that it is about.
    """

    name: str
    question: GuidingQuestion
    paragraph: int
    required: bool
    wording: str

    @property
    def label_name(self) -> str:
        """``NAME``, or ``NAME-n``."""
        return f"{self.name}-{self.paragraph}" if self.paragraph else self.name

    @property
    def control_name(self) -> str:
        """``q_NAME``, or ``q_NAME-n``."""
        return f"q_{self.label_name}"


def question_controls(spec: AnnotationSpec, tasks: TaskSummary) -> list[Control]:
    """The controls for the task with the most paragraphs: those about the task first, then by paragraph."""
    controls = [
        Control(name, q, 0, q.required and q.field not in tasks.partly_empty, wording_key(q))
        for name, q in spec.questions_about("claim").items()
    ]
    evidence = [(name, q, wording_key(q)) for name, q in spec.questions_about("evidence").items()]
    for number in range(1, tasks.most_paragraphs + 1):
        everywhere = number <= tasks.fewest_paragraphs
        controls += [Control(name, q, number, q.required and everywhere, wording) for name, q, wording in evidence]
    return controls


def tool_losses(export: ExportInput) -> list[ExportLoss]:
    """Losses of tools that have users and controls of their own."""
    losses = [ExportLoss("each user's own order of the tasks, and whom a task is assigned to")]
    losses += [*judging_losses(export), *vote_losses(export)]
    about = [question.subject for question in export.project.spec.questions_about().values()]
    if about != sorted(about):
        losses.append(ExportLoss("the order of the guiding questions: those about paragraphs come after all others"))
    return losses


def control_subjects(task: Task, controls: Sequence[Control]) -> dict[str, Subject]:
    """The subject of each control by label name, without controls for what `task` lacks: a paragraph, or a field."""
    empty = {name for name, text in task.fields if not text.strip()}
    keys = [task.key, *(paragraph.key for paragraph in task.paragraphs)]
    texts = [task.text, *(paragraph.text for paragraph in task.paragraphs)]
    return {
        control.label_name: Subject(keys[control.paragraph], control.wording, texts[control.paragraph])
        for control in controls
        if control.paragraph < len(keys) and control.question.field not in empty
    }


def task_columns(export: ExportInput, task: Task, controls: Sequence[Control]) -> dict[str, Any]:
    """The columns of `task` in another tool: only its texts, and the subjects of its votes."""
    about: Any = {
        f"q_{name}": f"{subject.key} {subject.wording}" for name, subject in control_subjects(task, controls).items()
    }
    columns = {PROJECT: export.project.name, TASK: task.key, SUBJECTS: about}
    columns |= {f"text_{name}": text for name, text in task.fields}
    for number, paragraph in enumerate(task.paragraphs, start=1):
        columns[f"paragraph_{number}"] = paragraph.text
        columns[f"source_{number}"] = " · ".join(part for part in (paragraph.base, paragraph.title) if part)
    return columns


def bind_row(data: Mapping[str, Any], task_with: Callable[[str], Task | None]) -> dict[str, Subject]:
    """The subjects of the controls of a row; ValueError if it lacks them or its texts were changed."""
    key, about = data.get(TASK), data.get(SUBJECTS)
    if isinstance(about, str):
        try:
            about = parse_json(about)
        except ValueError:
            about = None
    if not isinstance(key, str) or not isinstance(about, dict):
        raise ValueError(f"{TASK} or {SUBJECTS} is missing: it was not exported by benchbuilder, or they were removed")  # noqa: TRY004
    bound: dict[str, Subject] = {}
    for control, pair in about.items():
        parts = pair.split(" ") if isinstance(pair, str) else []
        if len(parts) != 2 or not isinstance(control, str):
            raise ValueError(f"{SUBJECTS} says {pair!r} of {control}: it was changed")
        bound[control] = Subject(parts[0], parts[1])
    task = task_with(key)
    if task is not None and task.key == key:
        _compare(data, task, bound)
    return bound


def _compare(data: Mapping[str, Any], task: Task, bound: Mapping[str, Subject]) -> None:
    """ValueError if the row shows other texts than `task`, or refers to another task. Missing texts are accepted.

    Paragraphs of a task may have changed since the export: their texts are compared by key.
    """
    texts = {f"text_{name}": text for name, text in task.fields}
    now = {paragraph.key: paragraph.text for paragraph in task.paragraphs}
    for control, subject in bound.items():
        number = control.rpartition("-")[2] if "-" in control else ""
        if number and subject.key in now:
            texts[f"paragraph_{number}"] = now[subject.key]
        elif not number and subject.key != task.key:
            raise ValueError(f"{SUBJECTS} binds {control} to another task than {TASK}: it was changed")
    for name, text in texts.items():
        cell = data.get(name)
        if cell is not None and (not isinstance(cell, str) or not same_shown(cell, text)):
            raise ValueError(f"{name} does not match the text of {task.key}: it was changed")
