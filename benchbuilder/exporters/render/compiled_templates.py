"""Keeps compiled templates in the user's cache folder: compiling those of report and card takes a sixth of a second."""

from __future__ import annotations

import hashlib
import os
from base64 import b64decode, b64encode
from functools import cache
from pathlib import Path
from uuid import uuid4

import jinja2
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

import benchbuilder
from benchbuilder.config import keep_cached, read_cached, user_cache_folder
from benchbuilder.core import stamp_files


class CompiledTemplates(BytecodeCache):
    """The code of templates by their names, their texts and `options`: what else their environment compiles by."""

    def __init__(self, options: str) -> None:
        self._options = options

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket, unless nothing is kept, or that is damaged."""
        if (kept := read_cached(self._file(bucket))) is not None:
            bucket.bytecode_from_string(b64decode(kept["code"]))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what is in the bucket."""
        keep_cached(self._file(bucket), {"code": b64encode(bucket.bytecode_to_string()).decode()})

    def _file(self, bucket: Bucket) -> Path:
        parts = (bucket.key, bucket.checksum, self._options, jinja2.__version__, _program())
        name = hashlib.sha256(repr(parts).encode()).hexdigest()
        return user_cache_folder(os.environ) / "templates" / f"{name}.json"


@cache
def _program() -> str:
    """What tells this code of the program from another: values that never change are escaped when it is compiled."""
    stamps = stamp_files((), {str(Path(benchbuilder.__file__).parent): ()})
    return stamps.digest if stamps is not None else uuid4().hex
