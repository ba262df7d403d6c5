"""Reads large files: decompresses them piece by piece, and processes pieces in parallel."""

from __future__ import annotations

import bz2
import multiprocessing
import os
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from io import BytesIO
from pathlib import Path
from typing import IO, Any, TypeVar

from benchbuilder.core import ServiceError, begin_worker_process, open_given_file
from benchbuilder.sources.formats.files import wrong_shape

PIECE_BYTES = 1 << 20
_GROUP_BYTES = 1 << 19
_MAX_STREAM_BYTES = 1 << 23
_MAX_GROUP_BYTES = 1 << 28
_TRUNCATED = "the compressed file ends in the middle"
_Unpacked = tuple[list[bytes], str]
_STREAM = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")


class DamagedFileError(Exception):
    """The rest of the file cannot be decompressed."""


def read_decompressed(path: Path, name: str, key: str, threads: int) -> Iterator[bytes]:
    """The content of a plain, gzip or bzip2 file, in memory that does not grow with it.

    Args:
        path: The file; its first bytes identify the format.
        name: Its name for messages.
        key: The recipe key of its path, for messages.
        threads: The number of threads that decompress a bzip2 file with many streams.

    Raises:
        DamagedFileError: The file is truncated or damaged.
        DataError: The file is another kind of archive.
    """
    with open_given_file(path, most_bytes=None) as handle:
        start = handle.read(6)
        handle.seek(0)
        if start.startswith(b"BZh"):
            yield from _bzip2(handle, threads)
        elif start.startswith(b"\x1f\x8b"):
            yield from _gzip(handle)
        elif start.startswith((b"7z\xbc\xaf", b"PK\x03\x04", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
            raise wrong_shape(key, name, expected="a file that is plain, .gz or .bz2", found="another kind of archive",
                              next="take the .bz2 of the same dump, or unpack it first")  # fmt: skip
        else:
            while piece := handle.read(PIECE_BYTES):
                yield piece


def _gzip(handle: IO[bytes]) -> Iterator[bytes]:
    decompressor = zlib.decompressobj(31)
    try:
        while data := (decompressor.unconsumed_tail or decompressor.unused_data or handle.read(PIECE_BYTES)):
            if decompressor.eof:
                decompressor = zlib.decompressobj(31)
            if piece := decompressor.decompress(data, PIECE_BYTES):
                yield piece
    except zlib.error as error:
        raise DamagedFileError(f"near byte {handle.tell()}: {error}") from error
    if piece := decompressor.flush():
        yield piece
    if not decompressor.eof:
        raise DamagedFileError(_TRUNCATED)


def _bzip2(handle: IO[bytes], threads: int) -> Iterator[bytes]:
    """Decompress groups of complete streams in parallel; from the first stream that is too long on, sequentially."""
    rest = b""
    pending: deque[Future[_Unpacked]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                data = handle.read(_GROUP_BYTES)
                rest += data
                cut = _last_start(rest) if data else len(rest)
                if cut:
                    pending.append(pool.submit(_decompress_group, rest[:cut], handle.tell()))
                    rest = rest[cut:]
                while pending and (len(pending) > threads or not data or len(rest) > _MAX_STREAM_BYTES):
                    pieces, problem = pending.popleft().result()
                    yield from pieces
                    if problem:
                        raise DamagedFileError(problem)
                if not data:
                    return
                if len(rest) > _MAX_STREAM_BYTES:
                    break
        finally:
            for future in pending:
                future.cancel()
    try:
        yield from _decompress_streams(rest, handle)
    except (OSError, ValueError) as error:
        raise DamagedFileError(f"near byte {handle.tell()}: {error}") from error


def _last_start(data: bytes) -> int:
    """The start of the last stream in `data`; 0 if there is only one."""
    return max((match.start() for match in _STREAM.finditer(data)), default=0)


def _decompress_group(data: bytes, position: int) -> _Unpacked:
    """The content of some complete streams, and their problem ("" if there is none)."""
    pieces: list[bytes] = []
    size = 0
    try:
        for piece in _decompress_streams(data, BytesIO()):
            pieces.append(piece)
            size += len(piece)
            if size > _MAX_GROUP_BYTES:
                return pieces, f"near byte {position}: it unpacks to more than any dump contains"
    except DamagedFileError as error:
        return pieces, str(error)
    except (OSError, ValueError) as error:
        return pieces, f"near byte {position}: {error}"
    return pieces, ""


def _decompress_streams(data: bytes, handle: IO[bytes]) -> Iterator[bytes]:
    """The content of the streams that begin with `data` and continue in `handle`."""
    decompressor = bz2.BZ2Decompressor()
    while True:
        if decompressor.eof:
            data = decompressor.unused_data or handle.read(PIECE_BYTES)
            if not data:
                return
            decompressor = bz2.BZ2Decompressor()
        elif decompressor.needs_input and not data:
            data = handle.read(PIECE_BYTES)
            if not data:
                raise DamagedFileError(_TRUNCATED)
        piece = decompressor.decompress(data, PIECE_BYTES)
        data = b""
        if piece:
            yield piece


Result = TypeVar("Result")


def map_in_order(work: Callable[[bytes], Result], pieces: Iterable[bytes], workers: int, key: str) -> Iterator[Result]:
    """The results of `work` for each piece, in order, with only a few pieces in memory.

    Args:
        work: A function that can be pickled.
        pieces: The pieces of a file.
        workers: The number of processes; 1 means this process.
        key: The setting of the number of workers, for messages.

    Raises:
        ServiceError: A process died.
    """
    if workers == 1:
        yield from map(work, pieces)
        return
    pending: deque[Future[Any]] = deque()
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(work,))
    try:
        for piece in pieces:
            pending.append(pool.submit(_run_piece, piece))
            if len(pending) > 2 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool as error:
        raise ServiceError(
            "a process that reads a source died", where=key, why="usually the machine ran out of memory",
            next=f"run the same command again, or set {key}=1",
        ) from error  # fmt: skip
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def available_cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_work: list[Callable[[bytes], Any]] = []
"""The function of this worker process."""


def _start_worker(work: Callable[[bytes], Any]) -> None:
    begin_worker_process()
    _work[:] = [work]


def _run_piece(piece: bytes) -> Any:
    return _work[0](piece)
