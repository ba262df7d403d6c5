"""Items and answers, and the reviews of care_mi in a review app, for tests of baselines and of people's ratings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchbuilder.annotation.base import Task, Value
from benchbuilder.annotation.database.models import Submission
from benchbuilder.annotation.database.project_setup import DATABASE_FILE, make_project, open_annotation_store
from benchbuilder.annotation.formats.history import build_export_input
from benchbuilder.annotation.formats.models import Rater
from benchbuilder.annotation.formats.sheets import write_vote_csv
from benchbuilder.annotation.review_projects import rating_tasks
from benchbuilder.annotation.tasks import judgement_requests
from benchbuilder.config.load import load_recipe
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Claim, Item, Support
from benchbuilder.core.records.roles import Answer
from benchbuilder.core.records.row import Origin, ProducedBy

MADE = ProducedBy(rule="test")


def item(number: int, question: str = "", evidence: tuple[str, ...] = (), **fields: Any) -> Item[Claim]:
    """An item; every third one has a context."""
    payload = Claim(
        type=fields.pop("type", "tf" if number % 2 == 0 else "oe"), expected="yes" if number % 2 == 0 else "",
        context=fields.pop("context", "孕妇，28岁，妊娠38周。" if number % 3 == 0 else ""),
        question=question or f"第{number}问：叶酸应从孕前3个月开始补充吗？",
        answer=f"第{number}问的答案是甲。", answer_wrong=f"第{number}问的答案是乙。",
        evidence=tuple(
            Support(passage=f"passage-{place}", base="textbook", document="1", text=text, score=1, rank=1)
            for place, text in enumerate(evidence)
        ),
    )  # fmt: skip
    return Item[Claim].build(
        of=f"candidate-{number}", parents=(f"candidate-{number}",), produced_by=MADE, language="zh",
        origin=Origin(file="medqa.jsonl", line=number + 1), partition=("medqa", "cpubmed")[number % 2],
        payload=payload, candidate=f"candidate-{number}", fact=f"fact-{number}", reviewed=True, **fields,
    )  # fmt: skip


def full(one: Item[Claim]) -> str:
    """The question as it is asked."""
    return one.payload.context + one.payload.question


def answer(one: Item[Claim], text: str, model: str = "model_jia") -> Answer:
    return Answer.child(one, produced_by=MADE, model=model, text=text)


def jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


class Review:
    """The review `name` of care_mi in the app of a workplace, and people who do it."""

    def __init__(self, folder: Path, name: str, *words: str) -> None:
        recipe = load_recipe(["recipe=care_mi", *words], cwd=folder, environ={}).recipe
        self.name, self.recipe, self.spec = name, recipe, recipe.reviews[name]
        self.workplace = folder / "annotation"
        self.workplace.mkdir(exist_ok=True)

    def lay_out(self, items: list[Item[Claim]] | None = None) -> list[Task]:
        """Ask about the items, or about the rows that the recipe names."""
        tasks = rating_tasks(self.name, self.spec, Table.of(items, Item[Claim]) if items else None, seed=1)
        assert tasks
        with open_annotation_store(None, self.workplace) as store:
            store.sync_project(make_project(self.name, self.spec, "zh", 1, "care_mi"), tasks)
        return tasks

    def judge(self, name: str, say: Callable[[str, Task], Value | None], role: Any = "annotator") -> None:
        """Have a new person answer what they are given; ``None``: they leave that task alone."""
        with open_annotation_store(None, self.workplace) as store:
            person, _ = store.invite(name, role)
            for line in store.list_assignments(person, self.name, count=1000):
                work = store.assignment(person, self.name, line.number)
                assert work is not None
                asked = judgement_requests([work.task], self.spec)
                values = {subject: say(what.question, work.task) for subject, what in asked.items()}
                given = {subject: value for subject, value in values.items() if value is not None}
                if given:
                    assert store.submit(person, work.task_id, Submission(given)) == "kept"

    def export(self, path: Path) -> Path:
        """What `benchbuild votes export csv` writes."""
        with open_annotation_store(None, self.workplace) as store:
            project = store.project(self.name)
            assert project is not None
            people = [Rater(person.name, person.code, person.role) for person in store.people()]
            tasks = [task for _, task in store.tasks(self.name)]
            material = build_export_input(project, tasks, people, store.vote_events(self.name), store.events(self.name))
        write_vote_csv(material, None, path.parent)
        return (path.parent / "votes.csv").rename(path)

    def database(self) -> Path:
        return self.workplace / DATABASE_FILE
