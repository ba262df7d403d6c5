"""The source kind `faq`: questions and answers of Markdown pages, as passages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import FileRef
from benchbuilder.core import Dropped, Passage, Row
from benchbuilder.sources import (
    READING_REASONS,
    Column,
    Encoding,
    RawRow,
    SourceFile,
    SourceSpec,
    UnitSource,
    find_files,
    read_lines,
)


class FaqSpec(SourceSpec):
    """Markdown pages whose headings of one level are questions; what stands below one is its answer."""

    path: FileRef
    """A page, a folder of pages (``.md``) or a glob."""
    level: Annotated[int, Field(ge=1, le=6)] = 2
    """How many ``#`` stand before a question."""
    encoding: Encoding = "utf-8"


class Faq(UnitSource[FaqSpec]):
    """One passage a question: the question is its title, the answer its text, the page its document.

    The number of a unit is the line of its heading. What stands before the first question belongs to none.
    """

    kind: ClassVar[str] = "faq"
    version: ClassVar[int] = 1
    spec_class: ClassVar[type[SourceSpec]] = FaqSpec
    output: ClassVar[type[Row]] = Passage
    reasons: ClassVar[Mapping[str, str]] = {**READING_REASONS, "no_answer": "Nothing stands below the question."}
    shape_hint: ClassVar[str] = "check level in the recipe: how many # stand before a question"

    def select_files(self) -> tuple[list[SourceFile], list[SourceFile]]:
        """The pages."""
        return find_files(self.spec.path, self.key("path"), [".md"]), []

    def columns(self) -> Sequence[Column]:
        """What a unit has."""
        return ("question", "answer")

    def units(self, source_file: SourceFile) -> Iterator[RawRow]:
        """Each question with its answer, as they stand on the page."""
        heading = re.compile(rf"#{{{self.spec.level}}}(?:\s(.*)|$)")
        above = re.compile(rf"#{{1,{self.spec.level}}}(?:\s|$)")
        number, question, answer, problem = 0, "", list[str](), ""
        for line in read_lines(source_file.path, self.spec.encoding):
            if not above.match(line.text):
                answer.append(line.text)
                problem = problem or line.problem
                continue
            if number:
                yield _unit(number, question, answer, problem)
            asked = heading.match(line.text)
            number, question = (line.number, asked[1] or "") if asked else (0, "")
            answer, problem = [], line.problem
        if number:
            yield _unit(number, question, answer, problem)

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The passage of one question, or why there is none."""
        question, answer = values
        if not question:
            return Dropped("missing_field", "question")
        if not answer:
            return Dropped("no_answer", question)
        return Passage.build(
            base=self.name,
            document=source_file.path.stem,
            title=question,
            text=answer,
            **self.row_header(source_file, line),
        )


def _unit(number: int, question: str, answer: Sequence[str], problem: str) -> RawRow:
    if problem:
        return RawRow(number, (), "undecodable", problem)
    return RawRow(number, (question.strip(), "\n".join(answer).strip()))
