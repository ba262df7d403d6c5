"""Splits the pages of knowledge bases into paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from benchbuilder.config import FileRef, KindSpec, Slot, StepSpec
from benchbuilder.core import (
    Conversion,
    Dropped,
    Fold,
    Kept,
    NotApplicable,
    Outcome,
    OutcomeBatch,
    Passage,
    Regex,
    Row,
    SpecIssue,
    Table,
    WordFinder,
    child_rows,
    combined_column,
    convert_script,
    create_from_spec,
    fold_text,
    load_words,
    match_groups,
    normalise_space,
    script_version,
    text_length,
)
from benchbuilder.retrieval import Tokenizer, word_boundary_problem
from benchbuilder.steps.base import Map, Port
from benchbuilder.steps.language.columns import Scanner
from benchbuilder.steps.language.normal_form import NormalForm, rewrite_texts, to_normal_form

_compute: Any = pc
_BLOCK_BYTES = 1 << 22
"""The approximate number of bytes that are split at a time."""
_Line = tuple[int, str, str, str, str]
"""A branch: the position of its page, its slot, its reason ("" if kept), its text or detail, and its title."""
_TRAIL = " > "
"""Stands between the title of a page and the headings of a paragraph."""
_HEADER_COLUMNS = ("id", "parents", "origin", "language", "partition")


def is_longer_than(text: str, most: int) -> bool:
    """Whether `text` has more than `most` visible characters; only the beginning of a long text is counted.

    >>> is_longer_than("e\\u0301t\\u00e9", 2), is_longer_than("e\\u0301t\\u00e9", 3)
    (True, False)
    """
    if len(text) <= most:
        return False
    begin = text[: 2 * most + 1]  # it has at most as many characters as the whole text
    return text_length(begin) > most or (len(begin) < len(text) and text_length(text) > most)


class ParagraphsSpec(StepSpec):
    """How pages are split.

    Paragraphs of `min_chars` or fewer characters are dropped. The pages of the bases in `filter_bases` stay only if
    title or text contains a word of the list `words`, anywhere (`match` ``contains``) or as whole tokens of the
    `tokenizer` (``words``). Without a list, every page stays. Differences that `fold` names (``case``, ``marks``) are
    ignored: capitals unless it is set. `convert` names an OpenCC configuration or is ``null``.
    """

    min_chars: Annotated[int, Field(ge=0)]
    filter_bases: tuple[str, ...]
    words: FileRef | None
    match: Literal["contains", "words"] = "contains"
    fold: tuple[Fold, ...] = ("case",)
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None
    convert: Conversion | None = None
    headings: tuple[Regex, ...] = ()
    """Patterns of headings, from the highest level to the lowest. Each must match a whole line; a group ``title`` names
    the heading, else it is the line. The title of a paragraph then ends in the headings above it."""
    normal_form: NormalForm | None = None
    """A form of Unicode (``NFC``: a letter and its marks as one character where there is one)."""


class Paragraphs(Map):
    """Splits each page at its line breaks; blank lines are no paragraphs.

    The slot of a paragraph is its number on the page, from 1. A dropped page has the slot "".
    """

    kind: ClassVar[str] = "paragraphs"
    spec_class: ClassVar[type[StepSpec]] = ParagraphsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage)}
    output: ClassVar[type[Row] | None] = Passage
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "off_topic": "The page contains no word of the word list.",
        "too_short": "The paragraph has too few characters to be evidence.",
        "empty": "The page has no text.",
        "heading": "The line is a heading: it is in the titles of the paragraphs below it.",
    }

    spec: ParagraphsSpec

    def __init__(self, spec: Any, context: Any) -> None:
        super().__init__(spec, context)
        self._finder = WordFinder(())
        self._scanner = Scanner(())
        self._tokenizer: Tokenizer | None = None
        if self.spec.match == "words" and self.spec.filter_bases and self.spec.tokenizer is not None:
            self._tokenizer = create_from_spec("tokenizer", self.spec.tokenizer)

    def fingerprint(self) -> Mapping[str, str]:
        """The versions of OpenCC and of the tokenizer, if they are used."""
        known = {} if self._tokenizer is None else dict(self._tokenizer.fingerprint())
        return known if self.spec.convert is None else {"opencc": script_version(), **known}

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """A tokenizer that does not split words, if whole words are needed."""
        return word_boundary_problem(self._tokenizer) if self.spec.match == "words" and self.spec.filter_bases else ()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Load the word list and the tokenizer's dictionary."""
        if self._tokenizer is not None:
            self._tokenizer.open()
        if self.spec.filter_bases and self.spec.words is not None:
            tokens = self._tokenizer.tokens if self._tokenizer is not None else None
            words = load_words(self.spec.words.file)
            self._finder = WordFinder(words, self.spec.fold, tokens)
            self._scanner = Scanner([fold_text(word, self.spec.fold) for word in words])

    def map(self, row: Passage, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The paragraphs of a page."""
        title, text = self._convert(row.title), self._convert(row.text)
        filtered = self.spec.words is not None and row.base in self.spec.filter_bases
        if filtered and not self._finder.find(f"{title}\n{text}"):
            return [Dropped("off_topic", title or row.document)]
        lines = list(self._lines(title, text))
        if not lines:
            return [Dropped("empty", title or row.document)]
        return [self._outcome(row, *line) for line in lines]

    def _lines(self, title: str, text: str) -> Iterator[tuple[str, str, str, str]]:
        """Slot, reason ("" if kept), text and title of each line of a page."""
        trail: list[str] = []
        number = 0
        for raw in text.splitlines():
            if not (line := normalise_space(raw)):
                continue
            number += 1
            level, heading = self._heading(line)
            if heading:
                trail = [*trail[:level], *[""] * (level - len(trail)), heading]
                yield str(number), "heading", line, title
                continue
            reason = "" if is_longer_than(line, self.spec.min_chars) else "too_short"
            yield str(number), reason, line, _TRAIL.join(filter(None, (title, *trail))) if trail else title

    def _heading(self, line: str) -> tuple[int, str]:
        """The level of a line that is a heading, from 0, and its text; an empty text for any other line."""
        for level, pattern in enumerate(self.spec.headings):
            if (groups := match_groups(pattern, line)) is not None:
                return level, groups.get("title") or line
        return 0, ""

    def _outcome(self, row: Passage, slot: str, reason: str, text: str, title: str) -> Outcome:
        if reason == "heading":
            return NotApplicable(reason, slot)
        if reason:
            return Dropped(reason, text, slot)
        produced_by = self.produced_by()
        fields = {"base": row.base, "document": row.document, "title": title, "text": text}
        return Kept(Passage.child(row, produced_by=produced_by, slot=slot, **fields), slot)

    def _convert(self, text: str) -> str:
        text = text if self.spec.normal_form is None else to_normal_form(text, self.spec.normal_form)
        return text if self.spec.convert is None else convert_script(text, self.spec.convert)

    def map_columns(self, table: Table[Any]) -> OutcomeBatch | None:
        """The paragraphs of many pages, by column."""
        batches = [
            self._split_pages(table.arrow.slice(start, stop - start), start) for start, stop in _blocks(table.arrow)
        ]
        if not batches:
            return self._outcome_batch(table.arrow, [], 0)
        names = ("row_position", "slots", "outcomes", "reasons", "details")
        columns: Any = (pa.concat_arrays([getattr(batch, name) for batch in batches]) for name in names)
        return OutcomeBatch(*columns, rows=Table.concat([batch.rows for batch in batches], Passage))

    def _split_pages(self, pages: pa.Table, first: int) -> OutcomeBatch:
        """The branches of some pages; the first one has the position `first` in its table."""
        columns: list[Any] = [combined_column(pages, name) for name in ("title", "text", "document")]
        titles, texts, documents = (column.to_pylist() for column in columns)
        if self.spec.normal_form is not None or self.spec.convert is not None:
            titles, texts = rewrite_texts(titles, self._convert), rewrite_texts(texts, self._convert)
        off_topic = self._off_topic_pages(combined_column(pages, "base"), titles, texts)
        lines: list[_Line] = []
        for place, (title, text, document) in enumerate(zip(titles, texts, documents, strict=True)):
            if place in off_topic:
                lines.append((place, "", "off_topic", title or document, ""))
                continue
            before = len(lines)
            lines += [(place, *line) for line in self._lines(title, text)]
            if len(lines) == before:
                lines.append((place, "", "empty", title or document, ""))
        return self._outcome_batch(pages, lines, first)

    def _off_topic_pages(self, bases: pa.Array[Any], titles: Sequence[str], texts: Sequence[str]) -> set[int]:
        """The positions of pages that the filter of their base drops."""
        if not self.spec.filter_bases or self.spec.words is None:
            return set()
        filtered = _compute.is_in(bases, value_set=pa.array(self.spec.filter_bases, pa.string()))
        places = np.flatnonzero(filtered.to_numpy(zero_copy_only=False)).tolist()
        whole = [f"{titles[place]}\n{texts[place]}" for place in places]
        numbers = set(self._scanner.scan([fold_text(text, self.spec.fold) for text in whole])[0].tolist())
        if self._tokenizer is not None:
            numbers = {number for number in numbers if self._finder.find(whole[number])}
        return set(places) - {places[number] for number in numbers}

    def _outcome_batch(self, pages: pa.Table, lines: Sequence[_Line], first: int) -> OutcomeBatch:
        """The branches of `lines`, and the rows of the kept ones."""
        places = np.array([line[0] for line in lines], np.int64)
        columns = (pa.array([line[part] for line in lines], pa.string()) for part in (1, 2, 3, 4))
        slots, reasons, texts, titles = columns
        kept = _compute.equal(reasons, "")
        of: Any = pa.array(places).filter(kept)
        base, document = (combined_column(pages, name).take(of) for name in ("base", "document"))
        fields = {"base": base, "document": document, "title": titles.filter(kept), "text": texts.filter(kept)}
        parents = pages.select(_HEADER_COLUMNS).take(of)
        rows = child_rows(Passage, parents, self.produced_by(), slots.filter(kept), fields)
        heading = _compute.equal(reasons, "heading")
        outcomes = _compute.if_else(kept, "kept", _compute.if_else(heading, "not_applicable", "dropped"))
        details = _compute.if_else(_compute.or_(kept, heading), "", texts)
        return OutcomeBatch(pa.array(places + first), slots, outcomes, reasons, details, rows)


def _blocks(pages: pa.Table) -> Iterator[tuple[int, int]]:
    """Runs of pages with about `_BLOCK_BYTES` bytes of text each."""
    sizes = _compute.binary_length(combined_column(pages, "text")).to_numpy(zero_copy_only=False)
    number = np.cumsum(sizes, dtype=np.int64) // _BLOCK_BYTES
    edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(number)]
    return ((start, stop) for start, stop in pairwise(edges) if stop > start)
