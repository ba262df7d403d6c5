"""What changed must be seen: in files that look the same, while they are read, and in the outputs."""

from __future__ import annotations

import os
from pathlib import Path

import engine_kinds
import pytest
from engine_bench import Bench

from benchbuilder.core.errors import DataError
from benchbuilder.pipeline.store.checksums import Checksums


def test_a_file_replaced_in_place_is_read_again(tmp_path: Path) -> None:
    """As `cp -p` does it: equal size, equal modification time, the same inode."""
    file = tmp_path / "file"
    file.write_text("before")
    memory = tmp_path / "memory.json"
    checksums = Checksums(memory)
    first = checksums.sha256_of(file)
    checksums.save()
    stat = file.stat()
    with file.open("r+") as stream:
        stream.write("after!")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert file.stat().st_ino == stat.st_ino
    assert file.stat().st_mtime_ns == stat.st_mtime_ns
    assert Checksums(memory).sha256_of(file) != first


def test_the_ledger_follows_drops_that_change_no_row(bench: Bench) -> None:
    bench.build()
    bench.sources = {**bench.sources, "left": [*bench.sources["left"], "!another broken one"]}
    report = bench.build()
    ledger = (report.folder / "ledger.tsv").read_text(encoding="utf-8")
    assert "!another broken one" in ledger


def test_an_output_that_was_cut_is_written_again(bench: Bench) -> None:
    report = bench.build()
    whole = {file: file.read_bytes() for file in report.written_files}
    victim = max(report.written_files, key=lambda file: file.stat().st_size)
    victim.write_bytes(b"")
    bench.build()
    assert {file: file.read_bytes() for file in report.written_files} == whole


def test_a_source_that_changes_while_it_is_read_is_not_sealed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = engine_kinds.Lines
    read = reader.read

    def meddled(self: object) -> object:
        yield from read(self)
        for ref in self.files():
            with ref.file.open("a") as stream:
                stream.write("came in late\n")

    monkeypatch.setattr(reader, "read", meddled)
    with pytest.raises(DataError, match="changed while it was read"):
        bench.build()
    monkeypatch.setattr(reader, "read", read)
    assert bench.build().built_steps
