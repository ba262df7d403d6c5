"""Judged rows: their file, and what becomes of judgements under other rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.core import DataError
from benchbuilder.explorer.workbench.judged_rows import (
    JudgedRow,
    add_judged,
    judge_again,
    read_judged,
    share_of,
)
from benchbuilder.explorer.workbench.trial_bench import TriedRow


def _judged(row: str, judged: str = "good", made: str = "a is b.", chosen: str = "picked") -> JudgedRow:
    return JudgedRow("state", row, judged, chosen, "2026-01-01", "a is\tq\n", "b", made, "{}")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("judged", "now", "verdict"),
    [
        ("good", "a is b.", "kept"), ("good", "", "broken"), ("good", "a was b.", "look_again"),
        ("bad", "a is b.", "still_wrong"), ("bad", "", "mended"), ("bad", "a was b.", "look_again"),
        ("unsure", "", "open"), ("good", None, "absent"),
    ],
)  # fmt: skip
def test_a_judgement_has_a_verdict_under_other_rules(judged: str, now: str | None, verdict: str) -> None:
    tried = None if now is None else TriedRow((now,) if now else (), "", "", unhandled=not now)
    (result,) = judge_again([_judged("r", judged)], lambda _: tried)
    assert result.verdict == verdict


def test_the_share_of_right_rows_leaves_out_what_people_must_look_at() -> None:
    rows = [_judged("a"), _judged("b"), _judged("c", "bad"), _judged("d", "bad"), _judged("e", "unsure")]
    now = {"a": ("a is b.",), "b": (), "c": (), "d": ("a is b.",), "e": ()}
    share = share_of(judge_again(rows, lambda row: TriedRow(now[row.row], "", "", unhandled=False)))
    assert (share.right, share.wrong, share.decided) == (2, 2, 4)


def test_a_file_of_judged_rows_is_sorted_and_holds_one_judgement_a_row(tmp_path: Path) -> None:
    path = tmp_path / "own_judged.tsv"
    for row in (_judged("z"), _judged("a", chosen="drawn"), _judged("z", "bad"), _judged("a")):
        add_judged(path, row)
    found = read_judged(path, "state")
    assert [(row.row, row.judged) for row in found] == [("a", "good"), ("z", "bad")]
    assert found[0].chosen == "drawn", "a row that chance drew stays one"
    assert found[0].question == "a is\tq\n"
    assert read_judged(path, "other") == []
    assert read_judged(tmp_path / "none.tsv") == []


@pytest.mark.parametrize(
    "text", ["", "step\trow\n", "step\trow\tjudged\tchosen\tat\tquestion\tanswer\tmade\tdata\nx\ty\n"]
)
def test_a_broken_file_of_judged_rows_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "own_judged.tsv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_judged(path)
    assert "own_judged.tsv:" in caught.value.where
