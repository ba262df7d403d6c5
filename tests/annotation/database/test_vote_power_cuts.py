"""Whatever a power cut leaves of the votes, it holds every one that was reported as saved."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

from power_cut import all_cuts, marks_before, record, restore
from sqlalchemy import text

from benchbuilder.annotation.database.connection import Transactions
from benchbuilder.annotation.database.migrate import migrate

_STATES = 100


def test_saved_votes_survive_a_power_cut(tmp_path: Path) -> None:
    world = (tmp_path / "world").resolve()
    world.mkdir()
    file = world / "annotation" / "votes.sqlite"
    with record(world) as recorder:
        transactions = Transactions(f"sqlite:///{file}")
        migrate(transactions)
        with transactions.writing() as connection:
            connection.execute(text("CREATE TABLE said (vote TEXT)"))
        for number in range(6):
            with transactions.writing() as connection:
                connection.execute(text("INSERT INTO said VALUES (:vote)"), {"vote": f"vote {number}"})
            recorder.mark(f"vote {number}")
        transactions.close()
    cuts = list(all_cuts(recorder, seeds=3))
    for cut in random.Random(5).sample(cuts, min(_STATES, len(cuts))):
        restore(recorder, cut)
        saved = {vote for vote in marks_before(recorder, cut) if vote != "end"}
        if saved:
            with closing(sqlite3.connect(file)) as connection:
                assert saved <= {vote for (vote,) in connection.execute("SELECT vote FROM said")}, cut
                assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
