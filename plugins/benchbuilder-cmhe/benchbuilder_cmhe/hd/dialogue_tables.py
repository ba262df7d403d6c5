"""The source kind `dialogue_tables`: questions in one table, answers in another, joined by the question's id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import Dropped, EndOfFile, Fact, Kept, Origin, ProducedBy, Row, SourceUnit
from benchbuilder.sources import (
    HEAD_ROWS,
    MIN_HEAD_ROWS,
    READING_REASONS,
    Column,
    Encoding,
    RawRow,
    SeenContents,
    Source,
    SourceFile,
    SourceSpec,
    TableDialect,
    delimited_rows,
    find_files,
    wrong_shape,
)
from pydantic import Field

from benchbuilder_cmhe.hd.dialogue import Dialogue

_FACT = Fact[Dialogue]
_SUFFIXES = (".csv", ".tsv", ".txt")


class DialogueTableFile(Spec):
    """A delimited file."""

    file: FileRef
    encoding: Encoding = "utf-8"
    delimiter: Annotated[str, Field(min_length=1)] = ","
    quoting: bool = True
    header: bool = True


class QuestionColumns(Spec):
    """A question by its id, with what else is known of it."""

    id: Column
    text: Column
    title: Column | None = None
    department: Column | None = None


class QuestionsTable(DialogueTableFile):
    """One question a row."""

    columns: QuestionColumns


class AnswerColumns(Spec):
    """An answer, and the id of its question."""

    question: Column
    text: Column


class AnswersTable(DialogueTableFile):
    """One answer a row; a question may have several."""

    columns: AnswerColumns


class DialogueTablesSpec(SourceSpec):
    """The two tables, and which of several answers to a question are read."""

    questions: QuestionsTable
    answers: AnswersTable
    several: Literal["all", "first"]


class DialogueTables(Source):
    """One dialogue for each answer whose question is there.

    The questions are an auxiliary table: those that no answer belongs to are named, the others counted as used.
    """

    kind: ClassVar[str] = "dialogue_tables"
    spec_class: ClassVar[type[SourceSpec]] = DialogueTablesSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "malformed_auxiliary": "A row of the table of questions is not well-formed, or lacks its id or its text.",
        "repeated_question": "The id of the question stands in an earlier row, which counts.",
        "no_question": "An answer without a question: the table of questions has no such id.",
        "no_answer": "A question without an answer: no row of the table of answers names its id.",
        "not_first": "The question has an earlier answer, and the recipe reads the first.",
    }
    spec: DialogueTablesSpec

    def files(self) -> list[FileRef]:
        """The questions, then the answers."""
        return [self._find_file("questions").ref, self._find_file("answers").ref]

    def check(self) -> None:
        """Look at the head of both files."""
        for name in ("questions", "answers"):
            head = list(islice(self._rows(name), HEAD_ROWS))
            if len(head) >= MIN_HEAD_ROWS and all(raw.reason for raw in head):
                raise wrong_shape(
                    f"sources.{self.name}.{name}",
                    self._find_file(name).name,
                    expected=f"rows with the columns {', '.join(map(str, self._columns(name)))}",
                    found=f"{head[0].reason}: {head[0].detail} (and so on, in the first {len(head)} rows)",
                    next="check columns, delimiter, quoting, header and encoding in the recipe",
                )

    def read(self) -> Iterator[SourceUnit | EndOfFile]:
        """The questions first, then the answers."""
        self.check()
        answered = {cells[0] for raw in self._rows("answers") if not raw.reason and all(cells := _cells(raw.values))}
        questions = yield from self._questions(answered)
        yield from self._answers(questions)

    def _questions(self, answered: set[str]) -> Generator[SourceUnit | EndOfFile, None, dict[str, dict[str, str]]]:
        found, counts = self._find_file("questions"), Counter[str]()
        names = [
            name for name in ("text", "title", "department") if getattr(self.spec.questions.columns, name) is not None
        ]
        questions: dict[str, dict[str, str]] = {}
        for raw in self._rows("questions"):
            key, *texts = _cells(raw.values) if not raw.reason else ("", "")
            outcome: Dropped | None = None
            if not key or not texts[0]:
                detail = f"{raw.reason}: {raw.detail}" if raw.reason else "missing_field: the id or the text is empty"
                outcome = Dropped("malformed_auxiliary", detail)
            elif key in questions:
                outcome = Dropped("repeated_question", key)
            else:
                questions[key] = dict(zip(names, texts, strict=True))
                outcome = None if key in answered else Dropped("no_answer", key)
            counts["used" if outcome is None else outcome.reason] += 1
            if outcome is not None:
                yield SourceUnit(found.name, raw.line, outcome)
        yield EndOfFile(found.name, counts.total(), dict(sorted(counts.items())))
        return questions

    def _answers(self, questions: Mapping[str, dict[str, str]]) -> Iterator[SourceUnit | EndOfFile]:
        found, seen, units = self._find_file("answers"), SeenContents(), 0
        read: set[str] = set()
        for raw in self._rows("answers"):
            units += 1
            yield SourceUnit(found.name, raw.line, self._outcome(raw, found, questions, seen, read))
        yield EndOfFile(found.name, units)

    def _outcome(
        self,
        raw: RawRow,
        source_file: SourceFile,
        questions: Mapping[str, dict[str, str]],
        answered_questions: SeenContents,
        questions_read: set[str],
    ) -> Kept | Dropped:
        if raw.reason:
            return Dropped(raw.reason, raw.detail)
        key, answer = _cells(raw.values)
        if not key or not answer:
            return Dropped("missing_field", "question" if not key else "answer")
        question = questions.get(key)
        if question is None:
            return Dropped("no_question", key)
        if self.spec.several == "first" and key in questions_read:
            return Dropped("not_first", key)
        questions_read.add(key)
        row = _FACT.build(
            payload=Dialogue(
                question=question["text"], answer=answer, title=question.get("title", ""),
                department=question.get("department", ""),
            ),
            origin=Origin(file=source_file.name, line=raw.line), language=self.language, partition=self.name,
            produced_by=ProducedBy(rule=self.kind, version=str(self.version)),
        )  # fmt: skip
        earlier = answered_questions.find_earlier(row.id, source_file.name, raw.line)
        return Dropped("duplicate", f"kept: {earlier}") if earlier else Kept(row)

    def _table(self, name: str) -> QuestionsTable | AnswersTable:
        return self.spec.questions if name == "questions" else self.spec.answers

    def _find_file(self, name: str) -> SourceFile:
        return find_files(self._table(name).file, f"sources.{self.name}.{name}.file", _SUFFIXES)[0]

    def _columns(self, name: str) -> Sequence[Column]:
        """Of questions: id, text, and what else is known; of answers: the id of the question, and the text."""
        if name == "answers":
            return [self.spec.answers.columns.question, self.spec.answers.columns.text]
        c = self.spec.questions.columns
        return [c.id, c.text, *(column for column in (c.title, c.department) if column is not None)]

    def _rows(self, name: str) -> Iterator[RawRow]:
        table, found = self._table(name), self._find_file(name)
        cut = TableDialect(
            key=f"sources.{self.name}.{name}", encoding=table.encoding, delimiter=table.delimiter,
            quoting=table.quoting, header=table.header, width=None,
        )  # fmt: skip
        return delimited_rows(found.path, found.name, cut, self._columns(name))


def _cells(values: Sequence[Any]) -> list[str]:
    return [str(value).strip() for value in values]
