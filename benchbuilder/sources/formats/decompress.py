"""The bytes of a large file, unpacked piece by piece, in memory that does not grow with it."""

from __future__ import annotations

import bz2
import re
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

from benchbuilder.sources.formats.files import wrong_shape

PIECE_BYTES = 1 << 20
_GROUP_BYTES = 1 << 19
_MAX_STREAM_BYTES = 1 << 23
_MAX_GROUP_BYTES = 1 << 28
_TRUNCATED = "the compressed file ends in the middle"
_Unpacked = tuple[list[bytes], str]
_STREAM = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")


class DamagedFileError(Exception):
    """The file cannot be unpacked any further."""


def read_decompressed(path: Path, name: str, key: str, threads: int) -> Iterator[bytes]:
    """The content of a plain, gzip or bzip2 file: which one it is, its first bytes say.

    A bzip2 file of many streams is unpacked by so many threads. `DamagedFileError` where it is cut off or damaged;
    DataError for an archive of another sort.
    """
    with path.open("rb") as handle:
        start = handle.read(6)
        handle.seek(0)
        if start.startswith(b"BZh"):
            yield from _bzip2(handle, threads)
        elif start.startswith(b"\x1f\x8b"):
            yield from _gzip(handle)
        elif start.startswith((b"7z\xbc\xaf", b"PK\x03\x04", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
            raise wrong_shape(key, name, expected="a file that is plain, .gz or .bz2", found="another sort of archive",
                              next="take the .bz2 of the same dump, or unpack it first")  # fmt: skip
        else:
            while piece := handle.read(PIECE_BYTES):
                yield piece


def _gzip(handle: IO[bytes]) -> Iterator[bytes]:
    unpack = zlib.decompressobj(31)
    try:
        while data := (unpack.unconsumed_tail or unpack.unused_data or handle.read(PIECE_BYTES)):
            if unpack.eof:
                unpack = zlib.decompressobj(31)
            if piece := unpack.decompress(data, PIECE_BYTES):
                yield piece
    except zlib.error as error:
        raise DamagedFileError(f"near byte {handle.tell()}: {error}") from error
    if piece := unpack.flush():
        yield piece
    if not unpack.eof:
        raise DamagedFileError(_TRUNCATED)


def _bzip2(handle: IO[bytes], threads: int) -> Iterator[bytes]:
    """Groups of whole streams side by side; a stream too long for that, and what follows it, one after the other."""
    rest = b""
    pending: deque[Future[_Unpacked]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                data = handle.read(_GROUP_BYTES)
                rest += data
                cut = _last_start(rest) if data else len(rest)
                if cut:
                    pending.append(pool.submit(_decompress_streams, rest[:cut], handle.tell()))
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
    yield from _decompress_rest(rest, handle)


def _last_start(data: bytes) -> int:
    """Where the last stream of `data` begins; 0 if only the first is there."""
    return max((match.start() for match in _STREAM.finditer(data)), default=0)


def _decompress_streams(data: bytes, position: int) -> _Unpacked:
    """What some whole streams hold, and what is wrong with them ("" if nothing is)."""
    found: list[bytes] = []
    size = 0
    try:
        while data:
            unpack = bz2.BZ2Decompressor()
            while not unpack.eof:
                piece = unpack.decompress(data, PIECE_BYTES)
                found += [piece] if piece else []
                data = b""
                size += len(piece)
                if unpack.needs_input and not unpack.eof:
                    return found, _TRUNCATED
                if size > _MAX_GROUP_BYTES:
                    return found, f"near byte {position}: it unpacks to more than any dump holds"
            data = unpack.unused_data
    except (OSError, ValueError) as error:
        return found, f"near byte {position}: {error}"
    return found, ""


def _decompress_rest(data: bytes, handle: IO[bytes]) -> Iterator[bytes]:
    """What the streams hold that begin with `data` and go on in `handle`."""
    unpack = bz2.BZ2Decompressor()
    try:
        while True:
            if unpack.eof:
                data = unpack.unused_data or handle.read(PIECE_BYTES)
                if not data:
                    return
                unpack = bz2.BZ2Decompressor()
            elif unpack.needs_input and not data:
                data = handle.read(PIECE_BYTES)
                if not data:
                    raise DamagedFileError(_TRUNCATED)
            piece = unpack.decompress(data, PIECE_BYTES)
            data = b""
            if piece:
                yield piece
    except (OSError, ValueError) as error:
        raise DamagedFileError(f"near byte {handle.tell()}: {error}") from error
