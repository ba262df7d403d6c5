"""Writes the ledger: every branch that was not kept, with its reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.config import display_path
from benchbuilder.core import FORMULA_STARTS, atomic_path, combined_column, constant_column, escape_cell
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA
from benchbuilder.pipeline.shards.files import read_columns, read_part
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest

_UNSEEN_MARKS = "\\x00-\\x1f\\x7f-\\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_UNSEEN = re.compile(f"[{_UNSEEN_MARKS}]")
"""Control characters, and characters that reverse or hide their neighbours."""
_NEEDS_CARE = f'["\\\\{_UNSEEN_MARKS}]|^[{"".join(FORMULA_STARTS).replace("-", "")}-]'
LEDGER_COLUMNS = ("step", "outcome", "reason", "detail", "partition", "file", "line", "row", "slot", "port")
MAX_LEDGER_LINES = 100_000
"""How many branches of a step are listed for one reason; the others are counted."""


def write_ledger(manifests: Mapping[str, Manifest], store: Store, path: Path) -> None:
    """Write a TSV with one line per branch that was dropped, failed, not applicable or unused, step by step.

    For one outcome and reason, at most `MAX_LEDGER_LINES` branches of a step are listed; a last line counts the others.
    """
    with atomic_path(path, sync=False) as temporary, temporary.open("wb") as stream:
        stream.write(("\t".join(LEDGER_COLUMNS) + "\n").encode())
        for name, manifest in manifests.items():
            totals = _not_kept_counts(manifest)
            remaining = {reason: min(total, MAX_LEDGER_LINES) for reason, total in totals.items()}
            for part in store.outcome_parts(manifest):
                if not any(remaining.values()):
                    break
                _write_part(stream, name, part, remaining)
            place = store.step_folder(manifest.step, manifest.key)
            for (outcome, reason), total in sorted(totals.items()):
                if total > MAX_LEDGER_LINES:
                    stream.write(_summary_line(name, outcome, reason, total - MAX_LEDGER_LINES, place))


def _not_kept_counts(manifest: Manifest) -> Counter[tuple[str, str]]:
    """The number of branches that were not kept, by outcome and reason."""
    totals = Counter[tuple[str, str]]()
    for _, outcome, reason, count in manifest.counts:
        if outcome != "kept":
            totals[outcome, reason] += count
    for _, _, reason, count in manifest.unused:
        totals["unused", reason] += count
    return totals


def _write_part(stream: BinaryIO, step: str, part: Path, remaining: dict[tuple[str, str], int]) -> None:
    """Write the lines of one file of outcomes, and count them down in `remaining`."""
    compute: Any = pc
    columns = read_columns(part, ["outcome", "reason"])
    pairs: Any = compute.binary_join_element_wise(columns.column("outcome"), columns.column("reason"), "\t")
    codes = pairs.combine_chunks().dictionary_encode()
    numbers, places = codes.indices.to_numpy(zero_copy_only=False), list[Any]()
    for number, pair in enumerate(codes.dictionary.to_pylist()):
        outcome, _, reason = pair.partition("\t")
        if room := remaining.get((outcome, reason), 0):
            places.append(np.flatnonzero(numbers == number)[:room])
            remaining[outcome, reason] = room - len(places[-1])
    chosen: Any = pa.array(np.sort(np.concatenate([np.zeros(0, np.int64), *places])))
    if not len(chosen):
        return
    outcomes = read_part(part, OUTCOME_SCHEMA).take(chosen)
    cells = [
        constant_column(_quoted(_cell(step)), len(chosen)),
        *(_cells(combined_column(outcomes, name)) for name in LEDGER_COLUMNS[1:]),
    ]
    lines = compute.binary_join_element_wise(*cells, "\t")
    stream.write(("\n".join(lines.to_pylist()) + "\n").encode())


def _cells(values: Any) -> Any:
    """A column as cells; only cells that need quoting or escaping are changed."""
    if not pa.types.is_string(values.type):
        return values.cast(pa.string())
    compute: Any = pc
    marked = compute.match_substring_regex(values, _NEEDS_CARE)
    if not compute.any(marked, min_count=0).as_py():
        return values
    cells = [_quoted(_cell(text)) for text in values.filter(marked).to_pylist()]
    return compute.replace_with_mask(values, marked, pa.array(cells, pa.string()))


def _summary_line(step: str, outcome: str, reason: str, count: int, place: Path) -> bytes:
    parts = f"outcomes-*.parquet in {display_path(place)}"
    detail = f"and {count:,} more: `benchbuild why ROW` explains each, {parts} lists them"
    row = {"step": step, "outcome": outcome, "reason": reason, "detail": detail}
    return ("\t".join(_quoted(_cell(row.get(name, ""))) for name in LEDGER_COLUMNS) + "\n").encode()


def _quoted(cell: str) -> str:
    """A cell with its quotation marks doubled, as readers of CSV expect."""
    return f'"{cell.replace(chr(34), chr(34) * 2)}"' if '"' in cell else cell


def _cell(value: Any) -> Any:
    """A cell without line breaks, formulas and terminal commands."""
    return _UNSEEN.sub(_code, escape_cell(value)) if isinstance(value, str) else value


def _code(match: re.Match[str]) -> str:
    number = ord(match.group())
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
