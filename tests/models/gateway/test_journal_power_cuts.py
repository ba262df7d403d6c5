"""Whatever a power cut leaves of the journal, it holds every reply that was reported as kept."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest
from gateway_models import body, request
from power_cut import all_cuts, marks_before, record, restore

from benchbuilder.models.gateway.journal import Journal
from benchbuilder.models.gateway.journal_tables import Cost, JournalRequest, write_reply

pytestmark = pytest.mark.push

_STATES = 150
_NOW = "2026-01-02T03:04:05+00:00"


def _asked(key: str) -> JournalRequest:
    return JournalRequest(key, None, "s", "m", "http://m", request(key), {}, 12, Cost(1, 1, 0.5), "2026-01-01")


@pytest.mark.push
def test_kept_replies_survive_a_power_cut(tmp_path: Path) -> None:
    world = (tmp_path / "world").resolve()
    world.mkdir()
    file = world / "builds" / "x" / "replies.sqlite"
    with record(world) as recorder:
        for run in range(2):  # the first ends with a checkpoint
            journal = Journal(file)
            for key in (f"{run} {number}" for number in range(6)):
                assert journal.commit_now(partial(write_reply, request=_asked(key), body=body(key), time=_NOW))
                recorder.mark(key)
            journal.close()
    cuts = list(all_cuts(recorder, seeds=4))
    for cut in random.Random(5).sample(cuts, min(_STATES, len(cuts))):
        restore(recorder, cut)
        journal = Journal(file)
        kept = [key for key in marks_before(recorder, cut) if key != "end"]
        assert [key for key in kept if journal.find(key) is None] == [], cut
        if kept:
            assert journal.rows("PRAGMA integrity_check") == [("ok",)]
        journal.close()
