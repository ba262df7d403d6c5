"""Cut the pages of knowledge bases into paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from benchbuilder.ports.stage import Map, Port
from benchbuilder.records.envelope import Row
from benchbuilder.records.fates import Dropped, Fate, Kept
from benchbuilder.records.passage import Passage
from benchbuilder.records.table import Table
from benchbuilder.spec.base import FileRef, StepSpec
from benchbuilder.text.normalise import tidy_space
from benchbuilder.text.script import Conversion, convert_script, script_version
from benchbuilder.text.wordlist import WordFinder, load_words


class ParagraphsSpec(StepSpec):
    """How pages are cut.

    Paragraphs of `min_chars` or fewer characters are dropped. The pages of the bases in `filter_bases` stay only if
    title or text holds a word of the list `words`. `convert` names an OpenCC configuration or is ``null``.
    """

    min_chars: Annotated[int, Field(ge=0)]
    filter_bases: tuple[str, ...]
    words: FileRef | None
    convert: Conversion | None = None

    @model_validator(mode="after")
    def _filter_has_words(self) -> ParagraphsSpec:
        if self.filter_bases and self.words is None:
            raise ValueError("`filter_bases` needs the word list `words`")
        return self


class Paragraphs(Map):
    """Cuts each page at its line breaks; lines of white space alone are no paragraphs.

    The slot of a paragraph is its number on the page, from 1. A page that is dropped as a whole has the slot "".
    """

    kind: ClassVar[str] = "paragraphs"
    spec_class: ClassVar[type[StepSpec]] = ParagraphsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage)}
    output: ClassVar[type[Row] | None] = Passage
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "off_topic": "No word of the word list stands on the page.",
        "too_short": "The paragraph has too few characters to be evidence.",
        "empty": "The page holds no text.",
    }

    spec: ParagraphsSpec

    def __init__(self, spec: Any, context: Any) -> None:
        super().__init__(spec, context)
        self._finder = WordFinder(())

    def fingerprint(self) -> Mapping[str, str]:
        """The version of OpenCC, where it is used."""
        return {} if self.spec.convert is None else {"opencc": script_version()}

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Load the word list."""
        if self.spec.filter_bases and self.spec.words is not None:
            self._finder = WordFinder(load_words(self.spec.words.file))

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Fate]:  # noqa: ARG002
        """The paragraphs of a page."""
        title, text = self._converted(row.title), self._converted(row.text)
        if row.base in self.spec.filter_bases and not self._finder.find(f"{title}\n{text}"):
            return [Dropped("off_topic", title or row.document)]
        lines = [line for raw in text.splitlines() if (line := tidy_space(raw))]
        if not lines:
            return [Dropped("empty", title or row.document)]
        return [self._fate(row, title, line, str(number)) for number, line in enumerate(lines, 1)]

    def _fate(self, row: Passage, title: str, text: str, slot: str) -> Fate:
        if len(text) <= self.spec.min_chars:
            return Dropped("too_short", text, slot)
        made_by = self.made_by()
        fields = {"base": row.base, "document": row.document, "title": title, "text": text}
        return Kept(Passage.child(row, made_by=made_by, slot=slot, **fields), slot)

    def _converted(self, text: str) -> str:
        return text if self.spec.convert is None else convert_script(text, self.spec.convert)
