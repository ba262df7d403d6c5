"""The ledger: every ticket that was not kept, with its reason, and the books of each step."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.ports.exporter import StepAccount
from benchbuilder.store.folder import Store
from benchbuilder.store.manifest import Manifest
from benchbuilder.text.cells import escape

_UNSEEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]")
"""Control characters, and those that turn or hide what stands beside them."""
COLUMNS = ("step", "fate", "reason", "detail", "partition", "file", "line", "row", "slot", "port")


def write_ledger(manifests: Mapping[str, Manifest], store: Store, path: Path) -> None:
    """A TSV with one line per ticket that was dropped, failed, not applicable or left unused, in flow order."""
    temporary = path.with_suffix(".tmp")
    with temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        for name, manifest in manifests.items():
            for fate in lost(store.fates(manifest)):
                writer.writerow([name, *(_cell(fate[column]) for column in COLUMNS[1:])])
    temporary.replace(path)


def lost(fates: pa.Table) -> list[dict[str, Any]]:
    """The tickets that were not kept."""
    compute: Any = pc
    return fates.filter(compute.not_equal(fates.column("fate"), "kept")).to_pylist()


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
