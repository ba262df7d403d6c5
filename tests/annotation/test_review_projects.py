"""Work lists of reviews: what is shown of rows, what is not, and rows that cannot be used."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from files_spec import RECIPES

from benchbuilder.annotation.review_projects import rating_tasks
from benchbuilder.config.spec.annotation import ReviewProjectSpec
from benchbuilder.config.spec.base import FileRef
from benchbuilder.core.errors import DataError

QUESTIONS = yaml.safe_load((RECIPES / "questions" / "zh_answers.yaml").read_text("utf-8"))
ROWS = [
    {"id": "1", "question": "正常胎龄是多少？", "answer": "37至42周。", "reference": "满37周至不足42周。",
     "model": "甲", "evidence": ["足月儿为37至42周。", {"title": "分类", "text": "早产儿不足37周。"}]},
    {"id": "2", "question": "正常胎龄是多少？", "answer": "40周。", "model": "乙", "evidence": "一段。"},
]  # fmt: skip


def spec(file, **changes):
    raw = yaml.safe_load((RECIPES / "review" / "zh_answers.yaml").read_text("utf-8"))
    rows = raw["rows"] | {"file": None if file is None else FileRef(path=file.name, resolved_path=str(file))} | changes
    kept = {key: value for key, value in raw.items() if key not in ("defaults", "rows", "guideline")}
    return ReviewProjectSpec.model_validate({**QUESTIONS, **kept, "rows": rows})


def lines(path, rows):
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def test_what_is_shown_and_what_is_not(tmp_path):
    first, second = rating_tasks("answers", spec(lines(tmp_path / "a.jsonl", ROWS)), None, 1)
    assert first.fields == (
        ("question", "正常胎龄是多少？"), ("answer", "37至42周。"), ("right", "满37周至不足42周。"),
    )  # fmt: skip
    assert [(p.title, p.text) for p in first.paragraphs] == [("", "足月儿为37至42周。"), ("分类", "早产儿不足37周。")]
    assert first.about == (("id", "1"), ("model", "甲"))
    assert second.fields[2] == ("right", "")  # it has no reference, and pages leave the field out
    assert len(second.paragraphs) == 1


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_other_files_of_rows(tmp_path, suffix):
    flat = [{key: row.get(key, "") for key in ("id", "question", "answer", "reference", "model")} for row in ROWS]
    path = tmp_path / f"rows{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(flat), path)
    else:
        mark = "\t" if suffix == ".tsv" else ","
        text = "\n".join(mark.join(row.values()) for row in [dict(zip(flat[0], flat[0], strict=True)), *flat])
        path.write_text("\ufeff" + text, encoding="utf-8")
    plain = lines(tmp_path / "a.jsonl", flat)
    assert rating_tasks("a", spec(path, paragraphs=None), None, 1) == rating_tasks(
        "a", spec(plain, paragraphs=None), None, 1
    )


def test_rows_that_show_the_same_are_one_task(tmp_path):
    same = [ROWS[1], ROWS[1] | {"id": "3", "model": "丙"}]
    shown = {"question": "question", "answer": "answer"}
    (task,) = rating_tasks("answers", spec(lines(tmp_path / "a.jsonl", same), show=shown), None, 1)
    assert task.about == (("id", "2 | 3"), ("model", "乙 | 丙"))


def test_rows_that_show_the_same_under_other_fields_are_two(tmp_path):
    rows = [{"question": "q?", "answer": "same", "id": "1"}, {"question": "q?", "reference": "same", "id": "2"}]
    made = spec(lines(tmp_path / "a.jsonl", rows), paragraphs=None)
    assert len(rating_tasks("answers", made, None, 1)) == 2


def test_all_paragraphs_of_rows_that_show_the_same_are_shown(tmp_path):
    rows = [ROWS[0] | {"evidence": ["one", "two"]}, ROWS[0] | {"evidence": ["two", "three"]}]
    (task,) = rating_tasks("answers", spec(lines(tmp_path / "a.jsonl", rows)), None, 1)
    assert [paragraph.text for paragraph in task.paragraphs] == ["one", "two", "three"]


@pytest.mark.parametrize("line", ["1,q?,it is good, mostly, but risky,r,m", "1,q?", '1,"q?,a,r,m'])
def test_a_table_whose_rows_do_not_fit_its_header_is_refused(tmp_path, line):
    path = tmp_path / "rows.csv"
    path.write_text(f"id,question,answer,reference,model\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"rows\.csv:2"):
        rating_tasks("answers", spec(path, paragraphs=None, sample=1), None, 1)


def test_no_rows_yet(tmp_path):
    assert rating_tasks("answers", spec(None), None, 1) is None


@pytest.mark.parametrize(
    ("rows", "changes", "told"),
    [
        ([{"question": "", "answer": "x", "reference": "r", "evidence": ["e"]}, ROWS[0]], {},
         "a.jsonl:1: the column 'question' is empty"),
        ([ROWS[0] | {"evidence": [3]}], {}, "a.jsonl:1: a paragraph is a text"),
        (ROWS, {"show": {"question": "question", "answer": "anwser"}}, "no row has the column 'anwser'"),
        (ROWS, {"paragraphs": "evidenz"}, "there are answer, evidence, id, model, question, reference"),
        (ROWS, {"by": "source"}, "no row has the column 'source'"),
        ([[1]], {}, r"a\.jsonl:1\n.*it is not a JSON object"),
    ],
)  # fmt: skip
def test_unusable_rows_are_listed(tmp_path, rows, changes, told):
    with pytest.raises(DataError, match="(?s)" + told.replace("(", r"\(")):
        rating_tasks("answers", spec(lines(tmp_path / "a.jsonl", rows), **changes), None, 1)


def test_no_json(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "x"}\n{"question"', encoding="utf-8")
    with pytest.raises(DataError, match=r"(?s)a\.jsonl:2\n.*it is not JSON"):
        rating_tasks("answers", spec(path), None, 1)


def test_samples_are_in_proportion_to_the_sources(tmp_path):
    rows = [{"question": f"q{n}?", "answer": "a", "reference": "r", "evidence": ["e"], "source": "ab"[n % 4 == 0]}
            for n in range(80)]  # fmt: skip
    made = spec(lines(tmp_path / "a.jsonl", rows), sample=20, by="source", about=["source"])
    tasks = rating_tasks("answers", made, None, 7)
    sources = [dict(task.about)["source"] for task in tasks]
    assert (sources.count("a"), sources.count("b")) == (15, 5)
    assert tasks == rating_tasks("answers", made, None, 7)
    assert tasks != rating_tasks("answers", made, None, 8)
