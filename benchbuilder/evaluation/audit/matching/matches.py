"""Matches of benchmark texts in documents: their coverage, longest run, and whether the answer is near."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import LengthUnit
from benchbuilder.evaluation.audit.matching.units import Hashes, Places, UnitText, run_hashes, unit_text

RUN = 10
"""Units of the shortest run that is looked for."""
STRONG_RUN = 13
CONTAINED, COPIED = 0.5, 0.8
"""The coverage from which a text counts as contained in a document, and as copied."""
_NEAR = 200
"""Characters around a match in which the answer is looked for."""
_BATCH = 1 << 19
_BETWEEN = "\x1e"
"""Separates the documents of a batch."""
_AROUND = 20
"""Characters of the excerpt before and after the longest run."""
_LONGEST_EXCERPT = 200
_DOCUMENTS = 5
"""So many documents are kept for each text, the best ones."""

Finding = Literal["copied", "contained", "long run", "run"]


class Document(NamedTuple):
    """A document of a corpus, and its name for people."""

    name: str
    text: str


@dataclass(frozen=True)
class BenchmarkText:
    """A text of an item: the item's number and id, the field, the text, and its right answer apart from the rest."""

    item: int
    id: str
    field: str
    text: str
    answer: str


@dataclass(frozen=True)
class TextMatch:
    """A text of the benchmark in a document.

    `start` is the character of the document at which the longest common run begins, `run` its length in units.
    `coverage` is the proportion of the text's runs that the document contains. `with_answer` says whether the right
    answer is near.
    """

    text: BenchmarkText
    document: str
    start: int
    run: int
    coverage: float
    with_answer: bool
    excerpt: str

    @property
    def finding(self) -> Finding:
        """What it means, in a word."""
        if self.coverage >= CONTAINED:
            return "copied" if self.coverage >= COPIED else "contained"
        return "long run" if self.run >= STRONG_RUN else "run"

    @property
    def rank(self) -> tuple[float, int, bool]:
        """The better of two matches ranks higher."""
        return self.coverage, self.run, self.with_answer


class Matcher:
    """Finds texts of a benchmark in documents."""

    def __init__(self, texts: Sequence[BenchmarkText], unit: LengthUnit) -> None:
        self._texts = texts
        self._unit: LengthUnit = unit
        self._units = [unit_text(text.text, unit) for text in texts]
        self._index = RunIndex(self._units, [text.item for text in texts], RUN)
        self.documents = self.characters = 0
        """How many documents were read, and how many characters."""

    def too_short(self) -> int:
        """How many texts cannot be found, as they have no run of their own."""
        return int((self._index.runs == 0).sum())

    def find(self, documents: Iterable[Document]) -> list[TextMatch]:
        """The best matches of each text, in the order of texts."""
        best: defaultdict[int, list[TextMatch]] = defaultdict(list)
        for batch in _batches(self._counted(documents)):
            for number, match in self._matches(batch):
                best[number] = sorted([*best[number], match], key=lambda m: m.rank, reverse=True)[:_DOCUMENTS]
        return [match for number in sorted(best) for match in best[number]]

    def _counted(self, documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            self.documents += 1
            self.characters += len(document.text)
            yield document

    def _matches(self, batch: Sequence[Document]) -> Iterator[tuple[int, TextMatch]]:
        corpus = unit_text(_BETWEEN.join(document.text.replace(_BETWEEN, " ") for document in batch), self._unit)
        hits = self._index.find(corpus.values)
        if not len(hits.corpus):
            return
        marks = np.frombuffer(corpus.text.encode("utf-32-le", "surrogatepass"), np.uint32)
        bounds = np.flatnonzero(marks == ord(_BETWEEN))
        inside = np.searchsorted(bounds, corpus.starts[hits.corpus])
        whole = inside == np.searchsorted(bounds, corpus.starts[hits.corpus + RUN - 1])
        hits, inside = RunHits(*(part[whole] for part in hits)), inside[whole]
        edges = np.concatenate(([-1], bounds, [len(corpus.text)]))
        for document, number, runs in _groups(hits, inside):
            match = self._match(
                number, batch[document], corpus, (int(edges[document]) + 1, int(edges[document + 1])), runs
            )
            if match is not None:
                yield number, match

    def _match(
        self, number: int, document: Document, corpus: UnitText, span: tuple[int, int], runs: _Runs
    ) -> TextMatch | None:
        """The match of a text in a document, if the longest run is equal as text too."""
        text, units = self._texts[number], self._units[number]
        at, place, length = runs.longest()
        first, last = int(corpus.starts[at]), int(corpus.ends[at + length - 1])
        theirs = corpus.compared(first, last)
        if theirs != units.compared(int(units.starts[place]), int(units.ends[place + length - 1])):
            return None
        begin, end = int(corpus.starts[runs.corpus.min()]), int(corpus.ends[runs.corpus.max() + RUN - 1])
        near = corpus.compared(max(span[0], begin - _NEAR), min(span[1], end + _NEAR))
        excerpt = corpus.text[max(span[0], first - _AROUND) : min(span[1], last + _AROUND)]
        return TextMatch(
            text, document.name, _original_place(document.text, first - span[0]), length,
            len(np.unique(runs.places)) / int(self._index.runs[number]), bool(text.answer) and text.answer in near,
            " ".join(excerpt.split())[:_LONGEST_EXCERPT],
        )  # fmt: skip


class _Runs(NamedTuple):
    """The common runs of a text and a document: where they begin in both, sorted by their difference."""

    corpus: Places
    places: Places

    def longest(self) -> tuple[int, int, int]:
        """Where the longest common run begins in the corpus and in the text, and its units."""
        joined = (np.diff(self.corpus) == 1) & (np.diff(self.places) == 1)
        begins = np.flatnonzero(np.concatenate(([True], ~joined)))
        lengths = np.diff(np.append(begins, len(self.corpus)))
        best = int(lengths.argmax())
        return int(self.corpus[begins[best]]), int(self.places[begins[best]]), int(lengths[best]) + RUN - 1


def _groups(hits: RunHits, documents: Places) -> Iterator[tuple[int, int, _Runs]]:
    """The hits of each document and text."""
    if not len(documents):
        return
    order = np.lexsort((hits.corpus, hits.corpus - hits.places, hits.texts, documents))
    document, number = documents[order], hits.texts[order]
    changes = np.flatnonzero((np.diff(document) != 0) | (np.diff(number) != 0)) + 1
    edges: Any = np.concatenate(([0], changes, [len(order)]))
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        chosen = order[first:last]
        yield int(document[first]), int(number[first]), _Runs(hits.corpus[chosen], hits.places[chosen])


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in batches of about half a million characters."""
    batch, size = list[Document](), 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if size >= _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _original_place(text: str, place: int) -> int:
    """The character of `text` that is at `place` once characters that stand for several are written out."""

    def written(end: int) -> int:
        return len(unit_text(text[:end], "characters").text)

    return place if written(place) == place else bisect.bisect_left(range(len(text)), place, key=written)


_BITS = 24
_AT_ONCE = 1 << 19
"""Units whose runs are looked up at once."""
_COMMON = 20
"""A run that more items than this contain is a stock phrase: it says nothing about any of them."""


class RunHits(NamedTuple):
    """Runs of a corpus that the benchmark contains: where they begin in the corpus, their texts, and where there."""

    corpus: Places
    texts: Places
    places: Places


class RunIndex:
    """The runs of `length` units of texts.

    The hash of a run in the corpus is looked up in a table of bits first, which most runs do not pass, and then in the
    sorted hashes of the benchmark. Equal hashes are no proof: callers compare the texts.
    """

    def __init__(self, texts: Sequence[UnitText], items: Sequence[int], length: int) -> None:
        """`items` says which item each text is of."""
        self.length = length
        parts = [run_hashes(text.values, length) for text in texts]
        sizes = np.array([len(part) for part in parts], np.int64)
        hashes: Hashes = np.concatenate(parts) if parts else np.zeros(0, np.uint64)
        owner = np.repeat(np.arange(len(texts)), sizes)
        place = np.arange(len(hashes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        common = _is_common(hashes, np.array(items, np.int64)[owner])
        order = np.flatnonzero(~common)
        order = order[np.argsort(hashes[order], kind="stable")]
        self._sorted, self._firsts = np.unique(hashes[order], return_index=True)
        self._ends = np.append(self._firsts[1:], len(order)).astype(np.int64)
        self._owners, self._places = owner[order], place[order]
        self.runs: Places = np.bincount(owner[order], minlength=len(texts))
        """By text, how many of its runs are looked for."""
        self._table = np.zeros(1 << _BITS, np.bool_)
        self._table[_first_bits(self._sorted)] = True

    def find(self, values: Hashes) -> RunHits:
        """Where the runs of a corpus, given by the values of its units, have the hash of a run of a text."""
        parts = [self._known(values, start) for start in range(0, len(values), _AT_ONCE)]
        places, ranks = (np.concatenate([part[at] for part in parts] or [np.zeros(0, np.int64)]) for at in (0, 1))
        counts = self._ends[ranks] - self._firsts[ranks]
        postings = np.repeat(self._firsts[ranks] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return RunHits(np.repeat(places, counts), self._owners[postings], self._places[postings])

    def _known(self, values: Hashes, start: int) -> tuple[Places, Places]:
        """Where runs that begin in one piece of a corpus are known, and the rank of their hashes."""
        hashes = run_hashes(values[start : start + _AT_ONCE + self.length - 1], self.length)
        places = np.flatnonzero(self._table[_first_bits(hashes)])
        ranks = np.searchsorted(self._sorted, hashes[places])
        found = ranks < len(self._sorted)
        places, ranks = places[found], ranks[found]
        found = self._sorted[ranks] == hashes[places]
        return places[found] + start, ranks[found]


def _first_bits(hashes: Hashes) -> Places:
    """The first bits of each hash: the last ones of a polynomial are the least random."""
    return (hashes >> np.uint64(64 - _BITS)).astype(np.int64)


def _is_common(hashes: Hashes, items: Places) -> NDArray[np.bool_]:
    """Which runs are in more than a few items."""
    if not len(hashes):
        return np.zeros(0, np.bool_)
    _, numbers = np.unique(hashes, return_inverse=True)
    pairs = np.unique(numbers.astype(np.int64) * (int(items.max()) + 1) + items)
    counts = np.bincount(pairs // (int(items.max()) + 1))
    return counts[numbers] > _COMMON
