"""The manifest of a committed step: its key, the digest of its rows, and its counts."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from benchbuilder.core import FrozenModel, parse_json, read_given_file, read_sealed_json, unseal_json
from benchbuilder.pipeline.shards.files import damaged_error, is_damage

MANIFEST_FILE = "manifest.json"
CountLine = tuple[str, str, str, int]


def sorted_counts(counts: Counter[tuple[str, str, str]]) -> tuple[CountLine, ...]:
    """A counter over three names as sorted data."""
    return tuple((*names, n) for names, n in sorted(counts.items()))


class Manifest(FrozenModel):
    """What one committed step was made of, and what it made.

    Attributes:
        step: The name of the step or source.
        kind: Its kind.
        row: The name of the class of its rows.
        key: The hash of `key_inputs`.
        key_inputs: Everything that shapes the rows, by readable names.
        inputs: The digest of each input node.
        digest: The digest of the rows in order, whatever the shards.
        outcomes: The digest of the outcomes of the branches.
        rows: The number of rows.
        shards: The number of shards.
        files: The checksum of each other file of the step, by name (see `file_checksum`); filled in by the commit.
        counts: Branches by (partition, outcome, reason).
        unused: Unused rows of `whole` ports by (port, partition, reason).
        units: Source units by (file, outcome, reason).
        auxiliary: Rows of joined files by what became of them.
        tallies: Further counts of the kind.
        notes: Further facts of the kind, as plain data.
        external_inputs: Hashes of what people or models contributed.
        reasons: A sentence for each declared reason.
        state: ``incomplete`` while rows have failed.
    """

    step: str
    kind: str
    row: str
    key: str
    key_inputs: dict[str, str]
    inputs: dict[str, str]
    digest: str
    outcomes: str
    rows: int
    shards: int
    files: dict[str, str] = {}
    counts: tuple[CountLine, ...]
    unused: tuple[CountLine, ...] = ()
    units: tuple[CountLine, ...] = ()
    auxiliary: tuple[CountLine, ...] = ()
    tallies: tuple[CountLine, ...] = ()
    notes: dict[str, Any] = {}
    external_inputs: dict[str, str] = {}
    reasons: dict[str, str] = {}
    state: Literal["complete", "incomplete"] = "complete"


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest in the folder of a step; ``None`` if there is no folder, or another version wrote it.

    DamagedError if it is missing or does not have its checksum.
    """
    try:
        return Manifest.model_validate(read_sealed_json(folder / MANIFEST_FILE))
    except FileNotFoundError as error:
        if not folder.exists():
            return None
        raise damaged_error(folder, "its manifest is missing") from error
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and not is_damage(error):
            raise
        if is_of_other_version(folder):
            return None
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise damaged_error(folder, f"its manifest cannot be used: {why}") from error


def is_of_other_version(folder: Path) -> bool:
    """Whether the manifest of a step is whole, but without a checksum or with other fields than this version writes."""
    with suppress(OSError, ValueError):
        raw = read_given_file(folder / MANIFEST_FILE)
        data: Any = parse_json(raw)
        if not isinstance(data, dict) or "checksum" not in data:
            return isinstance(data, dict)
        try:
            Manifest.model_validate(unseal_json(raw))
        except ValidationError:
            return True
    return False
