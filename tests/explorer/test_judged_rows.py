"""Judged rows: their file, and what becomes of judgements under other rules."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from own_rules import write_own_recipe

from benchbuilder.config import load_recipe
from benchbuilder.core import DataError
from benchbuilder.explorer import check_judged
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


def test_judgements_at_the_same_time_lose_none(tmp_path: Path) -> None:
    path = tmp_path / "own_judged.tsv"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: add_judged(path, _judged(f"row-{n}")), range(40)))
    assert {row.row for row in read_judged(path)} == {f"row-{n}" for n in range(40)}


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


@pytest.mark.full
def test_judged_rows_are_checked_without_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = write_own_recipe(tmp_path)
    monkeypatch.chdir(tmp_path)
    payload = {
        "question": "早产儿出生体重应为",
        "answer": "不足2500g",
        "options": [{"key": "A", "text": "不足2500g"}],
        "answer_key": "A",
    }
    row = {
        "id": "fact-1", "parents": [], "origin": {"file": "f", "line": 1}, "produced_by": {"rule": "x"},
        "payload": payload, "language": "zh", "partition": "p",
    }  # fmt: skip
    same = "早产儿出生体重应为不足2500g。"
    for name, judged, made in (("a", "good", same), ("b", "bad", same),
                               ("c", "good", "早产儿不足2500g。"), ("d", "bad", "早产儿不足2500g。")):  # fmt: skip
        add_judged(rules.with_name("own_claims_judged.tsv"), JudgedRow(
            "state_choice", name, judged, "picked", "2026-01-01", "q", "a", made, json.dumps(row)))  # type: ignore[arg-type]  # fmt: skip
    (judged,) = check_judged(load_recipe(["recipe=own"]))
    assert [result.verdict for result in judged.results] == ["kept", "still_wrong", "look_again", "look_again"]
    assert (judged.share.right, judged.share.decided) == (1, 2)
    (problem,) = judged.problems()
    assert "1 rows that were judged bad" in problem.message or "judged bad" in problem.message
    rules.write_text(rules.read_text("utf-8").replace("  seams: [是, 为, ", "  seams: [是, ", 1), "utf-8")
    (judged,) = check_judged(load_recipe(["recipe=own"]))
    assert [result.verdict for result in judged.results] == ["broken", "mended", "broken", "mended"]
