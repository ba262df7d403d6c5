"""The baseline kind `recorded`: recorded answers of a model, from a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, cast, get_args

from benchbuilder.config import FileRef, KindSpec
from benchbuilder.core import AnswerOutcome, DataError, Item, normalise_space, raise_row_errors, read_row_file
from benchbuilder.evaluation.baselines.base import Baseline, BaselineSpec
from benchbuilder.evaluation.judges.base import make_case

_OUTCOMES: tuple[str, ...] = get_args(AnswerOutcome)
_NEXT = "a row has `model`, `answer`, and `id` or `question` (with its context), and optionally `outcome`"


class RecordedSpec(BaselineSpec):
    """A file of answers, and the name of the model in it whose answers are used.

    `file` is JSON Lines, CSV, TSV or Parquet with one row per answer: ``model``, ``answer``, ``id`` or ``question``
    (with its context), and optionally ``outcome``. Other columns are ignored.
    """

    file: FileRef
    model: str


@dataclass(frozen=True, slots=True)
class RecordedAnswerRow:
    """One answer and its line in the file. White space in `question` is folded."""

    line: int
    model: str
    id: str
    question: str
    text: str
    outcome: AnswerOutcome


def recorded_answer_models(file: Path) -> list[str]:
    """The models whose answers `file` has, in order of appearance; DataError lists unusable and repeated rows."""
    return list(dict.fromkeys(row.model for row in _read(file)))


class RecordedAnswers(Baseline):
    """Gives each item the recorded answer with its id, else the one with its whole question.

    An item without a row, or whose row has no answer, is ``missing``; a blank text is ``empty``. A row with the item's
    id but another question, and different rows for one question without the item's id, are a DataError.
    """

    kind: ClassVar[str] = "recorded"
    spec_class: ClassVar[type[KindSpec]] = RecordedSpec

    spec: RecordedSpec

    def open(self, workplace: Path) -> None:  # noqa: ARG002
        """Read the file."""
        rows = [row for row in _read(self.spec.file.file) if row.model == self.spec.model]
        if not rows:
            models = recorded_answer_models(self.spec.file.file)
            raise DataError(
                f"{self.spec.file.path} has no answer of the model {self.spec.model!r}",
                where=str(self.spec.file.file),
                why=f"there are {', '.join(models)}" if models else "it has no answers",
                next="write the name as in the file",
            )
        self._by_id = {row.id: row for row in rows if row.id}
        self._by_question: dict[str, list[RecordedAnswerRow]] = {}
        for row in rows:
            if row.question:
                self._by_question.setdefault(row.question, []).append(row)

    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """The recorded answer."""
        question = normalise_space(make_case(item, "").question)
        row = self._by_id.get(item.id)
        if row is not None:
            bare = normalise_space("".join(item.payload.texts().get("question", ())))
            if row.question and row.question not in (question, bare):
                raise self._conflict(row, f"{item.id} asks {question!r}, and this row answers {row.question!r}")
            return row.text, row.outcome
        rows = self._by_question.get(question, [])
        if len({(row.text, row.outcome) for row in rows}) > 1:
            lines = ", ".join(str(row.line) for row in rows)
            raise self._conflict(rows[0], f"lines {lines} answer one question differently, and none has {item.id}")
        return (rows[0].text, rows[0].outcome) if rows else ("", "missing")

    def _conflict(self, row: RecordedAnswerRow, why: str) -> DataError:
        return DataError(
            f"{self.spec.file.path} has conflicting answers of {row.model!r} for an item",
            where=f"{self.spec.file.path}:{row.line}",
            why=why,
            next="correct the ids of the file, or leave them out if each question occurs once",
        )


def _read(file: Path) -> list[RecordedAnswerRow]:
    try:
        status = file.stat()
    except OSError:
        read_row_file(file)  # reports what is wrong
        raise
    return _read_once(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)
def _read_once(file: Path, _modified: int, _size: int) -> list[RecordedAnswerRow]:
    """The rows of a file; it is read once for all of its models."""
    rows: list[RecordedAnswerRow] = []
    problems: list[str] = []
    for line, raw in read_row_file(file):
        try:
            rows.append(_parse_row(line, raw))
        except ValueError as error:
            problems.append(f"{file.name}:{line}: {error}")
    problems += _duplicate_problems(file, rows)
    raise_row_errors(problems, f"{file.name} has answers that cannot be used", _NEXT)
    return rows


def _parse_row(line: int, raw: dict[str, Any]) -> RecordedAnswerRow:
    """Parse a row; ValueError says what is wrong."""
    cells: dict[str, str | None] = {}
    for name in ("model", "id", "question", "answer", "outcome"):
        value = raw.get(name)
        if value is not None and not isinstance(value, str):
            if name == "answer" or isinstance(value, list | dict):
                raise ValueError(f"{name} is {type(value).__name__}, not text")
            value = str(value)
        cells[name] = value
    model, name, question = (str(cells[key] or "").strip() for key in ("model", "id", "question"))
    if not model:
        raise ValueError("there is no `model`")
    if not name and not question:
        raise ValueError("there is neither `id` nor `question`")
    outcome = (cells["outcome"] or "").strip()
    if outcome and outcome not in _OUTCOMES:
        raise ValueError(f"outcome is {outcome!r}; known are {', '.join(_OUTCOMES)}")
    if "answer" not in raw and not outcome:
        raise ValueError("there is no `answer`")
    text = (cells["answer"] or "").strip()
    if not outcome:
        outcome = "missing" if cells["answer"] is None else "complete" if text else "empty"
    elif outcome == "complete" and not text:
        outcome = "empty"
    return RecordedAnswerRow(line, model, name, normalise_space(question), text, cast(AnswerOutcome, outcome))


def _duplicate_problems(file: Path, rows: Iterable[RecordedAnswerRow]) -> list[str]:
    """Problems with answers of one model to the same id or, without ids, to the same question."""
    problems: list[str] = []
    first: dict[tuple[str, str, str], RecordedAnswerRow] = {}
    for row in rows:
        key = (row.model, row.id, "" if row.id else row.question)
        before = first.setdefault(key, row)
        if before is not row:
            also = "the same" if (before.text, before.outcome) == (row.text, row.outcome) else "another"
            target = f"to {row.id}" if row.id else f"to {row.question!r}"
            problems.append(
                f"{file.name}:{row.line}: {row.model} answered {target} before: line {before.line} has {also}"
            )
    return problems
