"""Databases of the first version: they are migrated when they are opened, and no vote is lost."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import text
from vote_world import World, tasks_of

from benchbuilder.annotation.database.store import AnnotationStore

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
