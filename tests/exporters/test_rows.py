import csv
import itertools
import json
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import pyarrow.parquet as pq
import pytest
from finished_build import finished
from pydantic import ValidationError

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Claim, Item, Payload
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.core.text.tables import unescape_cell
from benchbuilder.exporters import shuffled_rows
from benchbuilder.exporters.rows import Jsonl, Parquet, RowsSpec, Tsv, TsvSpec

COLUMNS = ("q-type", "source", "full-question", "answer", "answer-wrong", "evidence", "id", "expected")


def jsonl(build, folder, step=None, order="table"):
    (path,) = Jsonl(RowsSpec(kind="jsonl", file="rows.jsonl", step=step, order=order)).write(build, folder)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def tsv(build, folder, columns=COLUMNS, order="table"):
    (path,) = Tsv(TsvSpec(kind="tsv", file="rows.tsv", columns=columns, order=order)).write(build, folder)
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, delimiter="\t"))


def replaced(build, *items, row=Item[Claim]):
    return type(build)(**{**build.__dict__, "tables": {**build.tables, "items": Table.of(items, row)}})


def item(**fields):
    claim = Claim(**{"type": "oe", "question": "问？", "answer": "对。", "answer_wrong": "错。", **fields})
    return Item[Claim].build(
        origin=Origin(file="a.jsonl", line=7), produced_by=ProducedBy(rule="annotate"), language="zh",
        partition="medqa",
        payload=claim, candidate="candidate-1", fact="fact-1", reviewed=True,
    )  # fmt: skip


def test_json_lines_hold_the_item_flat_with_its_supporting_paragraphs_only(tmp_path):
    build = finished()
    for record, row in zip(jsonl(build, tmp_path), build.tables["items"], strict=True):
        claim = row.payload
        assert record["id"] == row.id
        assert record["source"] == row.partition
        assert (record["type"], record["q-type"]) == (claim.type, claim.type.upper())
        assert record["full-question"] == claim.context + claim.question
        assert record["answer-wrong"] == claim.answer_wrong
        assert [p["text"] for p in record["evidence"]] == [p.text for p in claim.evidence]
        assert {"base", "document", "title"} <= set(record["evidence"][0])
        assert record["origin"] == f"{row.origin.file}:{row.origin.line}"
        assert (record["candidate"], record["fact"], record["reviewed"]) == (row.candidate, row.fact, True)
        assert record["produced-by"] == "annotate/reviewed@1"
        assert record["parents"] == list(row.parents)


def test_json_lines_are_readable_and_not_ascii(tmp_path):
    jsonl(finished(), tmp_path)
    assert "吗？" in (tmp_path / "rows.jsonl").read_text(encoding="utf-8")


def test_candidates_are_written_with_the_full_question(tmp_path):
    build = finished(state="waiting")
    exporter = Jsonl(RowsSpec(kind="jsonl", file="c.jsonl", step="candidates"))
    assert exporter.can_write(build)
    records = jsonl(build, tmp_path, "candidates")
    assert len(records) == 60
    assert all(r["full-question"] == r["context"] + r["question"] for r in records)


def test_items_wait_for_votes():
    build = finished(state="waiting")
    assert not Jsonl(RowsSpec(kind="jsonl", file="i.jsonl")).can_write(build)
    assert not Tsv(TsvSpec(kind="tsv", file="i.tsv")).can_write(build)


def test_parquet_holds_what_the_json_lines_hold(tmp_path):
    build = finished()
    (path,) = Parquet(RowsSpec(kind="parquet", file="items.parquet")).write(build, tmp_path)
    assert pq.read_table(path).to_pylist() == jsonl(build, tmp_path, order="random")


@pytest.mark.push
def test_rows_are_in_one_random_order_that_other_rows_do_not_change(tmp_path):
    build = finished(count=400)
    ids = [record["id"] for record in jsonl(build, tmp_path, order="random")]
    assert ids == [line[0] for line in tsv(build, tmp_path, ("id",), order="random")[1:]]
    table = build.tables["items"]
    assert sorted(ids) == sorted(table.ids())
    assert ids != table.ids()
    some = [row for row in reversed(list(table)) if row.payload.type == "tf"]
    kept = {row.id for row in some}
    assert [record["id"] for record in jsonl(replaced(build, *some), tmp_path, order="random")] == [
        name for name in ids if name in kept
    ]
    other = type(build)(**{**build.__dict__, "recipe": {**build.recipe, "seed": 12}})
    assert [record["id"] for record in jsonl(other, tmp_path, order="random")] != ids


def test_neighbours_share_their_verdict_as_often_as_chance(tmp_path):
    verdicts = [verdict for verdict in ("yes", "no") for _ in range(500)]
    rows = [item(type="tf", expected=verdict, question=f"{n}？") for n, verdict in enumerate(verdicts)]
    found = [record["expected"] for record in jsonl(replaced(finished(), *rows), tmp_path, order="random")]
    same = sum(left == right for left, right in itertools.pairwise(found))
    assert 440 < same < 560  # 3.8 standard deviations
    assert 210 < found[:500].count("yes") < 290


def test_an_empty_table_has_the_schema_of_a_full_one(tmp_path):
    full, empty = finished(), replaced(finished())
    schemas = []
    for name, build in (("full", full), ("empty", empty)):
        (path,) = Parquet(RowsSpec(kind="parquet", file=f"{name}.parquet")).write(build, tmp_path)
        schemas.append(pq.read_schema(path))
    assert schemas[0] == schemas[1]
    assert jsonl(empty, tmp_path) == []
    assert tsv(empty, tmp_path) == [list(COLUMNS)]


def test_tsv_has_the_published_columns_first(tmp_path):
    build = finished()
    header, *lines = tsv(build, tmp_path)
    assert header == list(COLUMNS)
    row = next(iter(build.tables["items"]))
    cells = dict(zip(header, lines[0], strict=True))
    assert cells["q-type"] == row.payload.type.upper()
    assert unescape_cell(cells["evidence"]) == "\n".join(p.text for p in row.payload.evidence)


def test_tsv_takes_the_sting_out_of_cells(tmp_path):
    nasty = item(question='=cmd|" /C calc"!A0？', answer="-3 ℃\t是\n对的。", answer_wrong='"错"。')
    build = replaced(finished(), nasty)
    header, line = tsv(build, tmp_path)
    cells = dict(zip(header, line, strict=True))
    assert cells["full-question"].startswith("'=")
    assert cells["answer"] == "'-3 ℃\\t是\\n对的。"
    assert cells["answer-wrong"] == '"错"。'
    assert len((tmp_path / "rows.tsv").read_bytes().splitlines()) == 2


def test_without_columns_the_tsv_has_every_cell_of_the_payload(tmp_path):
    header = tsv(finished(), tmp_path, columns=())[0]
    assert header == ["id", "source", "q-type", "expected", "full-question", "answer", "answer-wrong", "evidence"]


def test_an_unknown_column_names_those_that_there_are(tmp_path):
    with pytest.raises(DataError, match="no column 'anwser'") as caught:
        tsv(finished(), tmp_path, columns=("id", "anwser"))
    assert "answer-wrong" in caught.value.why


@pytest.mark.parametrize("name", ["../items.jsonl", "a/b.jsonl", "/etc/x", ".hidden", ""])
def test_a_file_name_cannot_leave_the_folder(name):
    with pytest.raises(ValidationError):
        RowsSpec(kind="jsonl", file=name)


def test_bytes_are_the_same_each_time_and_nothing_else_is_left(tmp_path):
    exporters = [
        Jsonl(RowsSpec(kind="jsonl", file="i.jsonl")),
        Parquet(RowsSpec(kind="parquet", file="i.parquet")),
        Tsv(TsvSpec(kind="tsv", file="i.tsv", columns=COLUMNS)),
    ]
    for folder in ("one", "two"):
        for exporter in exporters:
            exporter.write(finished(), tmp_path / folder)
    for name in ("i.jsonl", "i.parquet", "i.tsv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["i.jsonl", "i.parquet", "i.tsv"]


class Recipe(Payload):
    """A payload that the exporters have never seen."""

    kind: ClassVar[str] = "dish"
    dish: str
    steps_in_order: tuple[str, ...]

    def texts(self) -> dict[str, tuple[str, ...]]:
        return {"dish": (self.dish,)}

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        return self

    def flat_cells(self) -> dict[str, str]:
        return {"dish": self.dish, "how": " / ".join(self.steps_in_order)}

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(dish="soup", steps_in_order=("boil", "eat")),)


def test_payloads_that_no_exporter_knows_are_written_as_they_flatten_themselves(tmp_path):
    row = Item[Recipe].build(
        origin=Origin(file="a", line=1), produced_by=ProducedBy(rule="r"), language="en", partition="kitchen",
        payload=Recipe.examples()[0], candidate="c", fact="f", reviewed=False,
    )  # fmt: skip
    build = replaced(finished(), row, row=Item[Recipe])
    (record,) = jsonl(build, tmp_path)
    assert record["dish"] == "soup"
    assert record["steps-in-order"] == ["boil", "eat"]
    assert record["how"] == "boil / eat"
    assert tsv(build, tmp_path, ()) == [["id", "source", "dish", "how"], [row.id, "kitchen", "soup", "boil / eat"]]
    (path,) = Parquet(RowsSpec(kind="parquet", file="d.parquet")).write(build, tmp_path)
    assert pq.read_table(path).to_pylist() == [record]


@pytest.mark.parametrize(("order", "few"), [("random", 100), ("random", 1), ("table", 1)])
def test_any_number_of_rows_at_a_time_gives_the_same(tmp_path, monkeypatch, order, few):
    kinds = (Jsonl(RowsSpec(kind="jsonl", file="rows.jsonl", order=order)),
             Tsv(TsvSpec(kind="tsv", file="rows.tsv", order=order)))  # fmt: skip
    parquet = Parquet(RowsSpec(kind="parquet", file="rows.parquet", order=order))
    build = finished()
    texts = [kind.write(build, tmp_path)[0].read_bytes() for kind in kinds]
    whole = pq.read_table(parquet.write(build, tmp_path)[0])
    monkeypatch.setattr(shuffled_rows, "_WINDOW_ROWS", 7)
    monkeypatch.setattr(shuffled_rows, "_FEW_WINDOWS", few)
    assert [kind.write(build, tmp_path)[0].read_bytes() for kind in kinds] == texts
    (path,) = parquet.write(build, tmp_path)
    assert pq.ParquetFile(path).num_row_groups > 1
    assert pq.read_table(path).equals(whole)
    assert {file.name for file in tmp_path.iterdir()} == {"rows.jsonl", "rows.tsv", "rows.parquet"}
