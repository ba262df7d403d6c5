"""A cache of arrays in files: verified when opened, memory-mapped, shared by processes."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

from benchbuilder.core import (
    LazyTexts,
    StoreError,
    move_into_place,
    name_file_in_errors,
    open_given_file,
    read_sealed_json,
    seal_json,
)

Array = np.ndarray[Any, np.dtype[Any]]
Shapes = Mapping[str, tuple[str, Sequence[int]]]
"""Type (``<i4``) and shape of each array that was written into a folder."""

_HEADER = "header.json"
_BLOCK = 1 << 20
_FORMAT = 1


def cached_arrays(folder: Path, mark: str, make: Callable[[Path], Shapes]) -> dict[str, Array]:
    """Load the arrays in `folder`, or make them if they are missing, damaged or have another `mark`.

    Of several processes, one makes the arrays and the others wait.

    Args:
        folder: Where the arrays are kept; it is replaced only by a complete folder.
        mark: Identifies the content.
        make: Writes the arrays into an empty folder (see `array_file`) and returns their types and shapes.

    Returns:
        The arrays by name.
    """
    arrays = _load(folder, mark)
    if arrays is not None:
        return arrays
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f".{folder.name}.lock"):
        arrays = _load(folder, mark)
        if arrays is None:
            for abandoned in folder.parent.glob(f".{folder.name}.*.draft"):  # of a killed process
                shutil.rmtree(abandoned, ignore_errors=True)
            draft = folder.parent / f".{folder.name}.{os.getpid()}.draft"
            draft.mkdir()
            try:
                with name_file_in_errors(draft):
                    _write_header(draft, mark, make(draft))
                shutil.rmtree(folder, ignore_errors=True)
                move_into_place(draft, folder)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
            arrays = _load(folder, mark)
    if arrays is None:
        raise StoreError("the index that was just written cannot be read", where=str(folder), next="check the disk")
    return arrays


def arrays_are_whole(folder: Path) -> bool:
    """Whether all arrays in a folder are as they were written."""
    try:
        mark = read_sealed_json(folder / _HEADER)["mark"]
    except (OSError, ValueError, KeyError):
        return False
    return _load(folder, mark) is not None


def array_file(folder: Path, name: str) -> Path:
    """The file of the array `name`: its raw numbers only."""
    return folder / f"{name}.bin"


def memory_map(path: Path, kind: str, shape: Sequence[int]) -> Array:
    """Memory-map a file as an array."""
    if not math.prod(shape):
        return np.empty(tuple(shape), kind)
    return np.asarray(np.memmap(path, np.dtype(kind), "r", shape=tuple(shape)))


def read_array_part(folder: Path, name: str, kind: str, start: int, stop: int) -> Array:
    """Read part of the file of an array into memory."""
    return np.fromfile(array_file(folder, name), kind, stop - start, offset=start * np.dtype(kind).itemsize)


def texts_checksum(texts: Sequence[str], *settings: str) -> str:
    """A checksum of texts and settings."""
    data, lengths = hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)
    for encoded, ends in encoded_blocks(texts):
        data.update(encoded)
        lengths.update(ends.tobytes())
    content = json.dumps([*settings, len(texts), data.hexdigest(), lengths.hexdigest()])
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def encoded_blocks(texts: Sequence[str], size: int = 4096) -> Iterator[tuple[bytes, Array]]:
    """The texts in UTF-8, `size` at a time, with the length of each in bytes."""
    for start in range(0, len(texts), size):
        if isinstance(texts, LazyTexts):
            yield texts.encoded(start, start + size)
            continue
        encoded = [text.encode() for text in texts[start : start + size]]
        yield b"".join(encoded), np.fromiter(map(len, encoded), "<i8", len(encoded))


def _load(folder: Path, mark: str) -> dict[str, Array] | None:
    """The arrays, if all are present and unchanged; else ``None``."""
    try:
        header = read_sealed_json(folder / _HEADER)
        if header["format"] != _FORMAT or header["mark"] != mark:
            return None
        arrays: dict[str, Array] = {}
        for name, (kind, shape, check) in header["arrays"].items():
            path = array_file(folder, name)
            if path.stat().st_size != math.prod(shape) * np.dtype(kind).itemsize:
                return None
            if _check(path) != check:
                return None
            arrays[name] = memory_map(path, kind, shape)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return arrays


def _write_header(folder: Path, mark: str, shapes: Shapes) -> None:
    arrays = {name: [kind, list(shape), _check(array_file(folder, name))] for name, (kind, shape) in shapes.items()}
    header = {"format": _FORMAT, "mark": mark, "arrays": arrays}
    (folder / _HEADER).write_bytes(seal_json(header))


def _check(path: Path) -> int:
    """The CRC-32 of a file, read in blocks to save memory."""
    check = 0
    with open_given_file(path, most_bytes=None) as stream:
        while block := stream.read(_BLOCK):
            check = zlib.crc32(block, check)
    return check
