"""Cut the pages of knowledge bases into paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from benchbuilder import kinds
from benchbuilder.ports.stage import Complaint, Map, Port
from benchbuilder.ports.tokenizer import Tokenizer, not_of_words
from benchbuilder.records.envelope import Row
from benchbuilder.records.fates import Dropped, Fate, Kept
from benchbuilder.records.passage import Passage
from benchbuilder.records.table import Table
from benchbuilder.spec.base import FileRef, KindSpec, Slot, StepSpec
from benchbuilder.text.lengths import length
from benchbuilder.text.normalise import Fold, NormalForm, in_form, tidy_space
from benchbuilder.text.script import Conversion, convert_script, script_version
from benchbuilder.text.wordlist import WordFinder, load_words


class ParagraphsSpec(StepSpec):
    """How pages are cut.

    Paragraphs of `min_chars` or fewer characters are dropped. The pages of the bases in `filter_bases` stay only if
    title or text holds a word of the list `words`, anywhere (`match` ``contains``) or as whole tokens of the
    `tokenizer` (``words``); what `fold` names (``case``, ``marks``) does not count. `convert` names an OpenCC
    configuration or is ``null``.
    """

    min_chars: Annotated[int, Field(ge=0)]
    filter_bases: tuple[str, ...]
    words: FileRef | None
    match: Literal["contains", "words"] = "contains"
    fold: tuple[Fold, ...] = ()
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None
    convert: Conversion | None = None
    normal_form: NormalForm | None = None
    """A form of Unicode (``NFC``: a letter and its marks as one character where there is one)."""

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
        self._tokenizer: Tokenizer | None = None
        if self.spec.match == "words" and self.spec.filter_bases and self.spec.tokenizer is not None:
            self._tokenizer = kinds.create("tokenizer", self.spec.tokenizer)

    def fingerprint(self) -> Mapping[str, str]:
        """The versions of OpenCC and of the tokenizer, where they are used."""
        known = {} if self._tokenizer is None else dict(self._tokenizer.fingerprint())
        return known if self.spec.convert is None else {"opencc": script_version(), **known}

    def complaints(self, rows: Mapping[str, type[Row]]) -> Iterable[Complaint]:  # noqa: ARG002
        """A tokenizer that does not cut words, where whole words are looked for."""
        return not_of_words(self._tokenizer) if self.spec.match == "words" and self.spec.filter_bases else ()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Load the word list, and the tokenizer's dictionary."""
        if self._tokenizer is not None:
            self._tokenizer.open()
        if self.spec.filter_bases and self.spec.words is not None:
            tokens = self._tokenizer.tokens if self._tokenizer is not None else None
            self._finder = WordFinder(load_words(self.spec.words.file), self.spec.fold, tokens)

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
        if length(text) <= self.spec.min_chars:
            return Dropped("too_short", text, slot)
        made_by = self.made_by()
        fields = {"base": row.base, "document": row.document, "title": title, "text": text}
        return Kept(Passage.child(row, made_by=made_by, slot=slot, **fields), slot)

    def _converted(self, text: str) -> str:
        text = text if self.spec.normal_form is None else in_form(text, self.spec.normal_form)
        return text if self.spec.convert is None else convert_script(text, self.spec.convert)
