from __future__ import annotations

import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from gateway_models import body, request

from benchbuilder.cli.receipts import receipt_lines
from benchbuilder.core.errors import StoreError
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.journal_tables import (
    Cost,
    JournalRequest,
    SettledReply,
    garble_reply,
    settle_reply,
    write_attempt,
    write_reply,
)
from benchbuilder.models.gateway.process_owner import is_owner_alive, new_owner
from benchbuilder.models.gateway.usage import read_receipts

NOW = "2026-01-02T03:04:05+00:00"


def asked(key: str, *, loose: str | None = None, limit: int | None = None, step: str = "s") -> JournalRequest:
    sampling = {} if limit is None else {"max_new_tokens": limit}
    return JournalRequest(
        key, loose, step, "m", "http://m", request(key), sampling, 12, Cost(100, 50, 0.5), "2026-01-01"
    )


def keep(journal: Journal, *entries: JournalRequest, outcome: str | None = "complete") -> None:
    for entry in entries:
        assert journal.commit_now(partial(write_reply, request=entry, body=body(entry.key), time=NOW))
        if outcome:
            settled = SettledReply(outcome, Cost(9, 4, 0.01), 2, estimated=False)  # type: ignore[arg-type]
            journal.commit_now(partial(settle_reply, key=entry.key, settled=settled))


def test_nothing_is_made_before_the_first_write(journal: Path):
    held = Journal(journal)
    assert held.find("a") is None
    assert read_receipts(held) == ()
    held.close()
    assert not journal.parent.exists()


def test_what_was_committed_is_found_again(journal: Path):
    first = Journal(journal)
    keep(first, asked("a"), asked("b"))
    first.close()
    again = Journal(journal)
    held = again.find("a")
    assert held is not None
    assert (held.body, held.outcome) == (body("a"), "complete")
    assert again.find("c") is None
    assert [(key, request.messages[0].content) for key, request, _ in again.entries()] == [("a", "a"), ("b", "b")]
    assert list(again.entries("another")) == []
    again.close()


def test_a_second_reply_to_a_request_does_not_take_the_place_of_the_first(journal: Path):
    held = Journal(journal)
    keep(held, asked("a"))
    held.commit_now(partial(write_attempt, ident="x", owner="o", request=asked("a"), time=NOW))
    assert held.commit_now(partial(write_reply, request=asked("a"), body="{}", time=NOW, attempt="x")) is False
    found = held.find("a")
    assert found is not None
    assert found.body == body("a")
    (receipt,) = read_receipts(held)
    assert (receipt.calls, receipt.unanswered, receipt.usd) == (1, 1, pytest.approx(0.51))
    held.close()


def test_the_worst_case_stands_until_the_body_was_read(journal: Path):
    held = Journal(journal)
    keep(held, asked("a"), outcome=None)
    (before,) = read_receipts(held)
    assert (before.prompt_tokens, before.completion_tokens, before.usd, before.outcomes) == (100, 50, 0.5, {})
    held.commit_now(
        partial(settle_reply, key="a", settled=SettledReply("truncated", Cost(9, 4, 0.01), 2, estimated=True))
    )
    (after,) = read_receipts(held)
    assert (after.prompt_tokens, after.completion_tokens, after.cached_tokens, after.usd) == (9, 4, 2, 0.01)
    assert (after.uncounted, after.outcomes) == (1, {"truncated": 1})
    held.close()


def test_a_receipt_says_how_much_of_what_was_written_was_thinking(journal: Path):
    held = Journal(journal)
    for key, thought, estimated in (("a", 30, False), ("b", 12, True), ("c", 0, False)):
        keep(held, asked(key), outcome=None)
        settled = SettledReply("complete", Cost(9, 40, 0.01), 0, False, thought, estimated)
        held.commit_now(partial(settle_reply, key=key, settled=settled))
    (receipt,) = read_receipts(held)
    assert (receipt.completion_tokens, receipt.reasoning_tokens, receipt.reasoning_estimated) == (120, 42, True)
    assert "27 + 120 tokens (of which thinking about 42)" in next(iter(receipt_lines([receipt])))
    held.close()


def test_a_body_that_holds_no_answer_is_kept_but_answers_nothing(journal: Path):
    held = Journal(journal)
    keep(held, asked("a"), outcome=None)
    held.commit_now(partial(garble_reply, key="a"))
    assert held.find("a") is None
    assert held.rows("SELECT outcome, body FROM attempts") == [("garbage", body("a"))]
    assert held.rows("SELECT * FROM bodies") == []
    keep(held, asked("a"))
    held.commit_now(partial(garble_reply, key="a"))
    assert held.find("a") is not None
    held.close()


def test_the_highest_lower_limit_is_reused_and_only_if_complete(journal: Path):
    held = Journal(journal)
    keep(held, *(asked(f"k{limit}", loose="l", limit=limit) for limit in (64, 128, 512)))
    keep(held, asked("k256", loose="l", limit=256), outcome="truncated")

    def found(limit: int | None) -> str | None:
        reply = held.find_complete("l", limit)
        return None if reply is None else reply.key

    assert (found(512), found(300), found(64), found(None)) == ("k128", "k128", None, "k512")
    held.close()


def test_a_file_that_is_no_database_is_told(journal: Path):
    journal.parent.mkdir()
    journal.write_bytes(b"no database at all " * 100)
    held = Journal(journal)
    with pytest.raises(StoreError, match="damaged"):
        held.find("a")
    with pytest.raises(StoreError, match="damaged"):
        held.commit_later(lambda connection: None)
    assert journal.read_bytes().startswith(b"no database")


def test_a_damaged_file_is_told(journal: Path):
    held = Journal(journal)
    keep(held, *(asked(f"k{number}") for number in range(200)))
    held.close()
    data = bytearray(journal.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    journal.write_bytes(bytes(data))
    with pytest.raises(StoreError, match="damaged"):
        Journal(journal).find("k7")


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 99", "PRAGMA application_id = 7"])
def test_a_file_of_another_version_or_program_is_told(journal: Path, statement: str):
    held = Journal(journal)
    keep(held, asked("a"))
    held.close()
    connection = sqlite3.connect(journal)
    connection.execute(statement)
    connection.close()
    with pytest.raises(StoreError, match=r"version 99|not a journal"):
        Journal(journal).find("a")


def test_a_full_disk_is_told_and_nothing_more_is_claimed(journal: Path):
    held = Journal(journal)
    keep(held, asked("a"))
    held.commit_now(lambda connection: connection.execute("PRAGMA max_page_count = 20").fetchall() and None)
    with pytest.raises(StoreError, match="cannot be written") as told:
        keep(held, *(asked(f"k{number}") for number in range(500)))
    assert "make room" in told.value.next
    with pytest.raises(StoreError):
        held.commit_later(lambda connection: None)
    held.close()
    again = Journal(journal)
    assert again.find("a") is not None
    again.close()


WRITER = """
import sys; sys.path.insert(0, {folder!r})
from test_journal import Journal, Path, asked, keep
held = Journal(Path({journal!r}))
for number in range(120):
    held.commit_later(lambda connection: None)
    try:
        keep(held, asked(f"{{number % 3 and {name!r}}}-{{number}}"))
    except AssertionError:
        pass  # the other process was first
held.close()
"""


def test_a_failure_that_nobody_waited_for_is_told_at_the_end(journal: Path):
    held = Journal(journal)
    held.commit_later(lambda connection: connection.execute("INSERT INTO nowhere VALUES (1)") and None)
    with pytest.raises(StoreError, match="nowhere"):
        held.close()
    held.close()


@pytest.mark.full
def test_two_processes_may_write_at_the_same_time(journal: Path):
    folder = str(Path(__file__).parent)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER.format(folder=folder, journal=str(journal), name=name)])
        for name in ("a", "b")
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    held = Journal(journal)
    assert held.rows("SELECT count(*) FROM replies JOIN bodies USING (id)") == [(40 + 80 + 80,)]
    assert held.rows("PRAGMA integrity_check") == [("ok",)]
    held.close()


def test_on_windows_no_process_is_asked_by_a_signal_that_ends_it(monkeypatch):
    host, pid, began, number = new_owner().split(":")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("os.kill", lambda *_: pytest.fail("os.kill ends a process on Windows"))
    assert not is_owner_alive(f"{host}:{int(pid) - 1}:{began}:{number}")


def test_owners_are_alive_as_long_as_their_process():
    assert is_owner_alive(new_owner())
    code = "from benchbuilder.models.gateway.process_owner import new_owner; print(new_owner())"
    gone = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert not is_owner_alive(gone)
    host, pid, began, number = new_owner().split(":")
    assert not is_owner_alive(f"elsewhere:{pid}:{began}:{number}")
    assert not is_owner_alive(f"{host}:{pid}:12345:{number}")
    assert not is_owner_alive("")
