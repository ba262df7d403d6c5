from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from gateway_models import Done, Fake, FakeSpec, rows
from test_journal import asked, keep

from benchbuilder.core.errors import DataError, StoreError
from benchbuilder.models import Gateway, salvage_journal
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.row_checks import CHECKED_TABLES


@pytest.fixture
def full(journal: Path) -> Path:
    """A journal with 20 replies."""
    with Gateway(journal) as gateway:
        gateway.converse("s", FakeSpec(), rows(20), Done())
    Fake.asked.clear()
    return journal


def flip(file: Path, text: bytes) -> bytes:
    """Change one bit in the last place of a text; the bytes of the file."""
    data = bytearray(file.read_bytes())
    assert data.count(text)
    data[data.rindex(text) + len(text) - 1] ^= 1
    file.write_bytes(data)
    return bytes(data)


def test_a_flipped_bit_in_a_reply_is_named_and_not_read_as_another_reply(full: Path):
    flip(full, b"re: row 7")
    told: list[str] = []
    with Gateway(full, notice=told.append) as gateway:
        gateway.converse("s", FakeSpec(), rows(20), done := Done())
        (receipt,) = gateway.receipts()
    assert done == {number: f"re: row {number}" for number in range(20)}
    assert Fake.asked == {"row 7": 1}
    assert len(told) == 1
    assert "is damaged and not used" in told[0]
    assert (receipt.calls, receipt.unanswered) == (20, 1)  # the lost one was paid for
    with Gateway(full, notice=told.append) as gateway:
        gateway.converse("s", FakeSpec(), rows(20), Done())
    assert len(told) == sum(Fake.asked.values()) == 1


def test_a_damaged_reply_counts_as_new_in_a_quote_and_is_paid_under_the_cap(full: Path):
    before = flip(full, b"re: row 7")
    with Gateway(full) as gateway:
        key = next(iter(rows(1, 7)))[1]
        assert gateway.lookup(FakeSpec(), next(key)) is None
        key.close()
    assert full.read_bytes() == before  # reading changes nothing
    with Gateway(full, tokens=1) as gateway, pytest.raises(Exception, match="budget is reached"):
        gateway.converse("s", FakeSpec(), rows(20), Done())
    assert not Fake.asked


def test_a_text_that_is_no_text_any_more_is_a_damaged_reply(full: Path):
    data = bytearray(full.read_bytes())
    data[data.rindex(b"re: row 7")] |= 0x80
    full.write_bytes(data)
    told: list[str] = []
    held = Journal(full, told.append)
    assert len(list(held.entries())) == 19
    held.close()
    assert len(told) == 1


def test_a_damaged_key_is_named_and_no_reply_is_paid_twice(full: Path):
    key = sqlite3.connect(full).execute("SELECT key FROM replies WHERE id = 3").fetchone()[0].encode()
    data = flip(full, key)
    with Gateway(full) as gateway, pytest.raises(StoreError, match="damaged") as told:
        gateway.converse("s", FakeSpec(), rows(20), Done())
    assert f"benchbuild salvage-replies {full}" in told.value.next
    assert not Fake.asked
    assert full.read_bytes() == data
    report = salvage_journal(full)
    assert report.saved + report.damaged == 20
    assert report.damaged <= 1
    assert report.backup is not None
    assert report.backup.read_bytes() == data


def test_an_emptied_file_is_not_taken_for_a_new_one(full: Path):
    full.write_bytes(b"")
    for _ in range(2):
        with Gateway(full) as gateway, pytest.raises(StoreError, match="damaged"):
            gateway.converse("s", FakeSpec(), rows(20), Done())
    assert full.read_bytes() == b""
    assert not Fake.asked


@pytest.mark.parametrize("size", [100, 4096, 8192, 0.5, 0.9])
def test_a_cut_file_is_told_and_never_replaced(full: Path, size: float):
    data = full.read_bytes()[: int(size if size > 1 else size * full.stat().st_size)]
    full.write_bytes(data)
    with Gateway(full) as gateway, pytest.raises(StoreError, match="damaged") as told:
        gateway.converse("s", FakeSpec(), rows(20), Done())
    assert "backup" in told.value.next
    assert not Fake.asked
    assert full.read_bytes() == data


def test_another_database_is_left_as_it_is(journal: Path):
    journal.parent.mkdir()
    with sqlite3.connect(journal) as other:
        other.execute("CREATE TABLE mine (a)")
    other.close()
    data = journal.read_bytes()
    with Gateway(journal) as gateway, pytest.raises(StoreError, match="not a journal of replies"):
        gateway.converse("s", FakeSpec(), rows(1), Done())
    with pytest.raises(DataError, match="not a journal of replies"):
        salvage_journal(journal)
    assert journal.read_bytes() == data
    assert [path.name for path in journal.parent.iterdir()] == [journal.name]


def test_reading_leaves_no_file_behind_and_works_without_the_right_to_write(full: Path):
    held = Journal(full)
    assert len(list(held.entries())) == 20
    held.close()
    assert [path.name for path in full.parent.iterdir()] == [full.name]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        held._open_reader().connection.execute("DELETE FROM replies")  # type: ignore[union-attr]
    held.close()


KILLED = """
import sys, os; sys.path.insert(0, {folder!r})
from test_journal import Journal, Path, asked, keep
held = Journal(Path({file!r}))
keep(held, *(asked(f"k{{number}}") for number in range(5)))
os._exit(1)
"""


def killed(journal: Path) -> Path:
    """A journal whose writer was killed; its write-ahead log."""
    code = KILLED.format(folder=str(Path(__file__).parent), file=str(journal))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 1
    return journal.with_name(f"{journal.name}-wal")


@pytest.mark.push
def test_after_a_kill_readers_see_all_and_change_nothing(journal: Path):
    log = killed(journal)
    files = journal.read_bytes(), log.read_bytes()
    held = Journal(journal)
    assert held.find("k4") is not None
    held.close()
    assert (journal.read_bytes(), log.read_bytes()) == files
    keep(held, asked("k5"))
    held.close()
    assert not log.exists()
    assert Journal(journal).find("k5") is not None


@pytest.mark.push
def test_a_missing_write_ahead_log_is_told_and_its_way_out_works(journal: Path):
    log = killed(journal)
    saved = log.read_bytes()
    log.unlink()
    for work in (lambda held: held.find("k1"), lambda held: held.commit_later(lambda _: None)):
        held = Journal(journal)
        with pytest.raises(StoreError, match="lost its newest replies") as told:
            work(held)
        assert "salvage" in told.value.next
        held.close()
    beside = journal.with_name("copy.sqlite")
    shutil.copyfile(journal, beside)
    assert salvage_journal(journal).saved == 0
    Journal(journal).find("k1")
    beside.with_name("copy.sqlite-wal").write_bytes(saved)
    beside.replace(journal)
    beside.with_name("copy.sqlite-wal").rename(log)
    held = Journal(journal)
    assert held.find("k4") is not None
    held.close()


@pytest.mark.parametrize("where", [0, 30, 3500, "middle"])
def test_what_is_readable_is_salvaged(journal: Path, where: int | str):
    held = Journal(journal)
    keep(held, *(asked(f"{number:064d}") for number in range(300)))
    held.close()
    data = bytearray(journal.read_bytes())
    at = len(data) // 2 if where == "middle" else int(where)
    data[at : at + 40] = b"\xff" * 40
    journal.write_bytes(data)
    report = salvage_journal(journal)
    assert report.saved >= 200
    assert report.backup is not None
    assert report.backup.read_bytes() == bytes(data)
    again = Journal(journal)
    assert len(list(again.entries())) == report.saved
    keep(again, asked("one more"))
    again.close()


def test_a_whole_journal_is_left_alone(full: Path):
    data = full.read_bytes()
    report = salvage_journal(full)
    assert (report.saved, report.backup) == (20, None)
    assert full.read_bytes() == data
    assert [path.name for path in full.parent.iterdir()] == [full.name]


def test_a_journal_of_the_first_version_is_read_and_upgraded_by_the_next_writer(full: Path):
    with sqlite3.connect(full) as old:
        old.execute("ALTER TABLE bodies DROP COLUMN digest")
        old.execute("DROP TABLE writers")
        old.execute("DROP TABLE sums")
        for table in CHECKED_TABLES:
            old.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        old.execute("PRAGMA user_version = 1")
    old.close()
    held = Journal(full)
    assert len(list(held.entries())) == 20
    held.commit_now(lambda _: None)
    held.close()
    assert Journal(full).rows("SELECT count(*) FROM bodies WHERE length(digest) = 16") == [(20,)]
    with Gateway(full) as gateway:
        gateway.converse("s", FakeSpec(), rows(20), Done())
    assert not Fake.asked


def test_a_text_is_no_journal(tmp_path: Path) -> None:
    file = tmp_path / "replies.sqlite"
    file.write_text("a line of a text\n" * 12_000, encoding="utf-8")
    with pytest.raises(DataError, match="nothing in this file is readable"):
        salvage_journal(file)
    assert file.stat().st_size == 204_000
    assert list(tmp_path.iterdir()) == [file]
