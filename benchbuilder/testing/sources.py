"""The contract of sources."""

from __future__ import annotations

from typing import cast
from unittest.mock import patch

from benchbuilder.core import Dropped, EndOfFile, Item, Kept, SourceUnit, Table
from benchbuilder.sources import BLOCK_BYTES, Source, unpack_units
from benchbuilder.testing.contract import check_ids, check_reasons, check_table, in_worker_process, require

_SMALL_BLOCK = 64
"""A block size in bytes at which even a small file has many blocks."""


def check_source(source: Source) -> list[SourceUnit]:
    """Read a source in every way that a build may use, and check that it accounts for all units of its files.

    - Its files exist and pass its own check.
    - The units of a file come in order, each once, and dropped units have declared reasons.
    - Every file reaches its end, which states the number of its units.
    - Rows name their unit and their source, and have correct ids and the exact schema.
    - The units are the same when read again, in another process, and as columns in blocks of any size.

    Args:
        source: The source, with example files.

    Returns:
        All units of the files.

    Raises:
        ContractError: The source breaks a promise.
    """
    who = f"the source {source.kind!r}"
    check_reasons(who, source.reasons)
    files = source.files()
    require(bool(files), f"{who} reads no file")
    for ref in files:
        require(ref.file.exists(), f"{who} names {ref.path}, which does not exist")
    source.check()
    read = list(source.read())
    units = [unit for unit in read if isinstance(unit, SourceUnit)]
    ends = [end for end in read if isinstance(end, EndOfFile)]
    require(bool(units), f"{who} finds no unit in its example files")
    _check_order(who, read)
    ended = [end.file for end in ends]
    require(len(ended) == len(set(ended)), f"{who} ends a file twice")
    require({ref.path for ref in files} <= set(ended), f"{who} does not reach the end of every file")
    for unit in units:
        _check_unit(who, source, unit)
    rows = [unit.outcome.row for unit in units if isinstance(unit.outcome, Kept)]
    check_ids(who, rows)
    check_table(who, Table.of(rows, source.output), source.output)
    require(list(source.read()) == read, f"{who}, read again, gives other units")
    for size in (BLOCK_BYTES, _SMALL_BLOCK):
        with patch("benchbuilder.sources.columnar.columns.BLOCK_BYTES", size):
            _check_bulk(who, source, read)
    elsewhere = in_worker_process(_read, type(source), source.spec, source.name, source.language)
    require(elsewhere == [_unit_text(unit) for unit in read], f"{who}, read in another process, gives other units")
    return units


def _check_bulk(who: str, source: Source, read: list[SourceUnit | EndOfFile]) -> None:
    """Check that columns hold the same units as those read one by one, with the same types."""
    bulk_units: list[SourceUnit | EndOfFile] = []
    for units in source.read_batches():
        if isinstance(units, EndOfFile):
            bulk_units.append(units)
            continue
        require(len(units.lines) > 0, f"{who} yields columns without any unit of {units.file}")
        require(len(units.lines) == len(units.reasons) == len(units.details),
                f"{who} yields columns of different lengths of {units.file}")  # fmt: skip
        kept = units.reasons.null_count
        require(kept == len(units.rows), f"{who} keeps {kept} units of {units.file}, and makes {len(units.rows)} rows")
        require(not any(units.details.filter(units.reasons.is_null()).to_pylist()),
                f"{who} gives a unit of {units.file} that is kept a detail")  # fmt: skip
        check_table(f"{who}, read as columns,", units.rows, source.output)
        bulk_units.extend(unpack_units(units))
    require([_unit_text(unit) for unit in bulk_units] == [_unit_text(unit) for unit in read],
            f"{who}, read as columns, gives other units")  # fmt: skip


def _read(cls: type[Source], spec: object, name: str, language: str) -> list[str]:
    return [_unit_text(unit) for unit in cls(spec, name, language).read()]


def _unit_text(unit: SourceUnit | EndOfFile) -> str:
    """A unit as text, to compare: rows with a payload cannot be pickled."""
    if isinstance(unit, SourceUnit) and isinstance(unit.outcome, Kept):
        return f"{unit.file}:{unit.line} {unit.outcome.row.model_dump_json()}"
    return repr(unit)


def _check_order(who: str, read: list[SourceUnit | EndOfFile]) -> None:
    """Check that the units of a file come together, with rising numbers, and that its end counts them."""
    counts: dict[str, int] = {}
    last: dict[str, int] = {}
    done = set[str]()
    for unit in read:
        require(unit.file not in done, f"{who} continues with {unit.file} after its end")
        if isinstance(unit, EndOfFile):
            done.add(unit.file)
            count = counts.pop(unit.file, 0)
            require(unit.auxiliary is not None or unit.units == count,
                    f"{who} counts {unit.units} units of {unit.file}, but yields {count}")  # fmt: skip
            continue
        require(unit.line > last.get(unit.file, 0), f"{who} names {unit.file}:{unit.line} out of order")
        last[unit.file] = unit.line
        counts[unit.file] = counts.get(unit.file, 0) + 1
    require(not counts, f"{who} does not reach the end of {', '.join(sorted(counts))}")


def _check_unit(who: str, source: Source, unit: SourceUnit) -> None:
    where = f"{unit.file}:{unit.line}"
    if isinstance(unit.outcome, Dropped):
        reason, detail = unit.outcome.reason, cast("object", unit.outcome.detail)
        require(reason in source.reasons, f"{who} drops {where} for the undeclared reason {reason!r}")
        require(isinstance(detail, str), f"{who} gives {where} a detail that is not a string")
        return
    row = unit.outcome.row
    require(type(row) is source.output, f"{who} makes a {type(row).__name__}, not a {source.output.__name__}")
    require((row.origin.file, row.origin.line) == (unit.file, unit.line), f"the row of {where} names another origin")
    require(row.language == source.language, f"the row of {where} has the language {row.language!r}")
    if isinstance(row, Item):  # from an earlier build: it may name another source and parents
        require(bool(row.partition), f"the row of {where} has no partition")
        return
    require(row.partition == source.name, f"the row of {where} has the partition {row.partition!r}")
    require(not row.of and not row.parents, f"the row of {where} names parents")
