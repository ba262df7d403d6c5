"""Many annotators at once: nothing that was acknowledged is lost, even if the server is killed meanwhile."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from live_app import serving
from load import Save, Shift, acknowledged, check_kept, in_background, side_by_side, signed_in, trouble, wait_for
from vote_worlds import check_consistent, connected, lay_out, submits

ANNOTATORS = 16
SAVES = 24


def saves(count: int) -> list[Save]:
    """One task after another, each kept as a draft and then submitted, every tenth corrected; at last just a draft."""
    found: list[Save] = []
    for number in range(1, count):
        found += [Save(number, 1, "draft"), Save(number, 2, "submit")]
        if number % 10 == 0:
            found.append(Save(number, 3, "submit"))
    return [*found[: count - 1], Save(count, 5, "draft")]


@pytest.mark.full
def test_sixteen_annotators_save_many_times_each(database: str, tmp_path: Path) -> None:
    annotators = lay_out(database, SAVES * ANNOTATORS // 2, ANNOTATORS)
    shifts = [Shift(annotator, saves(SAVES)) for annotator in annotators]
    with serving(database, tmp_path) as server, signed_in(shifts, server):
        side_by_side(lambda shift: shift.work(20), shifts)
    assert trouble(shifts) == []
    assert acknowledged(shifts) == SAVES * ANNOTATORS
    with connected(database) as connection:
        check_kept(connection, shifts)
        there = Counter(submits(connection))
    sent = Counter(
        (shift.annotator.task_ids[save.number], shift.annotator.person.id)
        for shift in shifts for save in shift.acknowledged if save.action == "submit"
    )  # fmt: skip
    assert there == sent, "each submit is in the history once"
    check_consistent(database)
    assert server.said == ""


def test_pages_of_one_state_sent_at_once_are_decided_once(database: str, tmp_path: Path) -> None:
    annotators = lay_out(database, 8, 1, per_task=1, rule="mean")
    shifts = [Shift(annotators[0], [Save(number, tab, "submit") for number in range(1, 9)]) for tab in range(3)]
    with serving(database, tmp_path) as server, signed_in(shifts, server):
        side_by_side(lambda shift: shift.work(0), shifts)
    won = Counter(save.number for shift in shifts for save in shift.acknowledged)
    assert won == dict.fromkeys(range(1, 9), 1)
    lost = trouble(shifts)
    assert len(lost) == 16
    assert all(": 409 " in line for line in lost)
    with connected(database) as connection:
        assert len(submits(connection)) == 8
    check_consistent(database)


@pytest.mark.full
def test_a_kill_loses_nothing_that_was_acknowledged(database: str, tmp_path: Path) -> None:
    annotators = lay_out(database, 20 * ANNOTATORS // 2, ANNOTATORS)
    shifts = [Shift(annotator, saves(20)) for annotator in annotators]
    with serving(database, tmp_path) as server, signed_in(shifts, server):
        for goal in (80, 160):
            at_work = in_background(shifts, 0)
            wait_for(shifts, goal, at_work)
            server.kill()
            at_work.join()
            assert any(shift.to_do for shift in shifts), "they were done before it was killed"
            with connected(database) as connection:
                check_kept(connection, shifts)
            server.start()
            check_consistent(database)
        side_by_side(lambda shift: shift.work(5), shifts)
    assert trouble(shifts) == []
    assert acknowledged(shifts) == 20 * ANNOTATORS
    with connected(database) as connection:
        check_kept(connection, shifts)
    check_consistent(database)
    assert server.said == ""
