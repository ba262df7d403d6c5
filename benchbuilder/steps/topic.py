"""Keeps the rows that contain words of a word list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from benchbuilder.config import FileRef, KindSpec, Slot, StepSpec
from benchbuilder.core import (
    FilterResult,
    Fold,
    Passage,
    Row,
    SpecIssue,
    Table,
    WordFinder,
    combined_column,
    create_from_spec,
    fold_text,
    load_words,
)
from benchbuilder.retrieval import Tokenizer, word_boundary_problem
from benchbuilder.steps.base import Filter, Port, texts_of, unknown_texts
from benchbuilder.steps.language.columns import Scanner, to_comparison_form

WordMatches = tuple[Any, Any]
"""Row and word of each match, as two integer arrays of equal length; a pair may occur twice."""


FEW_ROWS = 1_000
"""With fewer rows than this, a filter may well keep few."""


def keeps_few(kept: int, rows: int) -> bool:
    """Whether a topic filter keeps so few rows that its words may not fit the source: less than 1 %, and few at all.

    >>> keeps_few(113, 262_187), keeps_few(9, 900), keeps_few(2_000, 4_000_000)
    (True, False, False)
    """
    return rows >= FEW_ROWS and kept < FEW_ROWS and kept < rows / 100


class TopicSpec(StepSpec):
    """`words` is the word list, one word per line; ``null`` keeps every row.

    `groups` maps names of your choice to text fields: a row is on topic if *every* group matches, by *any* of its
    fields. A field matches if it is a word of the list (`match` ``exact``), contains one (``contains``), or contains
    one as whole tokens of the `tokenizer` (``words``). Differences that `fold` names (``case``, ``marks``) are ignored:
    capitals unless it is set.
    """

    words: FileRef | None
    match: Literal["exact", "contains", "words"]
    fold: tuple[Fold, ...] = ("case",)
    groups: Annotated[dict[str, tuple[str, ...]], Field(min_length=1)]
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


class Topic(Filter):
    """Drops rows that are off topic.

    The tally ``words`` counts, by partition, the rows that contain each word, kept or not; a word in no row has zero.
    """

    kind: ClassVar[str] = "topic"
    spec_class: ClassVar[type[StepSpec]] = TopicSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Row)}
    reasons: ClassVar[Mapping[str, str]] = {"off_topic": "The texts contain no word of the word list."}

    spec: TopicSpec

    def __init__(self, spec: Any, context: Any) -> None:
        super().__init__(spec, context)
        self._words: tuple[str, ...] = ()
        self._keys: Any = None
        """The folded words."""
        self._tokenizer: Tokenizer | None = None
        self._scanner: Scanner | None = None
        self._finder: WordFinder | None = None
        if self.spec.match == "words" and self.spec.tokenizer is not None:
            self._tokenizer = create_from_spec("tokenizer", self.spec.tokenizer)

    def fingerprint(self) -> Mapping[str, str]:
        """The version of the tokenizer, if whole words are needed."""
        return {} if self._tokenizer is None else self._tokenizer.fingerprint()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Load the word list and the tokenizer's dictionary."""
        if self.spec.words is not None:
            self.set_words(load_words(self.spec.words.file))

    def set_words(self, words: Iterable[str]) -> None:
        """Search for `words` instead of the word list."""
        self._words = tuple(words)
        self._keys = pa.array([fold_text(word, self.spec.fold) for word in self._words], pa.string())
        self._scanner = self._finder = None
        if self._tokenizer is not None:
            self._tokenizer.open()

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """Groups with texts that the rows do not have, and a tokenizer that does not split words."""
        if self.spec.words is None:
            return
        if self.spec.match == "words":
            yield from word_boundary_problem(self._tokenizer)
        yield from unknown_texts(rows["each"], {f"groups.{group}": f for group, f in self.spec.groups.items()})

    def remarks_on(self, rows: Sequence[Any]) -> Iterator[SpecIssue]:
        """A filter that keeps hardly any of the rows."""
        if self.spec.words is None or len(rows) < FEW_ROWS:
            return
        self.open({})
        for partition in dict.fromkeys(row.partition for row in rows):
            same = [row for row in rows if row.partition == partition]
            reasons: Any = self.screen(Table.of(same, type(same[0]))).reasons
            kept = reasons.null_count
            if keeps_few(kept, len(same)):
                yield SpecIssue(
                    "words",
                    f"the topic filter keeps {kept} of the first {len(same)} rows of {partition}",
                    self.spec.words.path,
                    ("look at the word list, its `match` and `groups`; `words: null` keeps every row",),
                )

    def screen(self, table: Table[Any]) -> FilterResult:
        """The result for every row, and the tally of the words."""
        if self.spec.words is None:
            all_kept: Any = pa.nulls(len(table), pa.string()).dictionary_encode()
            return FilterResult(all_kept, pa.array([""] * len(table), pa.string()).dictionary_encode())
        groups = self.find_matches(table)
        missing = np.zeros(len(table), dtype=np.int64)
        for bit, hits in enumerate(groups.values()):
            group = np.ones(len(table), dtype=bool)
            for rows, _ in hits:
                group[rows] = False
            missing |= group.astype(np.int64) << bit
        codes: Any = pa.array(missing).dictionary_encode()
        dropped: Any = pa.array(np.zeros(len(table), np.int8), mask=missing == 0)
        reasons = pa.DictionaryArray.from_arrays(dropped, pa.array(["off_topic"]))
        details = pa.array([self._unmatched_groups(code) for code in codes.dictionary.to_pylist()], pa.string())
        screened = FilterResult(reasons, pa.DictionaryArray.from_arrays(codes.indices, details))
        self._count_words(screened, table, [hit for hits in groups.values() for hit in hits])
        return screened

    def find_matches(self, table: Table[Any]) -> dict[str, list[WordMatches]]:
        """The matches of each group, field by field; words are numbered by their position in the list."""
        lookups: list[tuple[Any, Any]] = []
        exact = self.spec.match == "exact"
        return {
            name: [
                self._match_exact(rows, texts, lookups) if exact else self._match_contained(rows, texts)
                for rows, texts in (_values(table, field) for field in fields)
            ]
            for name, fields in self.spec.groups.items()
        }

    def _unmatched_groups(self, code: int) -> str:
        """The detail of a drop: the fields of the groups whose bits are set in `code`."""
        fields = [f for bit, names in enumerate(self.spec.groups.values()) if code >> bit & 1 for f in names]
        return f"no word in {', '.join(fields)}" if fields else ""

    def _match_exact(self, row_numbers: Any, values: Any, lookups: list[tuple[Any, Any]]) -> WordMatches:
        """The exact matches of one field; `lookups` caches texts and their words, as several fields are often equal."""
        words = next((words for texts, words in lookups if len(texts) == len(values) and texts.equals(values)), None)
        if words is None:
            indices: Any = pc.index_in(to_comparison_form(values, self.spec.fold), value_set=self._keys)
            words = indices.fill_null(-1).to_numpy(zero_copy_only=False)
            lookups.append((values, words))
        matches = np.flatnonzero(words >= 0)
        return row_numbers[matches], words[matches]

    def _match_contained(self, row_numbers: Any, values: Any) -> WordMatches:
        if self._scanner is None:
            self._scanner = Scanner(self._keys.to_pylist())
        compared: list[Any] = to_comparison_form(values, self.spec.fold).to_pylist()
        texts, words = self._scanner.scan(compared)
        if self._tokenizer is None:
            return row_numbers[texts], words
        if self._finder is None:
            self._finder = WordFinder(self._words, self.spec.fold, self._tokenizer.tokens)
        index = {word: number for number, word in enumerate(self._words)}
        numbers: Any = np.unique(texts)
        pairs = [
            (number, index[word])
            for number, text in zip(numbers.tolist(), values.take(pa.array(numbers)).to_pylist(), strict=True)
            for word in self._finder.find(text)
        ]
        columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return row_numbers[columns[:, 0]], columns[:, 1]

    def _count_words(self, screened: FilterResult, table: Table[Any], matches: list[WordMatches]) -> None:
        """Count each word once per row, in however many fields and groups it matches."""
        partition: Any = combined_column(table.arrow, "partition")
        if not isinstance(partition, pa.DictionaryArray):
            partition = partition.dictionary_encode()
        names, size = [str(name) for name in partition.dictionary.to_pylist()], len(self._words)
        pairs = np.unique(np.concatenate([row.astype(np.int64) * size + word for row, word in matches]))
        codes = partition.indices.to_numpy(zero_copy_only=False)
        counts = np.zeros((len(names), size), dtype=np.int64)
        np.add.at(counts, (codes[pairs // size], pairs % size), 1)
        for name, row in zip(names, counts.tolist(), strict=True):
            for word, count in zip(self._words, row, strict=True):
                screened.tallies["words", name, word] = count


def _values(table: Table[Any], field: str) -> tuple[Any, Any]:
    """The row numbers of the texts of `field`, and the texts as an Arrow array."""
    rows = np.arange(len(table), dtype=np.int64)
    column = _column(table, field)
    if column is not None and pa.types.is_string(column.type):
        return rows, column
    if column is not None and pa.types.is_list(column.type) and pa.types.is_string(column.type.value_type):
        return pc.list_parent_indices(column).to_numpy(zero_copy_only=False).astype(np.int64), pc.list_flatten(column)
    pairs = [(number, text) for number, row in enumerate(table) for text in _texts(row, field)]
    return np.array([number for number, _ in pairs], dtype=np.int64), pa.array([t for _, t in pairs], pa.string())


def _column(table: Table[Any], field: str) -> Any:
    """The Arrow column of `field`, in the payload if there is one; ``None`` if the payload computes the text."""
    if "payload" not in table.arrow.schema.names:
        return combined_column(table.arrow, field) if field in table.arrow.schema.names else None
    known: Any = table.arrow.schema.field("payload").type
    return combined_column(table.arrow, f"payload.{field}") if known.get_field_index(field) >= 0 else None


def _texts(row: Any, field: str) -> tuple[str, ...]:
    texts: Mapping[str, tuple[str, ...]]
    texts = {"title": (row.title,), "text": (row.text,)} if isinstance(row, Passage) else row.payload.texts()
    return texts_of(texts, field, "the step's `groups`")
