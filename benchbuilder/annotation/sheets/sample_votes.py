"""Vote files as people would fill them in, for bundled sample votes and for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchbuilder.annotation.aggregate import decide
from benchbuilder.annotation.backends.sheets import FilesSpec
from benchbuilder.annotation.base import Ballot, Subject, Task, Value
from benchbuilder.annotation.sheets.sheets import SheetRow, fill, packet_rows, write_sheet
from benchbuilder.annotation.tasks import Asked, display, display_rows, everything_asked
from benchbuilder.core.records.roles import Candidate, Evidence
from benchbuilder.core.records.row import Row

Judge = Callable[[str, Candidate, Evidence | None, str], Value | None]
"""(person, candidate, paragraph or ``None``, guiding question) -> an answer, or ``None`` for no vote."""

RowJudge = Callable[[str, Any, str], Value | None]
"""(person, row, guiding question) -> an answer, or ``None`` for no vote."""


def write_votes(
    candidates: Iterable[Candidate],
    evidence: Iterable[Evidence],
    spec: FilesSpec,
    judge: Judge,
    folder: Path,
    *,
    seed: int,
    texts: bool = True,
) -> list[Path]:
    """One filled CSV a person in `folder`; the adjudicator's holds only that on which the annotators differ.

    Candidates that look the same are judged once, as the first of them. Without `texts` the sheets hold keys and
    votes alone, which bind as well and are a tenth of the size.
    """
    rows, passages = list(candidates), list(evidence)
    shown = display(rows, passages)
    asked = everything_asked(shown.tasks, spec)
    candidate_of = {shown.claim_of[row.id]: row for row in reversed(rows)}
    passage_of = {shown.paragraph_of[row.id]: row for row in reversed(passages) if row.id in shown.paragraph_of}

    def answer(person: str, subject: Subject) -> Value | None:
        what = asked[subject]
        return judge(person, candidate_of[what.claim], passage_of.get(subject.key), what.question)

    return _write(shown.tasks, asked, spec, answer, folder, seed=seed, texts=texts)


def write_row_votes(
    rows: Iterable[Row], spec: FilesSpec, judge: RowJudge, folder: Path, *, seed: int, texts: bool = True
) -> list[Path]:
    """The same for rows with a payload, as the stage `vote` shows them; rows that look the same are judged once."""
    every = list(rows)
    tasks, key_of = display_rows(every, spec.shown())
    asked = everything_asked(tasks, spec)
    row_of = {key_of[row.id]: row for row in reversed(every)}

    def answer(person: str, subject: Subject) -> Value | None:
        what = asked[subject]
        return judge(person, row_of[what.claim], what.question)

    return _write(tasks, asked, spec, answer, folder, seed=seed, texts=texts)


def _write(
    tasks: Sequence[Task], asked: Mapping[Subject, Asked], spec: FilesSpec,
    judge: Callable[[str, Subject], Value | None], folder: Path, *, seed: int, texts: bool,
) -> list[Path]:  # fmt: skip
    ballot = Ballot()
    files: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for person in spec.people():
        wanted = set(spec.wanted_of(person, ballot, decide(asked, ballot, spec).wanted(asked)))

        def answer(subject: Subject, person: str = person) -> Value | None:
            value = judge(person, subject)
            if value is not None:
                spec.cast(ballot, subject, person, value)
            return value

        sheet = fill(packet_rows(tasks, wanted, spec, spec.labels, annotator=person, seed=seed), answer)
        path = folder / f"{person}.csv"
        write_sheet(sheet if texts else [_bare(row) for row in sheet], path, spec, spec.labels)
        files.append(path)
    return files


def _bare(row: SheetRow) -> SheetRow:
    kept: dict[str, Any] = {name: row.shown[name] for name in ("item", "part", "annotator")}
    return replace(row, shown=kept)
