"""Submissions to the private questions: scored by the recipe's scorers, without an advantage for leaving some out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from built_sample import BuiltSample
from rich.console import Console

from benchbuilder.core import DataError
from benchbuilder.pipeline import LineProgress
from benchbuilder.publishing import ScoredSubmission, score_submission


def private_rows(releases: Path) -> list[dict[str, Any]]:
    text = (releases / "care_mi" / "private" / "1.0.0" / "items.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def submit(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def scored(built: BuiltSample, releases: Path, file: Path) -> ScoredSubmission:
    loaded = built.with_settings(dir=str(releases), private=0.3, dev=4)
    return score_submission(loaded, file, built.folder, LineProgress(Console(quiet=True)))


@pytest.mark.push
def test_answers_are_scored_and_those_left_out_count_as_wrong(
    built: BuiltSample, own_releases: Path, tmp_path: Path
) -> None:
    rows = private_rows(own_releases)
    asked = [row for row in rows if row["type"] == "tf"]
    answers = [{"id": row["name"], "model": "knows", "answer": row["answer"]} for row in rows]
    answers += [{"id": row["name"], "model": "half", "answer": row["answer"]} for row in asked[: len(asked) // 2]]
    done = scored(built, own_releases, submit(tmp_path / "a.jsonl", answers))
    assert done.unanswered == {"knows": 0, "half": len(rows) - len(asked) // 2}
    found = {score.model: score for score in done.scores if score.aspect == "verdict"}
    assert {score.estimate.n for score in found.values()} == {len(asked)}
    assert found["knows"].estimate.value == pytest.approx(1.0, abs=0.15)
    assert found["half"].labels["empty"] == len(asked) - len(asked) // 2
    assert 0 < (found["half"].estimate.value or 0) <= 0.5
    assert (found["knows"].estimate.low or 0) > (found["half"].estimate.high or 1)
    assert done.folder.is_relative_to(own_releases / "care_mi" / "private")


@pytest.mark.push
def test_rows_that_cannot_be_used_are_all_listed(built: BuiltSample, own_releases: Path, tmp_path: Path) -> None:
    name = private_rows(own_releases)[0]["name"]
    bad = [{"id": name, "answer": "a"}, {"id": name, "answer": "b"}, {"id": "item-1", "answer": "a"}, {"answer": "a"},
           {"id": name, "model": "m", "answer": 3}]  # fmt: skip
    with pytest.raises(DataError, match="4 problems") as refused:
        scored(built, own_releases, submit(tmp_path / "bad.jsonl", bad))
    for line, what in ((2, "submission answered"), (3, "is no private question"), (4, "no `id`"), (5, "answer is int")):
        assert f"bad.jsonl:{line}: " in refused.value.why
        assert what in refused.value.why


def test_without_private_questions_there_is_nothing_to_score(built: BuiltSample, tmp_path: Path) -> None:
    built.release(dir=str(tmp_path))
    with pytest.raises(DataError, match="has no private questions"):
        scored(built, tmp_path, submit(tmp_path / "a.jsonl", [{"id": "x", "answer": "a"}]))
