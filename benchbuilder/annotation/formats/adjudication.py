"""Writes and reads decisions as JSON Lines, one row per task, with common key names.

``labels`` has the decision on each guiding question (``NAME``, or ``NAME-n`` for the n-th paragraph). ``provenance``
has the source and the votes of each decision. ``source`` of the row is ``unresolved`` if something is undecided, else
``adjudicated`` if an adjudicator decided something, else ``unanimous``. Codes replace the names of people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, cast

from benchbuilder.annotation.aggregate import aggregate_votes
from benchbuilder.annotation.base import Subject, Task, Value, Votes
from benchbuilder.annotation.formats.models import (
    AdjudicationNote,
    ExportInput,
    ExportLoss,
    ParsedVotes,
    VoteExport,
    VoteRecord,
    vote_losses,
    write_files,
)
from benchbuilder.annotation.formats.parse_votes import VoteCollector, json_line_bytes, load_json_lines
from benchbuilder.annotation.formats.questions import (
    Control,
    bind_row,
    control_subjects,
    question_controls,
    task_columns,
)
from benchbuilder.annotation.formats.user_table import UserTable
from benchbuilder.annotation.tasks import judgement_requests

ADJUDICATION_FILE = "adjudication.jsonl"


def write_adjudication(export: ExportInput, users: UserTable | None, folder: Path) -> VoteExport:  # noqa: ARG001 - as every format
    """Write a row for each task that is not gold, in their order."""
    writer = _AdjudicationWriter(export)
    rows = (writer.row(task) for task in export.tasks if not task.expected)
    write_files(folder, {ADJUDICATION_FILE: map(json_line_bytes, rows)})
    counting = Counter[str]()
    for vote in export.counting_votes():
        counting["remarks"] += bool(vote.note) and vote.role == "annotator"
        counting["seconds"] += vote.seconds is not None
    losses = [
        ExportLoss("names of people: codes replace them"),
        ExportLoss("when a vote was given"),
        *vote_losses(export),
        ExportLoss("gold tasks: they decide nothing", export.summary.gold),
        ExportLoss("decisions that are means of different numbers: they count as unanimous", writer.mean_count),
        ExportLoss("decisions on subjects that are not in dispute: the annotators decide", writer.unneeded_decisions),
        ExportLoss("remarks of annotators", counting["remarks"]),
        ExportLoss("how long annotators took", counting["seconds"]),
        ExportLoss("tasks that were skipped", len(export.skips)),
    ]
    return VoteExport([ADJUDICATION_FILE], losses)


class _Decided:
    """The votes on a task, and what they decide."""

    def __init__(self, export: ExportInput, task: Task) -> None:
        self.votes = Votes()
        self.decisions: dict[Subject, VoteRecord] = {}
        for vote in export.votes_on(task):
            value = cast("Value", vote.value)  # votes that were withdrawn do not count
            if vote.role == "annotator":
                self.votes.by_subject.setdefault(vote.subject, {})[vote.code] = value
            elif vote.role == "adjudicator":
                self.votes.decisions[vote.subject] = (vote.code, value)
                self.decisions[vote.subject] = vote
        spec = export.project.spec
        self.labels = aggregate_votes(judgement_requests([task], spec), self.votes, spec)
        self.undecided = {*self.labels.missing_votes, *self.labels.disputed_subjects}


class _AdjudicationWriter:
    def __init__(self, export: ExportInput) -> None:
        self.export = export
        self.controls = question_controls(export.project.spec, export.summary)
        self.notes = {ruling.task: ruling for ruling in export.adjudication_notes}
        self.mean_count = self.unneeded_decisions = 0

    def row(self, task: Task) -> dict[str, Any]:
        """The decisions on `task` with their provenance."""
        labels: dict[str, Value] = {}
        provenance: dict[str, Any] = {}
        sources: set[str] = set()
        about = control_subjects(task, self.controls)
        decided = _Decided(self.export, task)
        self.unneeded_decisions += decided.labels.unneeded_decisions
        for control in self.controls:
            subject = about.get(control.label_name)
            if subject is None:
                continue
            source, details = self._provenance(subject, decided)
            if subject in decided.labels.values:
                labels[control.label_name] = _label(control, decided.labels.values[subject])
            if source:
                sources.add(source)
                provenance[control.label_name] = {"source": source} | details
            elif details:
                provenance[control.label_name] = {"source": "text"} | details
        decisions = [decided.decisions[subject] for subject in about.values() if subject in decided.decisions]
        people = {code for subject in about.values() for code in decided.votes.by_subject.get(subject, {})}
        ruling = self.notes.get(task.key)
        last = max(decisions, key=lambda vote: vote.created_at, default=None)
        return {
            "instance_id": task.key,
            "item_data": task_columns(self.export, task, self.controls),
            "labels": labels,
            "source": next((source for source in ("unresolved", "adjudicated") if source in sources), "unanimous"),
            "adjudicator": last.code if last else None,
            "confidence": ruling.confidence if ruling else "",
            "provenance": provenance,
            "num_annotators": len(people),
            **_decision_log(ruling, last),
        }

    def _provenance(self, subject: Subject, decided: _Decided) -> tuple[str, dict[str, Any]]:
        """The source of a decision (empty for texts and unanswered optional questions), and its votes."""
        votes = decided.votes.by_subject.get(subject, {})
        details: dict[str, Any] = {"votes": votes} if votes else {}
        if subject in decided.decisions:
            decision = decided.decisions[subject]
            details |= {"adjudicator": decision.code, "decision": decision.value}
        if subject in decided.undecided:
            return "unresolved", details
        if subject not in decided.labels.values:
            return "", details
        if subject in decided.labels.adjudicated_subjects:
            return "adjudicated", details
        if len(set(votes.values())) > 1:
            self.mean_count += 1
            details["by"] = "mean"
        return "unanimous", details


def _label(control: Control, value: float) -> float:
    """The decision as an integer where possible; scalars stay floats."""
    return int(value) if control.question.answer != "scalar" and value.is_integer() else value


def _decision_log(note: AdjudicationNote | None, last: VoteRecord | None) -> dict[str, Any]:
    seconds = note.seconds if note else last.seconds if last else None
    return {
        "notes": (note.reason if note else "") or (last.note if last else ""),
        "error_taxonomy": list(note.error_kinds) if note else [],
        "guideline_update_flag": bool(note and note.guideline_gap),
        "time_spent_ms": None if seconds is None else round(seconds * 1000),
    }


def read_adjudication(name: str, file: IO[bytes], export: ExportInput, users: UserTable | None = None) -> ParsedVotes:  # noqa: ARG001
    """Read votes and decisions from rows of `write_adjudication`; people by code."""
    collector = VoteCollector(export)
    for number, row in load_json_lines(name, file, collector.parsed):
        where = f"{name}:{number}"
        shown, provenance = row.get("item_data"), row.get("provenance")
        if not isinstance(shown, dict) or not isinstance(provenance, dict):
            collector.add_problem(where, "it has no item_data and provenance")
            continue
        try:
            subjects = bind_row(shown, collector.task_with)
        except ValueError as error:
            collector.add_problem(where, str(error))
            continue
        for schema, said in provenance.items():
            subject = subjects.get(f"q_{schema}")
            if subject is None or not isinstance(said, dict):
                collector.add_problem(where, f"provenance of {schema} is not about what item_data shows")
                continue
            _collect_row(where, schema, subject, said, row, collector)
    return collector.parsed


def _collect_row(
    where: str,
    schema: str,
    subject: Subject,
    provenance: Mapping[str, Any],
    row: Mapping[str, Any],
    collector: VoteCollector,
) -> None:
    votes = provenance.get("votes")
    for code, value in votes.items() if isinstance(votes, dict) else ():
        if rater := collector.find_rater(where, code, "annotator"):
            collector.add_answer(rater, subject, value, where=where, label=schema)
    decision, judge = provenance.get("decision"), provenance.get("adjudicator")
    if decision is not None and (rater := collector.find_rater(where, judge, "adjudicator")):
        spent, kinds, flag = row.get("time_spent_ms"), row.get("error_taxonomy"), row.get("guideline_update_flag")
        collector.add_answer(
            rater, subject, decision, where=where, label=schema,
            seconds=spent / 1000 if isinstance(spent, int | float) else None,
            reason=str(row.get("notes") or ""), confidence=str(row.get("confidence") or ""),
            error_kinds=tuple(map(str, kinds)) if isinstance(kinds, list) else (), guideline_gap=flag is True,
        )  # fmt: skip
