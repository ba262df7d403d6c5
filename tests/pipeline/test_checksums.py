"""Files that change: an unchanged source is not opened again, and a changed one is always noticed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import engine_kinds
import pytest
from engine_bench import Bench

from benchbuilder.cli.dispatch import main
from benchbuilder.core.errors import DataError
from benchbuilder.core.sealed_json import seal_json, unseal_json
from benchbuilder.pipeline.store.checksums import Checksums

# --- checksums -------------------------------------------------------------------------------------------------------

_watched: list[set[str]] = []


def _note(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and _watched:
        _watched[-1].add(str(args[0]))


@cache
def _listen() -> None:
    """From the first use: a hook cannot be taken away, and every test after it is slower."""
    sys.addaudithook(_note)


@contextmanager
def opened() -> Generator[set[str]]:
    """The names of the files that this process opens."""
    _listen()
    _watched.append(set())
    try:
        yield _watched[-1]
    finally:
        _watched.pop()


@pytest.fixture
def exam(tmp_path: Path) -> Path:
    file = tmp_path / "exam.jsonl"
    question = {"question": "孕妇每天补充的是（　　）", "options": {"A": "叶酸", "B": "酒精", "C": "烟草", "D": "铅"}}
    file.write_text(json.dumps({**question, "answer": "叶酸", "answer_idx": "A"}) + "\n", encoding="utf-8")
    return file


def words(tmp_path: Path, exam: Path) -> list[str]:
    chosen = ["source=[medqa,textbook]", "evaluation=[]", "review=[]"]
    return ["recipe=care_mi", *chosen, f"paths.medqa={exam}", "annotation=none", f"run.dir={tmp_path / 'b'}"]


@pytest.mark.full
def test_a_source_that_is_as_it_was_is_not_opened(tmp_path: Path, exam: Path) -> None:
    with opened() as first:
        main(words(tmp_path, exam))
    with opened() as second:
        main(words(tmp_path, exam))
    with opened() as verified:
        main([*words(tmp_path, exam), "--verify"])
    assert str(exam) in first
    assert str(exam) not in second
    assert str(exam) in verified


@pytest.mark.full
def test_a_source_that_changed_is_read(tmp_path: Path, exam: Path, capsys: Any) -> None:
    main(words(tmp_path, exam))
    exam.write_text(exam.read_text(encoding="utf-8").replace("每天", "每日"), encoding="utf-8")
    with opened() as again:
        main(words(tmp_path, exam))
    assert str(exam) in again
    assert "medqa                built    1 row" in capsys.readouterr().out


@pytest.mark.full
def test_what_is_remembered_wrongly_is_found_by_reading(tmp_path: Path, exam: Path, capsys: Any) -> None:
    """A file system whose stamps cannot be trusted: ``--verify`` reads."""
    main(words(tmp_path, exam))
    memory = tmp_path / "b" / "store" / "checksums.json"
    known = unseal_json(memory.read_bytes())
    known["files"][str(exam)][-1] = "0" * 64
    memory.write_bytes(seal_json(known))
    capsys.readouterr()
    main(["plan", *words(tmp_path, exam)])
    assert "changed" in capsys.readouterr().out
    main(["plan", *words(tmp_path, exam), "--verify"])
    assert "changed" not in capsys.readouterr().out


def test_nothing_is_remembered_of_a_file_that_was_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("a", encoding="utf-8")
    checksums = Checksums(tmp_path / "memory.json")
    with pytest.raises(DataError, match="was not read before"):
        checksums.remembered_sha256(file)
    digest = checksums.sha256_of(file)
    assert checksums.remembered_sha256(file) == digest
    file.write_text("b", encoding="utf-8")
    with pytest.raises(DataError, match="was not read before"):
        checksums.remembered_sha256(file)
    assert checksums.sha256_of(tmp_path) != checksums.sha256_of(file)
    with pytest.raises(DataError, match="was not read before"):
        checksums.remembered_sha256(tmp_path / "gone.txt")
    with pytest.raises(DataError, match="cannot read"):
        checksums.sha256_of(tmp_path / "gone.txt")


# --- stale -----------------------------------------------------------------------------------------------------------


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
