from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from patience import patience
from sqlalchemy import text
from vote_world import World, tasks_of

from benchbuilder.annotation.database import annotator_queries
from benchbuilder.annotation.database.schema import metadata
from benchbuilder.annotation.database.store import AnnotationStore
from benchbuilder.core.errors import DataError

_OPEN = """
import sys
from benchbuilder.annotation.database import annotator_queries
from benchbuilder.annotation.database.store import AnnotationStore
sys.stdin.readline()
with AnnotationStore.open(sys.argv[1]) as store:
    store.invite(sys.argv[2], "annotator")
"""


@pytest.mark.push
def test_several_processes_open_a_new_database_at_once(url: str):
    command = [sys.executable, "-c", _OPEN, url]
    processes = [
        subprocess.Popen([*command, f"专家{n}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for n in range(3)
    ]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    problems = [process.communicate(timeout=patience())[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 3, problems
    with AnnotationStore.open(url) as store:
        assert sorted(person.code for person in store.people()) == ["A1", "A2", "A3"]


def test_migrations_make_what_the_tables_say(world: World):
    with world.store._transactions.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": False})
        assert compare_metadata(context, metadata) == []


def test_opening_again_finds_everything(world: World):
    person = world.annotators(2)[0]
    world.lay_out(tasks_of(3))
    world.submit(person)
    digest = world.store.votes_digest("p")
    world.store.close()
    with AnnotationStore.open(world.url) as again:
        assert again.votes_digest("p") == digest
        assert again.project("p") is not None


def test_sqlite_writes_ahead_and_waits_for_the_disk(tmp_path: Path):
    world = World(f"sqlite:///{tmp_path / 'new' / 'folder' / 'votes.db'}")
    with world.store._transactions.reading() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    world.store.close()
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}


@pytest.mark.parametrize(
    "url", ["", "votes.db", "mysql://u:p@h/d", "sqlite://", "sqlite:///:memory:", "://", "postgresql"]
)
def test_a_file_that_is_no_database_is_reported(url: str):
    with pytest.raises(DataError) as caught:
        AnnotationStore.open(url)
    assert "sqlite:///FILE" in caught.value.next


def test_a_file_that_is_none_of_ours_is_left_alone(tmp_path: Path):
    path = tmp_path / "notes.db"
    path.write_bytes("这不是数据库。".encode() * 500)
    before = path.read_bytes()
    with pytest.raises(DataError, match="cannot be opened") as caught:
        AnnotationStore.open(f"sqlite:///{path}")
    assert str(path) in caught.value.where
    assert path.read_bytes() == before


def test_a_path_that_is_a_folder(tmp_path: Path):
    with pytest.raises(DataError, match="cannot be opened"):
        AnnotationStore.open(f"sqlite:///{tmp_path}")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError):
        AnnotationStore.open(f"sqlite:///{tmp_path / 'file' / 'votes.db'}")


def test_a_newer_database_is_reported(tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'votes.db'}"
    AnnotationStore.open(url).close()
    with sqlite3.connect(tmp_path / "votes.db") as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
    raw.close()
    with pytest.raises(DataError, match="newer version"):
        AnnotationStore.open(url)


def test_a_server_that_is_not_there_and_no_password_in_the_message():
    with pytest.raises(DataError, match="cannot be opened") as caught:
        AnnotationStore.open("postgresql://li:geheim@127.0.0.1:1/votes")
    assert "127.0.0.1:1/votes" in str(caught.value)
    assert "geheim" not in str(caught.value)


def test_a_path_with_special_characters(tmp_path: Path):
    folder = tmp_path / "50% 专家 #1"
    folder.mkdir()
    with AnnotationStore.open(f"sqlite:///{folder / 'votes.db'}") as store:
        store.invite("专家1", "annotator")
    assert (folder / "votes.db").exists()


def test_a_failed_transaction_saves_nothing(world: World, monkeypatch: pytest.MonkeyPatch):
    first, second = world.annotators(2)
    world.lay_out(tasks_of(1))
    world.submit(first, sound=0)
    world.open(second)

    def broken(*_: object) -> None:
        raise sqlalchemy.exc.InvalidRequestError("broken")

    monkeypatch.setattr(annotator_queries, "update_task_disputes", broken)
    before = len(list(world.store.events("p")))
    with pytest.raises(sqlalchemy.exc.InvalidRequestError):
        world.submit(second)
    assert len(list(world.store.events("p"))) == before
    assert len(list(world.store.vote_events("p"))) == 1
    monkeypatch.undo()
    assert world.submit(second) == "kept"
    assert world.store.count_disputes("p") == 1


FORMER_DATABASE = Path(__file__).with_name("former_database.sql")
"""Dump of a database that the first version wrote: votes of two annotators, a decision, and an import."""


def test_a_database_of_the_first_version_keeps_all_its_votes(tmp_path: Path):
    path = tmp_path / "review.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FORMER_DATABASE.read_text("utf-8"))
    with AnnotationStore.open(f"sqlite:///{path}") as store:
        votes = store.current_votes("p")
        assert sorted(list(given.items()) for given in votes.by_subject.values()) == [
            [("A1", 1), ("A2", 0)],
            [("A1", 1), ("A2", 1)],
            [("A1", 1), ("A2", 1)],
            [("A1", 2), ("A2", 2)],
        ]
        assert list(votes.decisions.values()) == [("J1", 0)]
        assert [comment.text for comment in votes.comments] == ["看过指南"]
        assert [vote.channel for vote in store.vote_events("p")] == ["app"] * 8 + ["csv"] * 2
        assert [event.detail for event in store.events("p") if event.kind == "import"] == [{"channel": "csv"}]
        assert [person.name for person in store.people()] == ["专家1", "专家2", "裁决者"]
        digest = store.votes_digest("p")
    with AnnotationStore.open(f"sqlite:///{path}") as store:  # migrated once, opened as it is from then on
        assert store.votes_digest("p") == digest


def test_renaming_the_column_keeps_votes_in_both_databases(world: World):
    person = world.annotators(1)[0]
    world.lay_out(tasks_of(2))
    for _ in range(2):
        assert world.submit(person) == "kept"
    before = (world.store.votes_digest("p"), list(world.store.vote_events("p")))
    with world.store._transactions.writing(exclusive=True) as connection:
        connection.execute(text("ALTER TABLE votes RENAME COLUMN channel TO door"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    with AnnotationStore.open(world.url, world.clock) as store:
        assert (store.votes_digest("p"), list(store.vote_events("p"))) == before
