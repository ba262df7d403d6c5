"""A database of votes with a clock of its own, and short ways to fill it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from benchbuilder.annotation.base import ShownParagraph, Subject, Task, Value, Votes
from benchbuilder.annotation.database.models import Assignment, Person, Project, Role, Submission, SubmissionOutcome
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.annotation.tasks import judgement_requests, paragraph_key, task_key
from benchbuilder.config.spec.annotation import ProjectSpec

QUESTIONS: dict[str, dict[str, Any]] = {
    "sound": {"order": 1, "subject": "claim", "label": "成立", "text": "题干本身是否成立？"},
    "grade": {
        "order": 2, "subject": "claim", "label": "难度", "text": "题目有多难？", "answer": "scale",
        "options": {1: "容易", 2: "中等", 3: "困难"},
    },
    "degree": {"order": 3, "subject": "claim", "label": "正确性", "text": "回答有多正确？", "answer": "scalar"},
    "supports": {"order": 4, "subject": "evidence", "label": "支持", "text": "这段材料支持正确答案吗？"},
    "remark": {
        "order": 5, "subject": "claim", "label": "备注", "text": "还有什么要说的？", "answer": "text",
        "required": False,
    },
}  # fmt: skip


def spec_of(*names: str, **changed: Any) -> ProjectSpec:
    """A spec that asks the questions `names` (just ``sound``, by default) of two annotators each."""
    data: dict[str, Any] = {
        "kind": "review", "title": "妊娠题目", "fields": {"text": "题干"}, "heading": "题目", "paragraph": "材料",
        "per_task": 2, "questions": {name: QUESTIONS[name] for name in names or ("sound",)},
        "bootstrap": {"samples": 100, "level": 0.9, "seed": 1},
    }  # fmt: skip
    return ProjectSpec.model_validate(data | changed)


def task_of(number: int, paragraphs: int = 0, expected: Mapping[str, Value] | None = None) -> Task:
    fields = (("text", f"孕妇在孕期第 {number} 周可以服用叶酸吗？"),)
    key = task_key(fields)
    texts = [f"第 {index} 段：孕前三个月起每日补充叶酸。" for index in range(paragraphs)]
    shown = tuple(ShownParagraph(paragraph_key(key, text), "教科书", "", text) for text in texts)
    return Task(key, fields, shown, (("candidate", f"c{number}"),), tuple((expected or {}).items()))


def tasks_of(count: int, paragraphs: int = 0) -> list[Task]:
    return [task_of(number, paragraphs) for number in range(count)]


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def tick(self, **time: float) -> None:
        self.now += timedelta(**time)


class World:
    """Project ``p`` in a database, and the people who work on it."""

    def __init__(self, url: str) -> None:
        self.url, self.clock = url, Clock()
        self.store = AnnotationStore.open(url, self.clock)
        self.spec = spec_of()
        self.tokens: dict[str, str] = {}

    def invite(self, name: str, role: Role = "annotator") -> Person:
        person, self.tokens[name] = self.store.invite(name, role)
        return person

    def annotators(self, count: int) -> list[Person]:
        return [self.invite(f"专家{number}") for number in range(1, count + 1)]

    def lay_out(self, tasks: Sequence[Task], spec: ProjectSpec | None = None, seed: int = 7) -> None:
        self.spec = spec or self.spec
        self.store.sync_project(Project("p", self.spec, "# 指南", "zh", seed), tasks)

    def numbers(self, person: Person) -> list[int]:
        return [line.number for line in self.store.list_assignments(person, "p", count=100_000)]

    def ids(self, person: Person) -> list[int]:
        """Ids of their tasks, in their order."""
        return [line.task_id for line in self.store.list_assignments(person, "p", count=100_000)]

    def open(self, person: Person, task: Task | None = None) -> Assignment:
        """Their next task, or `task`."""
        if task is None:
            number = self.store.next_number(person, "p")
            assert number is not None
        else:
            ids = {found.key: id_ for id_, found in self.store.tasks("p")}
            number = self.ids(person).index(ids[task.key]) + 1
        found = self.store.assignment(person, "p", number)
        assert found is not None
        return found

    def answers(self, task: Task, **values: Value) -> dict[Subject, Value]:
        """What to submit about `task`: `values` by question, 1 where nothing is said, nothing for texts."""
        questions = self.spec.questions_about()
        return {
            subject: values.get(what.question, 1)
            for subject, what in judgement_requests([task], self.spec).items()
            if what.question in values or questions[what.question].answer != "text"
        }

    def submit(self, person: Person, task: Task | None = None, note: str = "", **values: Value) -> SubmissionOutcome:
        """Open a task of theirs and answer it."""
        found = self.open(person, task)
        return self.store.submit(person, found.task_id, Submission(self.answers(found.task, **values), note=note))

    def decide(self, person: Person, task_id: int, value: Value, **said: Any) -> SubmissionOutcome:
        """Decide all that is in dispute."""
        dispute = self.store.dispute(person, "p", task_id)
        assert dispute is not None
        return self.store.submit_decisions(person, task_id, Submission({s: value for s, _ in dispute.subjects}, **said))

    def subject(self, task: Task, question: str = "sound") -> Subject:
        return next(s for s, what in judgement_requests([task], self.spec).items() if what.question == question)

    def id_of(self, task: Task) -> int:
        return next(id_ for id_, found in self.store.tasks("p", include_retired=True) if found.key == task.key)


def replayed(store: AnnotationStore, project: str) -> Votes:
    """The votes by nothing but the history: of each person's votes on a subject the last one counts.

    Decisions on what is not binary count for as long as no vote that is later differs from what they were about.
    """
    gold = {task.key for _, task in store.tasks(project, include_retired=True) if task.expected}
    history = [vote for vote in store.vote_events(project) if vote.task not in gold]
    last = {(vote.code, vote.subject): vote for vote in history}
    found = Votes()
    for vote in sorted(last.values(), key=lambda vote: vote.id):
        if vote.value is None:
            continue
        if vote.role == "adjudicator":
            found.decisions[vote.subject] = (vote.code, vote.value)
        else:
            found.by_subject.setdefault(vote.subject, {})[vote.code] = vote.value
    for subject, (judge, _) in list(found.decisions.items()):
        decision = last[judge, subject]
        about = {vote.code: vote.value for vote in history if vote.subject == subject and vote.id < decision.id}
        changed = any(
            last[code, subject].id > decision.id and about.get(code) != value
            for code, value in found.by_subject.get(subject, {}).items()
        )
        if changed and QUESTIONS[decision.question].get("answer", "binary") != "binary":
            del found.decisions[subject]
    return found
