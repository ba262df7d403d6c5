"""The ledger: every ticket that was not kept, with its reason, and the books of each step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.config.search_path import shown
from benchbuilder.core.records.arrow.build_rows import column, same
from benchbuilder.core.text.cells import RISKY, escape
from benchbuilder.exporters.base import StepAccount
from benchbuilder.pipeline.accounting.shard import FATES
from benchbuilder.pipeline.shards.files import read_columns, read_part
from benchbuilder.pipeline.store.folder import Store
from benchbuilder.pipeline.store.manifest import Manifest

_UNSEEN_MARKS = "\\x00-\\x1f\\x7f-\\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_UNSEEN = re.compile(f"[{_UNSEEN_MARKS}]")
"""Control characters, and those that turn or hide what stands beside them."""
_NEEDS_CARE = f'["\\\\{_UNSEEN_MARKS}]|^[{"".join(RISKY).replace("-", "")}-]'
COLUMNS = ("step", "fate", "reason", "detail", "partition", "file", "line", "row", "slot", "port")


MOST_LINES = 100_000
"""How many tickets of a step are named for one reason; of others it is said how many there are."""


def write_ledger(manifests: Mapping[str, Manifest], store: Store, path: Path) -> None:
    """A TSV with one line per ticket that was dropped, failed, not applicable or left unused, in flow order.

    Of a step, at most `MOST_LINES` tickets are named for one fate and reason; a last line counts the others.
    """
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as stream:
        stream.write(("\t".join(COLUMNS) + "\n").encode())
        for name, manifest in manifests.items():
            totals = _lost(manifest)
            left = {reason: min(total, MOST_LINES) for reason, total in totals.items()}
            for part in store.fates_parts(manifest):
                if not any(left.values()):
                    break
                _write_part(stream, name, part, left)
            for (fate, reason), total in sorted(totals.items()):
                if total > MOST_LINES:
                    stream.write(
                        _rest(name, fate, reason, total - MOST_LINES, store.place(manifest.step, manifest.key))
                    )
    temporary.replace(path)


def _lost(manifest: Manifest) -> Counter[tuple[str, str]]:
    """How many tickets were not kept, by fate and reason."""
    totals = Counter[tuple[str, str]]()
    for _, fate, reason, count in manifest.counts:
        if fate != "kept":
            totals[fate, reason] += count
    for _, _, reason, count in manifest.unused:
        totals["unused", reason] += count
    return totals


def _write_part(stream: BinaryIO, step: str, part: Path, left: dict[tuple[str, str], int]) -> None:
    """Write the lines of one file of fates, as many of each fate and reason as are `left`."""
    compute: Any = pc
    said = read_columns(part, ["fate", "reason"])
    pairs: Any = compute.binary_join_element_wise(said.column("fate"), said.column("reason"), "\t")
    codes = pairs.combine_chunks().dictionary_encode()
    numbers, places = codes.indices.to_numpy(zero_copy_only=False), list[Any]()
    for number, pair in enumerate(codes.dictionary.to_pylist()):
        fate, _, reason = pair.partition("\t")
        if room := left.get((fate, reason), 0):
            places.append(np.flatnonzero(numbers == number)[:room])
            left[fate, reason] = room - len(places[-1])
    chosen: Any = pa.array(np.sort(np.concatenate([np.zeros(0, np.int64), *places])))
    if not len(chosen):
        return
    fates = read_part(part, FATES).take(chosen)
    cells = [same(_quoted(_cell(step)), len(chosen)), *(_cells(column(fates, name)) for name in COLUMNS[1:])]
    lines = compute.binary_join_element_wise(*cells, "\t")
    stream.write(("\n".join(lines.to_pylist()) + "\n").encode())


def _cells(values: Any) -> Any:
    """A column as cells: those that need it one by one, the others as they are."""
    if not pa.types.is_string(values.type):
        return values.cast(pa.string())
    compute: Any = pc
    marked = compute.match_substring_regex(values, _NEEDS_CARE)
    if not compute.any(marked, min_count=0).as_py():
        return values
    cells = [_quoted(_cell(text)) for text in values.filter(marked).to_pylist()]
    return compute.replace_with_mask(values, marked, pa.array(cells, pa.string()))


def _rest(step: str, fate: str, reason: str, count: int, place: Path) -> bytes:
    told = f"and {count:,} more: `benchbuild why ROW` tells of each, fates-*.parquet in {shown(place)} names them"
    row = {"step": step, "fate": fate, "reason": reason, "detail": told}
    return ("\t".join(_quoted(_cell(row.get(name, ""))) for name in COLUMNS) + "\n").encode()


def _quoted(cell: str) -> str:
    """A cell as readers of delimited text want it."""
    return f'"{cell.replace(chr(34), chr(34) * 2)}"' if '"' in cell else cell


def _cell(value: Any) -> Any:
    """A cell that stays on its line, that no spreadsheet takes for a formula and no terminal for a command."""
    return _UNSEEN.sub(_code, escape(value)) if isinstance(value, str) else value


def _code(match: re.Match[str]) -> str:
    number = ord(match.group())
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def account_of(manifest: Manifest, inputs: Mapping[str, tuple[str, ...]]) -> StepAccount:
    """The books of a sealed step, for reports."""
    role = manifest.row.partition("[")[0]
    return StepAccount(
        step=manifest.step,
        kind=manifest.kind,
        role=role,
        rows=manifest.rows,
        inputs=inputs,
        counts={(partition, fate, reason): n for partition, fate, reason, n in manifest.counts},
        units={(file, fate, reason): n for file, fate, reason, n in (*manifest.units, *manifest.auxiliary)},
        tallies={(tally, partition, key): n for tally, partition, key, n in manifest.tallies},
        notes=manifest.notes,
        reasons=manifest.reasons,
    )
