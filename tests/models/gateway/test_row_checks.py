"""A damaged figure of the journal is named before any sum is used; salvage counts it at its worst case."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from functools import partial
from pathlib import Path

import pytest
from gateway_models import Done, Fake, FakeSpec, rows
from test_journal import NOW, asked, keep

from benchbuilder.core.errors import StoreError
from benchbuilder.models import Gateway, salvage_journal
from benchbuilder.models.gateway.batch_tables import OpenBatch, garble_result, record_batch_intent
from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.journal_tables import lose_attempt, write_attempt
from benchbuilder.models.gateway.row_checks import CHECKED_TABLES
from benchbuilder.models.gateway.usage import read_receipts, total_spent

NUMBERS = {"prompt", "completion", "cached", "estimated", "counted", "max_new_tokens", "usd", "batched", "final"}
COLUMNS = {
    "replies": "step model endpoint outcome prompt completion cached estimated counted max_new_tokens usd prices",
    "attempts": "owner outcome key step model endpoint prompt completion usd prices body at",
    "batches": "id owner model endpoint state handed_in",
    "batched": "mark loose counted request",
    "unlucky": "failures final why",
}


@pytest.fixture
def held(journal: Path) -> Path:
    """A journal with rows in all tables."""
    opened = Journal(journal)
    keep(opened, *(asked(f"k{number}", limit=50) for number in range(4)))
    opened.commit_now(partial(write_attempt, ident="x", owner="gone", request=asked("x"), time=NOW))
    opened.commit_now(partial(lose_attempt, ident="x", why="lost"))
    batch = OpenBatch("m", None, "o", time.time())
    opened.commit_now(partial(record_batch_intent, batch=batch, requests=[asked("b")], time=NOW))
    keep(opened, asked("g"), outcome=None)
    opened.commit_now(partial(garble_result, key="g", why="no"))
    read_receipts(opened)
    opened.close()
    return journal


def change(file: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        assert connection.execute(sql).rowcount


@pytest.mark.parametrize(("table", "column"), [(t, c) for t, names in COLUMNS.items() for c in names.split()])
def test_a_changed_column_is_named_and_no_sum_is_given(held: Path, table: str, column: str):
    value = {"handed_in": "handed_in + 1", "failures": "9", "request": "x'00'"}.get(column, "'y'")
    value = f"coalesce({column}, 0) + 1" if column in NUMBERS else value
    change(held, f"UPDATE {table} SET {column} = {value} WHERE rowid = 2" if table == "replies"
           else f"UPDATE {table} SET {column} = {value}")  # fmt: skip
    opened = Journal(held)
    for use in (read_receipts, total_spent, lambda journal: journal.commit_now(lambda _: None)):
        with pytest.raises(StoreError, match="damaged") as error:
            use(opened)
    assert f"table {table}" in error.value.why
    opened.close()


@pytest.mark.parametrize("table", CHECKED_TABLES)
def test_a_lost_row_is_named(held: Path, table: str):
    change(held, f"DELETE FROM {table}")
    opened = Journal(held)
    with pytest.raises(StoreError, match="damaged"):
        read_receipts(opened)
    opened.close()


def test_a_salvaged_figure_is_computed_again_and_a_damaged_attempt_counts_at_its_worst(journal: Path):
    with Gateway(journal) as gateway:
        gateway.converse("s", FakeSpec(), rows(5), Done())
        before = gateway.receipts()
    change(journal, "UPDATE replies SET prompt = 1 WHERE id = 3")
    assert salvage_journal(journal).backup is not None
    opened = Journal(journal)
    assert total_spent(opened)[1] > sum(one.prompt_tokens + one.completion_tokens for one in before)
    opened.close()
    Fake.asked.clear()
    with Gateway(journal) as gateway:
        gateway.converse("s", FakeSpec(), rows(5), Done())
        assert gateway.receipts() == before
    assert not Fake.asked


def test_a_damaged_attempt_is_salvaged_at_its_worst_case(held: Path):
    opened = Journal(held)
    usd, tokens = total_spent(opened)
    opened.close()
    change(held, "UPDATE attempts SET prompt = 1, usd = 0.001 WHERE id = 'x'")
    salvage_journal(held)
    opened = Journal(held)
    after = total_spent(opened)
    assert after[0] >= usd
    assert after[1] >= tokens
    opened.close()
