"""The contract of sources."""

from __future__ import annotations

from unittest.mock import patch

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, EndOfFile, Kept, SourceUnit
from benchbuilder.core.records.payloads import Item
from benchbuilder.sources.base import Source, unpack_units
from benchbuilder.sources.columnar import columns
from benchbuilder.testing.contract import check_ids, check_reasons, check_table, require
from benchbuilder.testing.processes import in_worker_process

_SMALL_BLOCK = 64
"""How many bytes kinds that read by the block are made to read at a time, so that a small file has many blocks."""


def check_source(source: Source) -> list[SourceUnit]:
    """Read a source in every way in which a build may; ContractError if it does not account for what it reads.

    What is checked: its files are there and pass its own check; units of a file come in order, each once, with
    declared reasons; every file reaches its end, which counts its units; rows name their unit and their source; ids;
    the exact schema; the same units twice, in another process and by the column, whatever the blocks. Returns them.
    """
    who = f"the source {source.kind!r}"
    check_reasons(who, source.reasons)
    files = source.files()
    require(bool(files), f"{who} reads no file")
    for ref in files:
        require(ref.file.exists(), f"{who} names {ref.path}, which is not there")
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
    require(list(source.read()) == read, f"{who}, read again, finds other units")
    for size in (columns.BLOCK_BYTES, _SMALL_BLOCK):
        with patch.object(columns, "BLOCK_BYTES", size):
            _check_bulk(who, source, read)
    again = in_worker_process(_read, type(source), source.spec, source.name, source.language)
    require(again == [_unit_text(unit) for unit in read], f"{who}, read in another process, finds other units")
    return units


def _check_bulk(who: str, source: Source, read: list[SourceUnit | EndOfFile]) -> None:
    """What is read by the column is what is read unit by unit, down to the types of the columns."""
    found: list[SourceUnit | EndOfFile] = []
    for units in source.read_batches():
        if isinstance(units, EndOfFile):
            found.append(units)
            continue
        require(len(units.lines) > 0, f"{who} yields columns without a unit of {units.file}")
        require(len(units.lines) == len(units.reasons) == len(units.details),
                f"{who} yields columns of different lengths of {units.file}")  # fmt: skip
        kept = units.reasons.null_count
        require(kept == len(units.rows), f"{who} keeps {kept} units of {units.file}, and makes {len(units.rows)} rows")
        require(not any(units.details.filter(units.reasons.is_null()).to_pylist()),
                f"{who} gives a unit of {units.file} that is kept a detail")  # fmt: skip
        check_table(f"{who}, read by the column,", units.rows, source.output)
        found.extend(unpack_units(units))
    require([_unit_text(unit) for unit in found] == [_unit_text(unit) for unit in read],
            f"{who}, read by the column, finds other units")  # fmt: skip


def _read(cls: type[Source], spec: object, name: str, language: str) -> list[str]:
    return [_unit_text(unit) for unit in cls(spec, name, language).read()]


def _unit_text(unit: SourceUnit | EndOfFile) -> str:
    """A unit as text, for comparison: rows with a payload do not travel between processes."""
    if isinstance(unit, SourceUnit) and isinstance(unit.outcome, Kept):
        return f"{unit.file}:{unit.line} {unit.outcome.row.model_dump_json()}"
    return repr(unit)


def _check_order(who: str, read: list[SourceUnit | EndOfFile]) -> None:
    """Units of one file come together, their numbers rise, and the end counts them."""
    counts: dict[str, int] = {}
    last: dict[str, int] = {}
    done = set[str]()
    for unit in read:
        require(unit.file not in done, f"{who} goes on with {unit.file} after its end")
        if isinstance(unit, EndOfFile):
            done.add(unit.file)
            count = counts.pop(unit.file, 0)
            require(unit.auxiliary is not None or unit.units == count,
                    f"{who} counts {unit.units} units of {unit.file}, and names {count}")  # fmt: skip
            continue
        require(unit.line > last.get(unit.file, 0), f"{who} names {unit.file}:{unit.line} out of order")
        last[unit.file] = unit.line
        counts[unit.file] = counts.get(unit.file, 0) + 1
    require(not counts, f"{who} does not end {', '.join(sorted(counts))}")


def _check_unit(who: str, source: Source, unit: SourceUnit) -> None:
    where = f"{unit.file}:{unit.line}"
    if isinstance(unit.outcome, Dropped):
        require(unit.outcome.reason in source.reasons, f"{who} drops {where} for undeclared {unit.outcome.reason!r}")
        require(_is_text(unit.outcome.detail), f"{who} gives {where} a detail that is no string")
        return
    row = unit.outcome.row
    require(type(row) is source.output, f"{who} makes a {type(row).__name__}, not a {source.output.__name__}")
    require((row.origin.file, row.origin.line) == (unit.file, unit.line), f"the row of {where} names another origin")
    require(row.language == source.language, f"the row of {where} has the language {row.language!r}")
    if isinstance(row, Item):  # made before: it counts under the source that it says, and may name what it was made of
        require(bool(row.partition), f"the row of {where} has no partition")
        return
    require(row.partition == source.name, f"the row of {where} has the partition {row.partition!r}")
    require(not row.of and not row.parents, f"the row of {where} names parents")


def _is_text(value: object) -> bool:
    return isinstance(value, str)
