"""Fills annotation sheets by a function: sample votes of the bundled recipes, and votes of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchbuilder.annotation.aggregate import aggregate_votes
from benchbuilder.annotation.backends.sheets import SheetsSpec
from benchbuilder.annotation.base import Subject, Task, Value, Votes
from benchbuilder.annotation.sheets.sheets import (
    SheetRow,
    csv_bytes,
    escape_formula,
    sheet_columns,
    sheet_grid,
    sheet_rows,
)
from benchbuilder.annotation.tasks import JudgementRequest, judgement_requests, make_candidate_tasks, make_row_tasks
from benchbuilder.core import Candidate, Evidence, Row

CandidateAnswers = Callable[[str, Candidate, Evidence | None, str], Value | None]
"""(person, candidate, paragraph or ``None``, guiding question) -> an answer, or ``None`` for no vote."""

RowAnswers = Callable[[str, Any, str], Value | None]
"""(person, row, guiding question) -> an answer, or ``None`` for no vote."""


def write_sample_votes(
    candidates: Iterable[Candidate],
    evidence: Iterable[Evidence],
    spec: SheetsSpec,
    judge: CandidateAnswers,
    folder: Path,
    *,
    seed: int,
    with_texts: bool = True,
) -> list[Path]:
    """Write one filled CSV sheet per person to `folder`; the adjudicator's sheet holds only disputed subjects.

    Identical candidates are judged once. Without `with_texts` the sheets hold only keys and votes: these suffice to
    match the votes to their tasks, and take a tenth of the space.
    """
    rows, passages = list(candidates), list(evidence)
    shown = make_candidate_tasks(rows, passages)
    asked = judgement_requests(shown.tasks, spec)
    candidate_of = {shown.task_key_of[row.id]: row for row in reversed(rows)}
    passage_of = {shown.paragraph_key_of[row.id]: row for row in reversed(passages) if row.id in shown.paragraph_key_of}

    def answer(person: str, subject: Subject) -> Value | None:
        what = asked[subject]
        return judge(person, candidate_of[what.task_key], passage_of.get(subject.key), what.question)

    return _write_sheets(shown.tasks, asked, spec, answer, folder, seed=seed, with_texts=with_texts)


def write_sample_row_votes(
    rows: Iterable[Row], spec: SheetsSpec, judge: RowAnswers, folder: Path, *, seed: int, with_texts: bool = True
) -> list[Path]:
    """Write the sheets for rows with a payload, as the step ``vote`` shows them; identical rows are judged once."""
    every = list(rows)
    tasks, key_of = make_row_tasks(every, spec.display_fields())
    asked = judgement_requests(tasks, spec)
    row_of = {key_of[row.id]: row for row in reversed(every)}

    def answer(person: str, subject: Subject) -> Value | None:
        what = asked[subject]
        return judge(person, row_of[what.task_key], what.question)

    return _write_sheets(tasks, asked, spec, answer, folder, seed=seed, with_texts=with_texts)


def _write_sheets(
    tasks: Sequence[Task], requests: Mapping[Subject, JudgementRequest], spec: SheetsSpec,
    judge: Callable[[str, Subject], Value | None], folder: Path, *, seed: int, with_texts: bool,
) -> list[Path]:  # fmt: skip
    votes = Votes()
    files: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for person in spec.people():
        wanted = set(spec.missing_for(person, votes, aggregate_votes(requests, votes, spec).missing(requests)))

        def answer(subject: Subject, person: str = person) -> Value | None:
            value = judge(person, subject)
            if value is not None:
                spec.record_vote(votes, subject, person, value)
            return value

        sheet = fill_open_cells(sheet_rows(tasks, wanted, spec, spec.labels, annotator=person, seed=seed), answer)
        path = folder / f"{person}.csv"
        shown = sheet if with_texts else [_keys_only(row) for row in sheet]
        path.write_bytes(csv_bytes(sheet_grid(sheet_columns(spec, spec.labels), shown)))
        files.append(path)
    return files


def _keys_only(row: SheetRow) -> SheetRow:
    kept: dict[str, Any] = {name: row.texts[name] for name in ("item", "part", "annotator")}
    return replace(row, texts=kept)


def fill_open_cells(rows: Sequence[SheetRow], judge: Callable[[Subject], Value | None]) -> list[SheetRow]:
    """The rows with every open cell filled by `judge` (``None`` leaves it empty)."""
    filled: list[SheetRow] = []
    for row in rows:
        cells = dict(row.cells)
        for wording, cell in row.cells.items():
            if cell == "":
                value = judge(Subject(row.key, wording))
                cells[wording] = "" if value is None else escape_formula(str(value))
        filled.append(replace(row, cells=cells))
    return filled
