"""Writes the verdict reader as one file that runs anywhere: the project's own code and tables, and no heavy library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from benchbuilder import __version__
from benchbuilder.core import convert_script
from benchbuilder.evaluation import VerdictTable, read_verdict_table
from benchbuilder.publishing.harnesses.reader_source import SourceBundle
from benchbuilder.publishing.harnesses.templates_of import render

_HAN = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xF900, 0xFB00), (0x20000, 0x32000))
_GIVEN = ("DataError", "Span", "convert_script", "Conversion")
_METHODS = {"VerdictTable": ("expand_parts", "any_of", "_part")}


def reader_module(
    tables: Sequence[Path], name: str, release: str = "", *, longest_verdict: int = 20_000, longest_open: int = 20_000
) -> str:
    """The text of a module that scores replies as the project does, by the verdict tables in the files `tables`.

    It converts scripts by characters, while the project converts phrases too.
    """
    read = [read_verdict_table(path) for path in tables]
    bundle = SourceBundle(_GIVEN, _METHODS)
    bundle.take("benchbuilder.core.text.replies", ["strip_reasoning"])
    bundle.take("benchbuilder.core.stats.overlap", ["relative_closeness", "truncate_for_overlap"])
    bundle.take("benchbuilder.evaluation.parsing.verdicts", ["VerdictReader", "YesNoQuestion"])
    conversions = sorted({table.script for table in read if table.script is not None})
    return render(
        "verdict_reader.py.j2", version=__version__, name=name, release=release, imports=bundle.imports(),
        definitions=bundle.text(), longest_verdict=longest_verdict, longest_open=longest_open,
        tables=json.dumps([_settings(table) for table in read], ensure_ascii=False),
        scripts=json.dumps({name: _characters(name) for name in conversions}, ensure_ascii=False),
    )  # fmt: skip


def _settings(table: VerdictTable) -> dict[str, object]:
    return table.model_dump(mode="json", exclude={"examples"})


@cache
def _characters(conversion: str) -> tuple[str, str]:
    """The characters that a conversion changes, and what it makes of them."""
    known = [chr(code) for first, end in _HAN for code in range(first, end)]
    made = convert_script("\n".join(known), conversion).split("\n")  # type: ignore[arg-type]
    pairs = [(one, other) for one, other in zip(known, made, strict=True) if one != other and len(other) == 1]
    return "".join(one for one, _ in pairs), "".join(other for _, other in pairs)
