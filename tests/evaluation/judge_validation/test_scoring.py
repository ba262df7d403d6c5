"""Files of answers: what can be read, what is scored, and what comes out."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from judge_world import item, ridge

from benchbuilder.core.errors import DataError
from benchbuilder.evaluation.judge_training.score_file import read_records, record_cases, score_records, write_records
from benchbuilder.evaluation.judges.base import Case, JudgeSpec, ScoringJudge, case_hash

ROWS: list[dict[str, Any]] = [
    {"id": "1", "question": "甲，乙？", "answer": "丙\n丁", "evidence": ["一段。", "二段，\"引号\"。"]},
    {"id": "2", "question": "戊？", "answer": "", "evidence": []},
]  # fmt: skip


class Lengths(ScoringJudge):
    kind = "lengths"
    spec_class = JudgeSpec

    def score(self, cases: Sequence[Case]) -> list[float]:
        assert all(case.answer for case in cases)
        return [min(1.0, (len(case.answer) + len(case.evidence)) / 10) for case in cases]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".tsv", ".parquet"])
def test_every_format_comes_back_and_means_the_same(tmp_path: Path, suffix: str):
    path = tmp_path / f"answers{suffix}"
    write_records(path, ROWS)
    records = read_records(path)
    cases = record_cases(records, {}, "answers")
    assert cases == [Case(row["question"], row["answer"], tuple(row["evidence"])) for row in ROWS]
    target = tmp_path / f"scored{suffix}"
    write_records(target, score_records(records, cases, Lengths(ridge()), 0.25))
    again = read_records(target)
    assert [float(row["score"]) for row in again] == [0.5, 0.0]
    assert [float(row["low"] or 0) for row in again] == [0.25, 0]
    assert list(again[0]) == ["id", "question", "answer", "evidence", "score", "low", "high", "label"]
    assert not list(tmp_path.glob("*.tmp"))


def test_foreign_files_are_read_as_people_write_them(tmp_path: Path):
    table = tmp_path / "a.csv"
    table.write_bytes(
        "\ufefffull-question,answer,evidence,type\r\n问？,答,第一段\n,TF\r\n".replace("\n,TF", ",TF").encode()
    )
    assert record_cases(read_records(table), {}, "a") == [Case("问？", "答", ("第一段",), type="tf")]
    parts = [{"title": "t", "text": "一"}, {"title": "t", "text": " "}, {"text": "二"}]
    pq.write_table(pa.Table.from_pylist([{"question": "q", "answer": "a", "evidence": parts}]), tmp_path / "b.parquet")
    assert record_cases(read_records(tmp_path / "b.parquet"), {}, "b") == [Case("q", "a", ("一", "二"))]
    assert record_cases([{"question": "q", "answer": "a", "evidence": "[1] 一\n二"}], {}, "c")[0].evidence == (
        "[1] 一",
        "二",
    )
    assert record_cases([{"question": "q", "answer": "a"}], {}, "c")[0].evidence == ()


def test_an_id_brings_question_and_paragraphs_of_its_item():
    one = item(1, "甲。", "乙。", "丙？", evidence=["段。"])
    (case,) = record_cases([{"id": one.id, "question": "else", "answer": "x"}], {one.id: one}, "a")
    assert case == Case("丙？", "x", ("段。",), "甲。", "乙。", "oe")


def test_records_with_too_little_are_named_together():
    rows = [{"question": "q", "answer": "a"}, {"question": "q"}, {"answer": "a"}, {"id": "i9", "answer": "a"}]
    with pytest.raises(DataError) as told:
        record_cases([*rows, *({"answer": None} for _ in range(9))], {}, "answers.jsonl")
    text = str(told.value)
    assert "12 of 13 records cannot be scored" in text
    assert "record 2 has no answer; record 3 has no question; record 4 has no question, and its id 'i9'" in text
    assert "(and 7 more)" in text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b"{"),
        ("a.jsonl", b'{"answer": "\\ud83d"}'),
        ("a.jsonl", b"[" * 99_999),
        ("a.jsonl", b"[1]"),
        ("a.csv", b'q,a\n"x'),
        ("a.csv", b"\xff\xfe"),
        ("a.parquet", b"no"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path: Path, name: str, data: bytes):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match="does not have the format of its suffix"):
        read_records(tmp_path / name)


def test_a_name_that_says_nothing_and_a_file_that_is_not_there(tmp_path: Path):
    for action in (read_records, lambda path: write_records(path, ROWS)):
        with pytest.raises(DataError, match="is unknown"):
            action(tmp_path / "a.xlsx")
    with pytest.raises(DataError, match="cannot read"):
        read_records(tmp_path / "none.csv")


def test_many_answers_are_scored_in_order_and_without_interval_where_there_is_none():
    records = [{"answer": "x" * (n % 11)} for n in range(4500)]
    cases = [Case("q", row["answer"], ("e",)) for row in records]
    found = score_records(records, cases, Lengths(ridge(evidence=False)), None)
    assert [row["score"] for row in found] == [min(1.0, len(row["answer"]) / 10) for row in records]
    assert {(row["low"], row["high"]) for row in found} == {(None, None)}


def test_what_nobody_sees_is_no_answer_and_what_was_learned_is_labelled():
    hidden = ["\u200b", "\ufeff \u2060", "\u00ad\u200d\ufe0f", "\u3164", "\u202e\n"]
    cases = [Case("q", text) for text in [*hidden, "是\u200b", "否"]]
    found = score_records([{} for _ in cases], cases, Lengths(ridge()), 0.1, {case_hash(cases[-1])})
    assert [row["label"] for row in found] == ["empty"] * len(hidden) + ["", "learned"]
    assert [row["score"] for row in found] == [0.0] * len(hidden) + [0.2, 0.1]


def test_half_a_character_in_a_cell_of_evidence_is_named(tmp_path: Path):
    (tmp_path / "a.csv").write_text('question,answer,evidence\nq,a,"[""\\ud83d""]"\n', encoding="utf-8")
    with pytest.raises(DataError) as told:
        record_cases(read_records(tmp_path / "a.csv"), {}, "a.csv")
    assert "record 1 has half a character" in told.value.why


def test_lines_are_written_as_text_and_numbers_as_they_are(tmp_path: Path):
    write_records(tmp_path / "a.jsonl", [{"a": "妈妈", "score": 0.5, "low": None}])
    assert (tmp_path / "a.jsonl").read_text(encoding="utf-8") == '{"a": "妈妈", "score": 0.5, "low": null}\n'
    write_records(tmp_path / "a.csv", [{"a": "x,y"}, {"a": "z", "b": ["一"]}])
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [["a", "b"], ["x,y", ""], ["z", json.dumps(["一"], ensure_ascii=False)]]
