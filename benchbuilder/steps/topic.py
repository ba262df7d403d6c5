"""Keep the rows that a word list calls on topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from benchbuilder.config import FileRef, KindSpec, Slot, StepSpec
from benchbuilder.core import (
    DataError,
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
    text_names,
)
from benchbuilder.retrieval import Tokenizer, word_boundary_problem
from benchbuilder.steps.base import Filter, Port
from benchbuilder.steps.language.composing import to_comparison_form
from benchbuilder.steps.language.scanning import Scanner

WordMatches = tuple[Any, Any]
"""Row and word of each hit, as two integer arrays of equal length; a pair may stand twice."""


class TopicSpec(StepSpec):
    """`words` is the word list, one word a line.

    `groups` maps names of your choice to text fields: a row is on topic if *every* group is hit, by *any* of its
    fields. A field is hit if it is a word of the list (`match` ``exact``), holds one (``contains``), or holds one as
    whole tokens of the `tokenizer` (``words``). What `fold` names (``case``, ``marks``) does not count.
    """

    words: FileRef
    match: Literal["exact", "contains", "words"]
    fold: tuple[Fold, ...] = ()
    groups: Annotated[dict[str, tuple[str, ...]], Field(min_length=1)]
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


class Topic(Filter):
    """Drops rows that are off topic.

    The tally ``words`` counts, by partition, the rows in which each word was found, kept or not; a word that was
    found in none stands there with zero.
    """

    kind: ClassVar[str] = "topic"
    spec_class: ClassVar[type[StepSpec]] = TopicSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Row)}
    output: ClassVar[type[Row] | None] = None
    reasons: ClassVar[Mapping[str, str]] = {"off_topic": "The texts hold no word of the word list."}

    spec: TopicSpec

    def __init__(self, spec: Any, context: Any) -> None:
        super().__init__(spec, context)
        self._words: tuple[str, ...] = ()
        self._keys: Any = None
        """The words as they are compared."""
        self._tokenizer: Tokenizer | None = None
        self._scanner: Scanner | None = None
        self._finder: WordFinder | None = None
        if self.spec.match == "words" and self.spec.tokenizer is not None:
            self._tokenizer = create_from_spec("tokenizer", self.spec.tokenizer)

    def fingerprint(self) -> Mapping[str, str]:
        """What shapes the words, where whole words are looked for."""
        return {} if self._tokenizer is None else self._tokenizer.fingerprint()

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Load the word list, and the tokenizer's dictionary."""
        self.set_words(load_words(self.spec.words.file))

    def set_words(self, words: Iterable[str]) -> None:
        """Get ready to look for `words`, in the place of the word list."""
        self._words = tuple(words)
        self._keys = pa.array([fold_text(word, self.spec.fold) for word in self._words], pa.string())
        self._scanner = self._finder = None
        if self._tokenizer is not None:
            self._tokenizer.open()

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:
        """Groups that name a text which the rows do not have, and a tokenizer that does not cut words."""
        if self.spec.match == "words":
            yield from word_boundary_problem(self._tokenizer)
        known = text_names(rows["each"])
        for group, fields in self.spec.groups.items():
            for field in fields if known else ():
                if field not in known:
                    yield SpecIssue(f"groups.{group}", "the rows have no such text", field, known)

    def screen(self, table: Table[Any]) -> FilterResult:
        """Every row, and the tally of the words."""
        groups = self.find_matches(table)
        missing = np.zeros(len(table), dtype=np.int64)
        for bit, hits in enumerate(groups.values()):
            group = np.ones(len(table), dtype=bool)
            for at, _ in hits:
                group[at] = False
            missing |= group.astype(np.int64) << bit
        codes, which = _dense_codes(missing, len(groups))
        lost: Any = pa.array(np.zeros(len(table), np.int8), mask=missing == 0)
        reasons = pa.DictionaryArray.from_arrays(lost, pa.array(["off_topic"]))
        details = pa.array([self._unmatched_groups(code) for code in codes.tolist()], pa.string())
        screened = FilterResult(reasons, pa.DictionaryArray.from_arrays(which, details))
        self._count_words(screened, table, [hit for hits in groups.values() for hit in hits])
        return screened

    def find_matches(self, table: Table[Any]) -> dict[str, list[WordMatches]]:
        """What each group hits, field by field; words are numbered as they stand in the list."""
        known: list[tuple[Any, Any]] = []
        exact = self.spec.match == "exact"
        found: dict[str, list[WordMatches]] = {}
        for name, fields in self.spec.groups.items():
            texts = [_values(table, field) for field in fields]
            found[name] = [self._match_exact(*both, known) if exact else self._match_contained(*both) for both in texts]
        return found

    def _unmatched_groups(self, code: int) -> str:
        """Where no word was found, for the groups whose bits are set in `code`."""
        fields = [f for bit, names in enumerate(self.spec.groups.values()) if code >> bit & 1 for f in names]
        return f"no word in {', '.join(fields)}" if fields else ""

    def _match_exact(self, row_numbers: Any, values: Any, lookups: list[tuple[Any, Any]]) -> WordMatches:
        """`lookups` holds the texts that were looked up for these rows, and their words: where an end of a triple is
        its
        own only term, both fields hold the same."""
        words = next((words for texts, words in lookups if len(texts) == len(values) and texts.equals(values)), None)
        if words is None:
            found: Any = pc.index_in(to_comparison_form(values, self.spec.fold), value_set=self._keys)
            words = found.fill_null(-1).to_numpy(zero_copy_only=False)
            lookups.append((values, words))
        there = np.flatnonzero(words >= 0)
        return row_numbers[there], words[there]

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
        held: Any = np.unique(texts)
        pairs = [
            (text, index[word])
            for text, said in zip(held.tolist(), values.take(pa.array(held)).to_pylist(), strict=True)
            for word in self._finder.find(said)
        ]
        both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return row_numbers[both[:, 0]], both[:, 1]

    def _count_words(self, screened: FilterResult, table: Table[Any], matches: list[WordMatches]) -> None:
        """Count each word once a row, however many fields and groups it hits."""
        partition: Any = combined_column(table.arrow, "partition")
        if not isinstance(partition, pa.DictionaryArray):
            partition = partition.dictionary_encode()
        names, size = [str(name) for name in partition.dictionary.to_pylist()], len(self._words)
        pairs = np.unique(np.concatenate([at.astype(np.int64) * size + word for at, word in matches]))
        codes = partition.indices.to_numpy(zero_copy_only=False)
        counts = np.zeros((len(names), size), dtype=np.int64)
        np.add.at(counts, (codes[pairs // size], pairs % size), 1)
        for name, row in zip(names, counts.tolist(), strict=True):
            for word, count in zip(self._words, row, strict=True):
                screened.tallies["words", name, word] = count


_FEW_GROUPS = 16


def _dense_codes(values: Any, bits: int) -> tuple[Any, Any]:
    """The different numbers of so many bits among `values`, rising, and the place of each value among them."""
    if bits > _FEW_GROUPS:
        codes, places = np.unique(values, return_inverse=True)
        return codes, pa.array(places)
    codes = np.flatnonzero(np.bincount(values, minlength=1 << bits))
    place = np.zeros(1 << bits, np.int32)
    place[codes] = np.arange(len(codes), dtype=np.int32)
    return codes, pa.array(place[values])


def _values(table: Table[Any], field: str) -> tuple[Any, Any]:
    """The texts of `field` as an Arrow array, beside the row number of each."""
    rows = np.arange(len(table), dtype=np.int64)
    held = _column(table, field)
    if held is not None and pa.types.is_string(held.type):
        return rows, held
    if held is not None and pa.types.is_list(held.type) and pa.types.is_string(held.type.value_type):
        return pc.list_parent_indices(held).to_numpy(zero_copy_only=False).astype(np.int64), pc.list_flatten(held)
    pairs = [(number, text) for number, row in enumerate(table) for text in _texts(row, field)]
    return np.array([number for number, _ in pairs], dtype=np.int64), pa.array([t for _, t in pairs], pa.string())


def _column(table: Table[Any], field: str) -> Any:
    """The Arrow column of `field`, in the payload if there is one; ``None`` if the payload makes the text itself."""
    if "payload" not in table.arrow.schema.names:
        return combined_column(table.arrow, field) if field in table.arrow.schema.names else None
    known: Any = table.arrow.schema.field("payload").type
    return combined_column(table.arrow, f"payload.{field}") if known.get_field_index(field) >= 0 else None


def _texts(row: Any, field: str) -> tuple[str, ...]:
    texts: Mapping[str, tuple[str, ...]]
    texts = {"title": (row.title,), "text": (row.text,)} if isinstance(row, Passage) else row.payload.texts()
    if field not in texts:
        raise DataError(
            f"the rows have no text {field!r}",
            where=field,
            why=f"their texts are {', '.join(texts)}",
            next="name one of them in the step's `groups`",
        )
    return texts[field]
