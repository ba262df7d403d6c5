from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.core.records.outcomes import Dropped, EndOfFile, Kept
from benchbuilder.core.registry import find_kind


@dataclass
class Result:
    rows: list[Any] = field(default_factory=list)
    drops: list[tuple[str, int, str, str]] = field(default_factory=list)
    units: Counter[str] = field(default_factory=Counter)
    ends: dict[str, EndOfFile] = field(default_factory=dict)

    @property
    def lines(self) -> list[int]:
        return [row.origin.line for row in self.rows]

    def dropped(self) -> list[tuple[int, str]]:
        return [(line, reason) for _, line, reason, _ in self.drops]

    def detail(self, line: int) -> str:
        return next(detail for _, at, _, detail in self.drops if at == line)


def make(kind: str, name: str = "source", **spec: Any) -> Any:
    cls = find_kind("source", kind).load()
    return cls(cls.spec_class(kind=kind, **spec), name, "zh")


def read(kind: str, name: str = "source", **spec: Any) -> Result:
    """Read a source and check its row accounting: outcomes, file ends, unique ids and declared reasons."""
    source, result = make(kind, name, **spec), Result()
    for unit in source.read():
        if isinstance(unit, EndOfFile):
            assert unit.file not in result.ends
            result.ends[unit.file] = unit
            if unit.auxiliary is None:
                assert unit.units == result.units[unit.file]
            elif unit.units:
                assert unit.units == sum(unit.auxiliary.values())
            continue
        assert unit.file not in result.ends
        result.units[unit.file] += 1
        if isinstance(unit.outcome, Kept):
            row = unit.outcome.row
            assert type(row) is source.output
            assert (row.origin.file, row.origin.line) == (unit.file, unit.line)
            assert (row.partition, row.language, row.produced_by.rule) == (name, "zh", kind)
            result.rows.append(row)
        else:
            assert isinstance(unit.outcome, Dropped)
            assert unit.outcome.reason in source.reasons
            result.drops.append((unit.file, unit.line, unit.outcome.reason, unit.outcome.detail))
    assert set(result.units) <= set(result.ends)
    assert {ref.path for ref in source.files()} == {f for f, e in result.ends.items() if e.auxiliary != {"excluded": 1}}
    assert len({row.id for row in result.rows}) == len(result.rows)
    return result


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a file (text or bytes) into the current folder, which is empty, and returns its relative name."""
    monkeypatch.chdir(tmp_path)

    def to(name: str, content: str | bytes) -> str:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return to


@pytest.fixture
def read_source() -> Any:
    return read


@pytest.fixture
def make_source() -> Any:
    return make
