"""Builds the inverted index of BM25 in bounded memory, by slices of texts, then by ranges of terms; its formulas."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

from benchbuilder.retrieval.retrievers.array_cache import Array, Shapes, array_file, memory_map, read_array_part
from benchbuilder.retrieval.retrievers.token_slices import IndexTerms, token_slices

_RANGE = 1 << 21
"""Postings that are sorted or weighed at a time."""
_TERM = 32
"""An unsorted posting is one number: the term in the bits above this one, the text in those below."""


def build_index(folder: Path, texts: Sequence[str], words: IndexTerms, workers: int) -> Shapes:
    """Write the index of `texts` into `folder`.

    Terms are numbered by first occurrence. The postings of term `n` begin at ``starts[n]``: the texts that contain it
    in ascending order (`documents`), and its count in each (`frequencies`). `lengths` holds the tokens per text.
    `terms` and `term_starts` hold the spelling of the terms; `hashes` and `hashed` look them up.
    """
    known: dict[str, int] = {}
    runs = _PostingRuns(folder)
    with array_file(folder, "lengths").open("wb") as lengths:
        first = 0
        for piece in token_slices(texts, words, workers, folder):
            numbers = np.fromiter((known.setdefault(term, len(known)) for term in piece.terms), np.int64)
            _put(lengths, piece.lengths)
            holders = np.repeat(np.arange(first, first + len(piece.lengths)), piece.lengths)
            runs.add((numbers[piece.tokens] << _TERM) | holders, len(known))
            first += len(piece.lengths)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(runs.counts)])
    _put_file(folder, "starts", starts.astype("<i8"))
    runs.merge(starts)
    terms = _put_terms(folder, known)
    postings = int(starts[-1])
    return {
        "lengths": ("<i4", [first]), "starts": ("<i8", [len(starts)]), "documents": ("<i4", [postings]),
        "frequencies": ("<i4", [postings]), **terms,
    }  # fmt: skip


def weigh_postings(folder: Path, index_folder: Path, index: dict[str, Array], formula: Bm25Formula) -> Shapes:
    """Write the weight of each posting by `formula`, and the highest weight of each term."""
    starts = index["starts"]
    lengths, idf = formula.lengths(index["lengths"]), formula.idf(np.diff(starts), len(index["lengths"]))
    with ExitStack() as stack:
        weights, best = (stack.enter_context(array_file(folder, name).open("wb")) for name in ("weights", "best"))
        for low, high in _ranges(starts):
            first, end = int(starts[low]), int(starts[high])
            documents, times = (
                read_array_part(index_folder, name, "<i4", first, end) for name in ("documents", "frequencies")
            )
            of_terms = np.repeat(idf[low:high], np.diff(starts[low : high + 1]))
            made = formula.weights(of_terms, times, lengths[documents])
            _put(weights, made.astype("<f8", copy=False))
            _put(best, np.maximum.reduceat(made, starts[low:high] - first))
    count = len(starts) - 1
    _put_file(folder, "idf", idf.astype("<f8"))
    return {"weights": ("<f8", [int(starts[-1])]), "best": ("<f8", [count]), "idf": ("<f8", [count])}


class IndexedTerm(NamedTuple):
    """Start and end of the postings of a term, its idf, and its highest weight."""

    start: int
    end: int
    idf: float
    best: float


def term_hash(term: bytes) -> int:
    """The hash that looks up a term."""
    return int.from_bytes(hashlib.blake2b(term, digest_size=8).digest(), "little")


class _PostingRuns:
    """Postings in files: sorted within each slice of texts, then merged by ranges of terms."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ends = [0]
        self.counts = np.zeros(0, np.int64)
        """Number of texts that contain each term."""
        self._keys, self._times = (array_file(folder, name) for name in ("run_keys", "run_times"))
        for path in (self._keys, self._times):
            path.write_bytes(b"")

    def add(self, tokens: Array, terms: int) -> None:
        """Add the tokens of a slice; `terms` is the number of terms so far."""
        tokens.sort()
        first = np.flatnonzero(np.concatenate([np.ones(min(1, len(tokens)), bool), tokens[1:] != tokens[:-1]]))
        keys, times = tokens[first], np.diff(np.append(first, len(tokens)))
        with self._keys.open("ab") as keys_file, self._times.open("ab") as times_file:
            _put(keys_file, keys.astype("<i8", copy=False))
            _put(times_file, times.astype("<i4"))
        self._ends.append(self._ends[-1] + len(keys))
        counts = np.bincount(keys >> _TERM, minlength=terms)
        counts[: len(self.counts)] += self.counts
        self.counts = counts

    def merge(self, starts: Array) -> None:
        """Write the postings of all slices, term by term."""
        keys = memory_map(self._keys, "<i8", [self._ends[-1]])
        pairs = list(zip(self._ends, self._ends[1:], strict=False))
        with ExitStack() as stack:
            names = ("documents", "frequencies")
            documents, frequencies = (stack.enter_context(array_file(self._folder, name).open("wb")) for name in names)
            for low, high in _ranges(starts):
                bounds = np.array([low << _TERM, high << _TERM])
                cuts = [(first + np.searchsorted(keys[first:end], bounds)).tolist() for first, end in pairs]
                found = np.concatenate([read_array_part(self._folder, "run_keys", "<i8", *cut) for cut in cuts])
                order = np.argsort(found, kind="stable")
                _put(documents, (found[order] & ((1 << _TERM) - 1)).astype("<i4"))
                times = np.concatenate([read_array_part(self._folder, "run_times", "<i4", *cut) for cut in cuts])
                _put(frequencies, times[order])
        del keys  # Windows removes no file that is mapped
        for path in (self._keys, self._times):
            path.unlink()


def _ranges(starts: Array) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive terms with a bounded number of postings; each has at least one term."""
    low, count = 0, len(starts) - 1
    while low < count:
        high = int(np.searchsorted(starts, starts[low] + _RANGE, "right")) - 1
        high = min(max(high, low + 1), count)
        yield low, high
        low = high


def _put_terms(folder: Path, known: Iterable[str]) -> Shapes:
    hashes: list[int] = []
    sizes: list[int] = []
    with array_file(folder, "terms").open("wb") as spelled:
        for term in known:
            data = term.encode()
            spelled.write(data)
            sizes.append(len(data))
            hashes.append(term_hash(data))
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.array(sizes, np.int64))])
    by_hash = np.array(hashes, np.uint64)
    order = np.argsort(by_hash, kind="stable")
    _put_file(folder, "term_starts", starts.astype("<i8"))
    _put_file(folder, "hashes", by_hash[order].astype("<u8"))
    _put_file(folder, "hashed", order.astype("<i4"))
    count = len(hashes)
    return {
        "terms": ("|u1", [int(starts[-1])]), "term_starts": ("<i8", [count + 1]), "hashes": ("<u8", [count]),
        "hashed": ("<i4", [count]),
    }  # fmt: skip


def _put_file(folder: Path, name: str, array: Array) -> None:
    with array_file(folder, name).open("wb") as stream:
        _put(stream, array)


def _put(stream: BinaryIO, array: Any) -> None:
    stream.write(np.ascontiguousarray(array).data)


@dataclass(frozen=True)
class Bm25Formula:
    """A variant of BM25 with its settings: Okapi, BM25L or BM25+ (Trotman et al. 2014), as in `rank_bm25`."""

    variant: Literal["okapi", "l", "plus"]
    k1: float
    b: float
    epsilon: float
    delta: float

    def checksum(self) -> str:
        """A checksum of the settings that shape the weights."""
        unused = "delta" if self.variant == "okapi" else "epsilon"
        own = {name: value for name, value in asdict(self).items() if name != unused}
        return hashlib.blake2b(json.dumps(own, sort_keys=True).encode(), digest_size=8).hexdigest()

    def lengths(self, lengths: Array) -> Array:
        """The length normalisation of each text, shape (texts,)."""
        total = int(lengths.sum(dtype=np.int64))
        if not total:
            return np.zeros(len(lengths))
        parts = 1 - self.b + self.b * lengths.astype(np.int64) / (total / len(lengths))
        return parts if self.variant == "l" else self.k1 * parts

    def idf(self, holders: Array, count: int) -> Array:
        """The inverse document frequency of each term, from the number of texts that contain it, in term order."""
        if self.variant == "okapi":
            idf = _map_numbers(holders, lambda held: math.log(count - held + 0.5) - math.log(held + 0.5))
            if not len(idf):
                return idf
            # term after term, as sums of floating-point numbers depend on their order
            floor = self.epsilon * (float(np.cumsum(idf)[-1]) / len(idf))
            return np.where(idf < 0, floor, idf)
        if self.variant == "l":
            return _map_numbers(holders, lambda held: math.log(count + 1) - math.log(held + 0.5))
        return _map_numbers(holders, lambda held: math.log((count + 1) / held))

    def weights(self, idf: Array, times: Array, lengths: Array) -> Array:
        """The weight of each posting.

        Args:
            idf: Inverse document frequency per posting.
            times: Occurrences of the term in the text, per posting.
            lengths: Length normalisation per posting (see `lengths`).

        Returns:
            The addition to the score. For ``plus``, it must still be added to `delta` and multiplied by `idf`.
        """
        k1, times = self.k1, times.astype(np.int64)
        if self.variant == "okapi":
            return idf * (times * (k1 + 1) / (times + lengths))
        if self.variant == "l":
            ctd = times / lengths
            return idf * times * (k1 + 1) * (ctd + self.delta) / (k1 + ctd + self.delta)
        return (times * (k1 + 1)) / (lengths + times)


def _map_numbers(holders: Array, function: Callable[[int], float]) -> Array:
    """Apply `function` to each number; NumPy's logarithm may differ from the C library's in the last bit."""
    values, back = np.unique(holders, return_inverse=True)
    return np.array([function(int(value)) for value in values], np.float64)[back.reshape(-1)]
