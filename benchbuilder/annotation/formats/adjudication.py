"""What was decided, a row of JSON a task, under the names that tools for adjudication have in common.

``labels`` holds what was decided by guiding question (``NAME``, or ``NAME-n`` for the n-th paragraph), ``provenance``
for each where that comes from, with the votes it rests on. ``source`` of the row is ``unresolved`` if something is not
decided yet, else ``adjudicated`` if an adjudicator decided something, else ``unanimous``: nothing was in dispute.
People stand by their codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbuilder.annotation.aggregate import Verdicts, decide
from benchbuilder.annotation.base import Ballot, Subject, Task, Value
from benchbuilder.annotation.formats.lossiness import about_votes
from benchbuilder.annotation.formats.models import Brought, Export, Loss, Material, Rater, Ruling, Vote
from benchbuilder.annotation.formats.parse_votes import Collector, line_bytes, load_lines
from benchbuilder.annotation.formats.questions import Control, bind, controls, row_data, subjects
from benchbuilder.annotation.formats.user_table import Users
from benchbuilder.annotation.tasks import Asked

ROWS = "adjudication.jsonl"


def write_adjudication(material: Material, users: Users | None = None) -> Export:  # noqa: ARG001 - as every door
    """A row for each task that is not planted, in their order."""
    tasks = [task for task in material.tasks if not task.expected]
    writer = _Writer(material, tasks)
    rows = [writer.row(task) for task in tasks]
    counted = [
        Loss("planted tasks: they decide nothing", len(material.tasks) - len(tasks)),
        Loss("decisions that are means of different numbers: they count as unanimous", writer.means),
        Loss("decisions on what is not in dispute by now: the annotators decide", writer.verdicts.unneeded),
        Loss("remarks of annotators", sum(bool(v.note) for v in material.counting() if v.role == "annotator")),
        Loss("how long annotators took", sum(v.seconds is not None for v in material.counting())),
        Loss("tasks that were skipped", len(material.skips)),
    ]
    losses = [
        Loss("names of people: they stand by code"),
        Loss("when a vote was given"),
        *about_votes(material),
    ]
    return Export({ROWS: b"".join(map(line_bytes, rows))}, losses + [loss for loss in counted if loss.count])


class _Writer:
    def __init__(self, material: Material, tasks: list[Task]) -> None:
        self.material = material
        self.flat = controls(material.project.spec, material.tasks)
        keys = {task.key for task in tasks}
        self.asked: Mapping[Subject, Asked] = {s: a for s, a in material.asked().items() if a.claim in keys}
        self.ballot = Ballot()
        self.decisions: dict[Subject, Vote] = {}
        for vote in material.counting():
            if vote.subject not in self.asked or vote.value is None:
                continue
            if vote.role == "annotator":
                self.ballot.votes.setdefault(vote.subject, {})[vote.code] = vote.value
            elif vote.role == "adjudicator":
                self.ballot.decisions[vote.subject] = (vote.code, vote.value)
                self.decisions[vote.subject] = vote
        self.rulings = {ruling.task: ruling for ruling in material.rulings}
        self.verdicts: Verdicts = decide(self.asked, self.ballot, material.project.spec)
        self.open = {*self.verdicts.wanting, *self.verdicts.disputed}
        self.means = 0

    def row(self, task: Task) -> dict[str, Any]:
        """What was decided about `task`, and why."""
        labels: dict[str, Value] = {}
        provenance: dict[str, Any] = {}
        sources: set[str] = set()
        about = subjects(task, self.flat)
        for control in self.flat:
            subject = about.get(control.schema)
            if subject is None:
                continue
            source, said = self._provenance(subject)
            if subject in self.verdicts.decided:
                labels[control.schema] = _label(control, self.verdicts.decided[subject])
            if source:
                sources.add(source)
                provenance[control.schema] = {"source": source} | said
            elif said:
                provenance[control.schema] = {"source": "text"} | said
        own = [self.decisions[subject] for subject in about.values() if subject in self.decisions]
        people = {code for subject in about.values() for code in self.ballot.votes.get(subject, {})}
        ruling = self.rulings.get(task.key)
        last = max(own, key=lambda vote: vote.at, default=None)
        return {
            "instance_id": task.key,
            "item_data": row_data(self.material, task, self.flat),
            "labels": labels,
            "source": next((one for one in ("unresolved", "adjudicated") if one in sources), "unanimous"),
            "adjudicator": last.code if last else None,
            "confidence": ruling.confidence if ruling else "",
            "provenance": provenance,
            "num_annotators": len(people),
            **_log(ruling, last),
        }

    def _provenance(self, subject: Subject) -> tuple[str, dict[str, Any]]:
        """Where a decision comes from (nothing for texts and for optional questions without a vote), and the votes."""
        votes = self.ballot.votes.get(subject, {})
        said: dict[str, Any] = {"votes": votes} if votes else {}
        if subject in self.decisions:
            decision = self.decisions[subject]
            said |= {"adjudicator": decision.code, "decision": decision.value}
        if subject in self.open:
            return "unresolved", said
        if subject not in self.verdicts.decided:
            return "", said
        if subject in self.verdicts.adjudicated:
            return "adjudicated", said
        if len(set(votes.values())) > 1:
            self.means += 1
            said["by"] = "mean"
        return "unanimous", said


def _label(control: Control, value: float) -> float:
    """A whole number but for a scalar, and for a mean of others."""
    return int(value) if control.question.answer != "scalar" and value.is_integer() else value


def _log(ruling: Ruling | None, last: Vote | None) -> dict[str, Any]:
    seconds = ruling.seconds if ruling else last.seconds if last else None
    return {
        "notes": (ruling.reason if ruling else "") or (last.note if last else ""),
        "error_taxonomy": list(ruling.error_kinds) if ruling else [],
        "guideline_update_flag": bool(ruling and ruling.guideline_gap),
        "time_spent_ms": None if seconds is None else round(seconds * 1000),
    }


def read_adjudication(name: str, data: bytes, material: Material, users: Users | None = None) -> Brought:  # noqa: ARG001
    """The votes and decisions in rows of `write_adjudication`: people by their code."""
    collector = Collector(material)
    for number, row in load_lines(name, data, collector.brought):
        where = f"{name}:{number}"
        shown, provenance = row.get("item_data"), row.get("provenance")
        if not isinstance(shown, dict) or not isinstance(provenance, dict):
            collector.problem(where, "it has no item_data and provenance")
            continue
        try:
            bound = bind(shown, collector.tasks)
        except ValueError as error:
            collector.problem(where, str(error))
            continue
        for schema, said in provenance.items():
            subject = bound.subjects.get(f"q_{schema}")
            if subject is None or not isinstance(said, dict):
                collector.problem(where, f"provenance of {schema} is not about what item_data shows")
                continue
            _take(where, schema, subject, said, row, collector)
    return collector.brought


def _take(
    where: str, schema: str, subject: Subject, said: Mapping[str, Any], row: Mapping[str, Any], collector: Collector
) -> None:
    votes = said.get("votes")
    for code, value in votes.items() if isinstance(votes, dict) else ():
        if rater := _person(where, code, "annotator", collector):
            collector.answer(rater, subject, value, where=where, what=schema)
    decision, judge = said.get("decision"), said.get("adjudicator")
    if decision is not None and (rater := _person(where, judge, "adjudicator", collector)):
        spent, kinds, flag = row.get("time_spent_ms"), row.get("error_taxonomy"), row.get("guideline_update_flag")
        collector.answer(
            rater, subject, decision, where=where, what=schema,
            seconds=spent / 1000 if isinstance(spent, int | float) else None,
            reason=str(row.get("notes") or ""), confidence=str(row.get("confidence") or ""),
            error_kinds=tuple(map(str, kinds)) if isinstance(kinds, list) else (), guideline_gap=flag is True,
        )  # fmt: skip


def _person(where: str, code: object, role: str, collector: Collector) -> Rater | None:
    rater = collector.people.get(code) if isinstance(code, str) else None
    if rater is None:
        collector.problem(where, f"nobody here has the code {code!r}")
    elif rater.role != role:
        collector.problem(where, f"{rater.code} is {rater.role} here, not {role}")
        return None
    return rater
