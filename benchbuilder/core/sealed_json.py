"""JSON that holds a checksum of itself, and the checksums of files: a flipped bit is found before it is believed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from xxhash import xxh3_128, xxh3_128_hexdigest

from benchbuilder.core.json_text import parse_json
from benchbuilder.core.special_files import open_given_file, read_given_file


def file_checksum(path: Path) -> str:
    """XXH3 of a file, 128 bits in hex: for damage, not against forgery. About ten gigabytes a second from memory."""
    with open_given_file(path, most_bytes=None) as stream:
        return hashlib.file_digest(stream, xxh3_128).hexdigest()


def seal_json(data: dict[str, Any], indent: int | None = None) -> bytes:
    """An object as JSON in UTF-8 whose last key, `checksum`, is the checksum of all that comes before it.

    `data` has at least one key.
    """
    body = json.dumps(data, ensure_ascii=False, indent=indent).removesuffix("}").rstrip().encode()
    return body + _end(body)


def unseal_json(raw: bytes) -> dict[str, Any]:
    """The object that was sealed, without its checksum; ValueError if a single bit is another."""
    body = raw[:-_END_BYTES]
    if raw[-_END_BYTES:] != _end(body):
        raise ValueError("its content does not have its checksum")
    data: dict[str, Any] = parse_json(body + b"}")
    return data


def read_sealed_json(path: Path) -> dict[str, Any]:
    """The object that was sealed in a file; the errors are those of `read_given_file` and `unseal_json`."""
    return unseal_json(read_given_file(path))


def _end(body: bytes) -> bytes:
    return f',\n "checksum": "{xxh3_128_hexdigest(body)}"}}\n'.encode()


_END_BYTES = len(_end(b""))
