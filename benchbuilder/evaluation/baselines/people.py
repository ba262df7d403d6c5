"""The baseline kind `people`: answers by people, from the review app or from a file."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from benchbuilder.annotation import (
    EXPORT_COLUMNS,
    ProjectAnswer,
    project_answers_digest,
    proportional_sample,
    read_exported_answers,
    read_project_answers,
    task_key,
    unescape_formula,
)
from benchbuilder.config import FileRef, KindSpec, Name, RuntimeOption
from benchbuilder.core import AnswerOutcome, DataError, Item, normalise_space, raise_row_errors, read_row_file
from benchbuilder.evaluation.baselines.base import Baseline, BaselineSpec
from benchbuilder.evaluation.judges.base import make_case

_NEXT = (
    "a row has `answer`, `id` or `question` (with its context), and optionally `person`; or it is an export of votes"
)


class PeopleSpec(BaselineSpec):
    """Where people's answers come from.

    By default they are the answers to the guiding question `question` in the rating project `review` of the app. With
    `file` they come from a file (CSV, TSV, JSON Lines, Parquet) with one row per answer: ``answer``, ``id`` or
    ``question``, and optionally ``person``; or from the app's export (`benchbuild votes export csv`). `person` takes
    only the answers of one person, by their code. `database_env` is the recipe's setting for the review app.
    """

    review: Name = "human_baseline"
    question: Name = "answer"
    file: FileRef | None = None
    person: str | None = None
    database_env: Annotated[str | None, RuntimeOption()] = None

    @property
    def looks_elsewhere(self) -> bool:
        """A shared database is not in the folder of the build."""
        return self.database_env is not None


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """An answer of a person. `question` is the question they saw, with white space folded; empty if unknown."""

    where: str
    ids: tuple[str, ...]
    question: str
    person: str
    text: str


class PeopleAnswers(Baseline):
    """Gives each item an answer by a person; an item without one is ``missing``.

    If several people answered an item, a hash of item and person selects one answer. So the baseline is one person's
    answer, not the best of several, and no person answers all items. With `person`, all answers are by that person.
    """

    kind: ClassVar[str] = "people"
    spec_class: ClassVar[type[KindSpec]] = PeopleSpec

    spec: PeopleSpec

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self._sheet = False
        self._by_id: dict[str, list[PersonAnswer]] = {}
        self._by_question: dict[str, list[PersonAnswer]] = {}

    def external_inputs(self, workplace: Path) -> Mapping[str, str]:
        """A digest of the answers in the app; empty if there are none yet, or if they come from a file."""
        spec = self.spec
        digest = "" if spec.file is not None else project_answers_digest(spec.review, spec.database_env, workplace)
        return {f"answers in the app ({spec.review})": digest} if digest else {}

    def open(self, workplace: Path) -> None:
        """Read the answers."""
        spec = self.spec
        if spec.file is not None:
            answers, self._sheet = _file_answers(spec.file.file, spec.question)
        else:
            answers = _app_answers(read_project_answers(spec.review, spec.database_env, workplace), spec.question)
        self._by_id, self._by_question = {}, {}
        for answer in answers:
            if spec.person in (None, answer.person):
                for name in answer.ids:
                    self._by_id.setdefault(name, []).append(answer)
                if answer.question:
                    self._by_question.setdefault(answer.question, []).append(answer)

    def answer(self, item: Item[Any]) -> tuple[str, AnswerOutcome]:
        """The answer of one person."""
        question = normalise_space(make_case(item, "").question)
        bound = self._by_id.get(item.id, [])
        fitting = [candidate for candidate in bound if candidate.question in ("", question)]
        if self._sheet and len(fitting) < len(bound):
            other = next(candidate for candidate in bound if candidate not in fitting)
            raise DataError(
                f"the answer to {item.id} is for another question",
                where=other.where,
                why=f"the item asks {question!r}, and the row answers {other.question!r}",
                next="correct the id or the question of this row, or leave one of them empty",
            )
        fitting = fitting or self._by_question.get(question, [])
        if not fitting:
            return "", "missing"
        return min(fitting, key=lambda candidate: _place(item.id, candidate.person)).text, "complete"


def _place(item: str, person: str) -> str:
    return hashlib.blake2b(f"{item}:{person}".encode(), digest_size=8).hexdigest()


def _app_answers(votes: Iterable[ProjectAnswer], question: str) -> list[PersonAnswer]:
    """The texts of annotators for the guiding question."""
    return [
        PersonAnswer(
            vote.location, tuple(filter(None, vote.metadata.get("id", ()))),
            normalise_space(vote.fields.get("question") or next(iter(vote.fields.values()), "")), vote.person,
            str(vote.value).strip(),
        )
        for vote in votes
        if vote.question == question and vote.role == "annotator" and str(vote.value).strip()
    ]  # fmt: skip


def _file_answers(file: Path, question: str) -> tuple[list[PersonAnswer], bool]:
    """The answers in a file, and whether it is a plain file instead of an export; DataError lists unusable rows."""
    rows = read_row_file(file)
    if rows and set(rows[0][1]) >= EXPORT_COLUMNS:
        return _app_answers(read_exported_answers(file, rows), question), False
    if rows and not any("answer" in row for _, row in rows):
        columns = ", ".join(dict.fromkeys(name for _, row in rows for name in row))
        raise DataError(f"{file.name} has no column `answer`", where=str(file), why=f"there are {columns}", next=_NEXT)
    answers: list[PersonAnswer] = []
    problems: list[str] = []
    for line, row in rows:
        cells = (str(row.get(key) or "") for key in ("id", "question", "person", "answer"))
        name, shown, person, text = (unescape_formula(cell.strip()).strip() for cell in cells)
        where = f"{file.name}:{line}"
        if text and not name and not shown:
            problems.append(f"{where}: there is neither `id` nor `question`")
        elif text:
            answers.append(PersonAnswer(where, (name,) if name else (), normalise_space(shown), person, text))
    raise_row_errors([*problems, *_duplicate_problems(answers)], f"{file.name} has answers that cannot be used", _NEXT)
    return answers, True


def answer_sheet(items: Iterable[Item[Any]], count: int, seed: int) -> bytes:
    """A CSV file in which people can answer `count` items, sampled in proportion to their sources.

    With the recipe's seed, the rating project ``human_baseline`` draws the same items.
    """
    sample = proportional_sample(
        list(items), count, name=lambda item: task_key([("question", make_case(item, "").question.strip())]),
        group=lambda item: item.partition, seed=seed,
    )  # fmt: skip
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(["id", "source", "question", "answer", "person"])
    for item in sample:
        writer.writerow(
            [item.id, _escape_formula(item.partition), _escape_formula(make_case(item, "").question), "", ""]
        )
    return stream.getvalue().encode("utf-8-sig")


def _escape_formula(text: str) -> str:
    """A cell that a spreadsheet does not read as a formula."""
    return f"'{text}" if unescape_formula(f"'{text}") == text else text


def _duplicate_problems(answers: Sequence[PersonAnswer]) -> list[str]:
    first: dict[tuple[str, str], PersonAnswer] = {}
    problems: list[str] = []
    for answer in answers:
        before = first.setdefault(("".join(answer.ids) or answer.question, answer.person), answer)
        if before is not answer:
            who = answer.person or "somebody without a name in the column `person`"
            problems.append(f"{answer.where}: {who} answered this before, at {before.where}")
    return problems
