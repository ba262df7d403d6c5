"""Cuts texts into index terms, slice by slice, in several processes."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.config import FileRef, KindSpec
from benchbuilder.core import (
    DataError,
    Fold,
    ServiceError,
    begin_worker_process,
    compose_characters,
    create_from_spec,
    drop_hidden,
    fold_text,
    load_words,
    name_file_in_errors,
)
from benchbuilder.retrieval.base import TokenColumns, Tokenizer
from benchbuilder.retrieval.retrievers.array_cache import encoded_blocks, memory_map

SLICE = 4096
"""Texts that are cut together."""
_BYTES_PER_WORKER = 1 << 21
"""Bytes of text per additional process, as starting one takes about a second."""


def token_slices(texts: Sequence[str], words: IndexTerms, workers: int, folder: Path) -> Iterator[TokenColumns]:
    """Cut all texts, in order. Processes exchange files in `folder`, which is empty again at the end.

    Raises:
        ServiceError: A process died.
    """
    if workers > 1 and len(texts) > SLICE:
        spilled = _SpilledTexts.of(texts, folder)
        most = min(workers, spilled.size // _BYTES_PER_WORKER, -(-len(texts) // SLICE))
        try:
            if most > 1:
                yield from _spread(spilled, words, most)
                return
        finally:
            spilled.remove()
    for start in range(0, len(texts), SLICE):
        yield words.columns(texts[start : start + SLICE])


@dataclass(frozen=True)
class _SpilledTexts:
    """Texts in files, from which the processes read."""

    folder: Path
    count: int
    size: int

    @classmethod
    def of(cls, texts: Sequence[str], folder: Path) -> _SpilledTexts:
        spilled = cls(folder, len(texts), 0)
        size = 0
        with name_file_in_errors(spilled.data), spilled.data.open("wb") as data, spilled.starts.open("wb") as starts:
            starts.write(np.zeros(1, "<i8").tobytes())
            for encoded, lengths in encoded_blocks(texts):
                data.write(encoded)
                starts.write((size + np.cumsum(lengths)).astype("<i8").tobytes())
                size += len(encoded)
        return replace(spilled, size=size)

    @property
    def data(self) -> Path:
        return self.folder / "texts.tmp"

    @property
    def starts(self) -> Path:
        return self.folder / "text_starts.tmp"

    def read(self, start: int, stop: int) -> list[str]:
        bounds = memory_map(self.starts, "<i8", [self.count + 1])[start : stop + 1].tolist()
        data = memory_map(self.data, "|u1", [self.size])
        return [data[low:high].tobytes().decode() for low, high in pairwise(bounds)]

    def remove(self) -> None:
        for path in (self.data, self.starts):
            path.unlink(missing_ok=True)


def _spread(texts: _SpilledTexts, words: IndexTerms, workers: int) -> Iterator[TokenColumns]:
    """Cut in several processes, with a few pending slices at a time."""
    context = multiprocessing.get_context("spawn")
    pending: deque[Future[Path]] = deque()
    try:
        with ProcessPoolExecutor(
            workers, mp_context=context, initializer=_init_worker, initargs=(texts, words)
        ) as pool:
            try:
                for start in range(0, texts.count, SLICE):
                    pending.append(pool.submit(_write, start, min(start + SLICE, texts.count)))
                    if len(pending) > 2 * workers:
                        yield _read(pending.popleft().result())
                while pending:
                    yield _read(pending.popleft().result())
            finally:
                pool.shutdown(wait=True, cancel_futures=True)
    except BrokenProcessPool as error:
        raise ServiceError(
            "a process that cuts texts into tokens died",
            why="usually the machine ran out of memory",
            next="the same command builds this index again; run.workers=1 needs less memory",
        ) from error


_worker_input: list[tuple[_SpilledTexts, IndexTerms]] = []


def _init_worker(texts: _SpilledTexts, words: IndexTerms) -> None:
    begin_worker_process()
    _worker_input[:] = [(texts, words)]


def _write(start: int, stop: int) -> Path:
    """Cut some of the texts and return the file with their tokens."""
    texts, words = _worker_input[0]
    made = words.columns(texts.read(start, stop))
    encoded = [term.encode() for term in made.terms]
    sizes = np.fromiter(map(len, encoded), "<i4", len(encoded))
    path = texts.folder / f"slice-{start}.npz"
    terms = np.frombuffer(b"".join(encoded), np.uint8)
    with name_file_in_errors(path):
        np.savez(path, lengths=made.lengths, tokens=made.tokens, terms=terms, sizes=sizes)
    return path


def _read(path: Path) -> TokenColumns:
    with np.load(path, allow_pickle=False) as found:
        arrays: dict[str, Any] = {name: found[name] for name in found.files}
    path.unlink()
    data, bounds = arrays["terms"].tobytes(), [0, *np.cumsum(arrays["sizes"]).tolist()]
    terms = [data[low:high].decode() for low, high in pairwise(bounds)]
    return TokenColumns(arrays["lengths"], arrays["tokens"], terms)


_READING = "nothing hidden"
"""How texts are read: without what nobody sees, such as soft hyphens. Another form makes other indexes."""
_FOLDING = 2
"""Version of the folding of an index; since 2, tokens that become empty are left out."""


def _read_form(text: str) -> str:
    return compose_characters(drop_hidden(text))


class IndexTerms:
    """Cuts texts into index terms: composed and folded tokens, without blanks and stop words.

    Picklable; the tokenizer is opened in each process when the first text is cut.
    """

    def __init__(self, kind: str, tokenizer: KindSpec | None, stop_words: FileRef | None, fold: Iterable[Fold]) -> None:
        if tokenizer is None:
            raise DataError(f"{kind} has no tokenizer", where="retriever.tokenizer", next="set tokenizer in the recipe")
        self._fold = tuple(fold)
        self._stop = frozenset(
            fold_text(word, self._fold) for word in (load_words(stop_words.file) if stop_words else ())
        )
        self._tokenizer: Tokenizer = create_from_spec("tokenizer", tokenizer)
        self._opened = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": False}

    def fingerprint(self) -> Mapping[str, str]:
        """Versions that shape the tokens."""
        return self._tokenizer.fingerprint()

    def checksum(self) -> str:
        """A checksum of the settings that shape the tokens."""
        tokenizer = self._tokenizer
        settings: list[Any] = [
            tokenizer.spec.model_dump(mode="json"),
            dict(tokenizer.fingerprint()),
            sorted(self._stop),
        ]
        settings += [_READING, *([sorted(self._fold), _FOLDING] if self._fold else [])]
        text = json.dumps(settings, ensure_ascii=False, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def columns(self, texts: Sequence[str]) -> TokenColumns:
        """The index terms of many texts."""
        lengths, tokens, spelled = self._tokenizer.token_columns(list(map(_read_form, texts)))
        if self._fold:
            spelled = [fold_text(token, self._fold) for token in spelled]
        known: dict[str, int] = {}
        # tokens are in order of first occurrence, so terms are too; -1 is no term
        terms = [known.setdefault(token, len(known)) if self._is_term(token) else -1 for token in spelled]
        numbers = np.array(terms, "<i4")[tokens]
        kept = numbers >= 0
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        counts = np.diff(ends[np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])])
        return TokenColumns(counts.astype("<i4"), numbers[kept], list(known))

    def tokens(self, text: str) -> list[str]:
        """The index terms of `text`, in order."""
        if not self._opened:
            self._tokenizer.open()
            self._opened = True
        tokens = self._tokenizer.tokens(_read_form(text))
        if self._fold:
            tokens = [fold_text(token, self._fold) for token in tokens]
        return [token for token in tokens if self._is_term(token)]

    def _is_term(self, token: str) -> bool:
        return bool(token.strip()) and token not in self._stop
