"""External benchmarks: the published columns in TSV, CSV, JSON Lines and Parquet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import Dropped, EndOfFile, Kept
from benchbuilder.core.records.payloads import Claim, Item
from benchbuilder.core.registry import find_kind

HEADER = "q-type\tsource\tfull-question\tanswer\tanswer-wrong\tevidence"
ROWS = [
    {
        "q-type": "TF", "source": "Atlas", "full-question": "Is Venus hot?", "answer": "Venus is hot.",
        "answer-wrong": "Venus is not hot.", "evidence": ["Venus is the hottest planet.", "It has thick clouds."],
    },
    {
        "q-type": "OE", "source": "Atlas", "full-question": 'What is "hot"?', "answer": "Venus is hot.",
        "answer-wrong": "Neptune is hot.", "evidence": [],
    },
]  # fmt: skip


def source(path: Path, **spec: Any) -> Any:
    cls = find_kind("source", "benchmark").load()
    return cls(cls.spec_class.model_validate({"kind": "benchmark", "path": str(path), **spec}), "benchmark", "en")


def items(path: Path, **spec: Any) -> list[Item[Claim]]:
    made = source(path, **spec)
    made.check()
    return [
        unit.outcome.row for unit in made.read() if not isinstance(unit, EndOfFile) and isinstance(unit.outcome, Kept)
    ]


def drops(path: Path, **spec: Any) -> list[tuple[int, str]]:
    units = [unit for unit in source(path, **spec).read() if not isinstance(unit, EndOfFile)]
    return [(unit.line, unit.outcome.reason) for unit in units if isinstance(unit.outcome, Dropped)]


def tsv(path: Path, *lines: str, header: str = HEADER) -> Path:
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


def test_the_published_sample_of_care_mi_is_read_as_it_is(tmp_path: Path) -> None:
    file = tsv(
        tmp_path / "examples.tsv",
        "open\tcpubmed\tWhat is hot?\tVenus is hot.\tNeptune is hot.\t['Venus is the hottest planet.', \"It's so.\"]",
        "tf\tcpubmed\tIs Venus hot?\tVenus is hot.\tVenus is not hot.\t[]",
        "tf\tcpubmed\tIs Mars hot?\tMars is not hot.\tMars is hot.\t[1] So says a book.",
    )
    found = items(file)
    assert [item.payload.type for item in found] == ["oe", "tf", "tf"]
    texts = [[support.text for support in item.payload.evidence] for item in found]
    assert texts == [["Venus is the hottest planet.", "It's so."], [], ["[1] So says a book."]]
    assert not drops(file)


def test_the_same_items_in_every_format(tmp_path: Path) -> None:
    lines = tsv(
        tmp_path / "a.tsv",
        "TF\tAtlas\tIs Venus hot?\tVenus is hot.\tVenus is not hot.\t"
        "Venus is the hottest planet.\\nIt has thick clouds.",
        'OE\tAtlas\t"What is ""hot""?"\tVenus is hot.\tNeptune is hot.\t',
    )
    jsonl = tmp_path / "a.jsonl"
    jsonl.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    parquet = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), parquet)
    found = [items(path) for path in (lines, jsonl, parquet)]
    texts = [[(i.payload.type, i.payload.question, i.payload.answer, i.partition) for i in one] for one in found]
    assert texts[0] == texts[1] == texts[2]
    assert texts[0][1][1] == 'What is "hot"?'
    for one in found:
        assert [s.text for s in one[0].payload.evidence] == ["Venus is the hottest planet.", "It has thick clouds."]
        assert one[1].payload.evidence == ()
        assert one[0].fact == one[1].fact, "both ask about one right answer: they are of one family"
        assert not one[0].reviewed


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_answers_that_are_sets_stay_sets(tmp_path: Path, form: str) -> None:
    rows = [
        {"full-question": "Which planets are hot?", "answer": "Venus; Mercury", "form": "set", "tags": ["open_set"]},
        {"full-question": "Is Venus hot?", "answer": "Venus is hot.", "form": "verify", "tags": []},
    ]
    path = tmp_path / f"sets.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        lines = [
            ",".join(rows[0]),
            'Which planets are hot?,Venus; Mercury,set,"[""open_set""]"',
            "Is it?,It is.,verify,[]",
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [(item.form, item.tags) for item in items(path)] == [("set", ("open_set",)), ("statement", ())]


def test_paragraphs_may_be_objects_and_columns_may_have_other_names(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    rows = [{"prompt": "Q?", "gold": "A.", "docs": [{"text": "One."}, {"text": " "}], "fact": "f1", "key": "no"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    columns = {"question": "prompt", "answer": "gold", "evidence": "docs", "expected": "key"}
    (item,) = items(path, columns=columns, type="tf")
    assert (item.payload.type, item.payload.expected, item.payload.answer_wrong) == ("tf", "no", "")
    assert [support.text for support in item.payload.evidence] == ["One."]
    assert item.fact == "f1"


def test_the_right_verdict_is_never_guessed(tmp_path: Path) -> None:
    path = tsv(tmp_path / "c.tsv", "TF\ts\tIs it?\tIt is.\tIt is not.\t", "OE\ts\tWhat is it?\tIt is.\t-\t")
    assert [item.payload.expected for item in items(path)] == ["", ""]
    assert [item.payload.expected for item in items(path, expected="yes")] == ["yes", ""]


def test_rows_that_cannot_be_used_are_dropped_with_their_lines(tmp_path: Path) -> None:
    path = tsv(
        tmp_path / "d.tsv",
        "TF\ts\tIs it?\tIt is.\tIt is not.\t",
        "XX\ts\tIs it so?\tIt is.\tIt is not.\t",
        "TF\ts\t\tIt is.\tIt is not.\t",
        "TF\ts\tIs it?\tIt is.\tIt is not.\t",
        "TF\ts",
    )
    assert drops(path) == [(3, "unknown_type"), (4, "missing_field"), (5, "duplicate"), (6, "malformed")]
    verdicts = tsv(tmp_path / "e.tsv", "TF\tIs it?\tmaybe", header="q-type\tfull-question\texpected")
    assert drops(verdicts) == [(2, "unknown_verdict")]
    odd = tmp_path / "f.jsonl"
    odd.write_text(json.dumps({"full-question": "Q?", "evidence": [1]}) + "\n")
    assert drops(odd) == [(1, "malformed")]


def test_a_file_without_questions_says_what_it_has(tmp_path: Path) -> None:
    path = tsv(tmp_path / "g.tsv", "a\tb", header="prompt\tgold")
    with pytest.raises(DataError) as caught:
        source(path).check()
    assert "full-question" in str(caught.value)
    assert "gold, prompt" in str(caught.value)


def test_a_column_that_the_recipe_names_must_be_there(tmp_path: Path) -> None:
    path = tsv(tmp_path / "h.tsv", "OE\ts\tWhat?\tThis.\tThat.\t")
    with pytest.raises(DataError):
        list(source(path, columns={"evidence": "docs"}).read())


@pytest.mark.parametrize("change", [{"evidence": ["\ud800 It is."]}, {"evidence": "\ud800"}, {"answer": "\udfff"}])
def test_half_a_character_drops_the_row(change: dict[str, Any], tmp_path: Path) -> None:
    row = {"q-type": "TF", "full-question": "Is Venus hot?", "answer": "Yes.", "answer-wrong": "No.", "expected": "yes"}
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(row)}\n{json.dumps(row | change)}\n", encoding="utf-8")
    assert drops(path) == [(2, "malformed")]
