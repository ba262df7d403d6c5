"""Diagnosis from the bundled sample to scored models."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchbuilder.cli.dispatch import main
from benchbuilder.evaluation.published import load_published_results
from benchbuilder.testing import fake_openai_server
from pyarrow.parquet import read_table

from .dd_sample import RECIPES

MODEL = """
def reply(messages, body):
    user = messages[-1]["content"]
    if "诊断意见：" in user:
        return '{"diseases": ["慢性鼻炎", "编造的病"]}'
    return "诊断是慢性鼻炎。" if "鼻" in user else "不清楚。"
"""


@pytest.fixture(scope="module")
def build(built: Path) -> Path:
    return built / "dd"


def items(build: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (build / "items.jsonl").read_text("utf-8").splitlines()]


def test_the_sample_becomes_cases_of_both_origins(build: Path) -> None:
    rows = items(build)
    assert Counter(row["source"] for row in rows) == {"exam": 16, "chat": 7}
    assert all(row["reviewed"] for row in rows)
    found = {one["name"]: one for row in rows for one in row["diagnoses"]}
    assert (found["过敏性鼻炎"]["code"], found["过敏性鼻炎"]["block"]) == ("J30.400", "J30-J39")
    assert (found["急性中耳炎"]["code"], found["急性中耳炎"]["how"]) == ("H66.900", "person")  # the sheet corrects it
    assert {one["how"] for one in found.values()} == {"exact", "alias", "person"}
    assert not any(one["name"] in row["text"] for row in rows for one in row["diagnoses"])


def test_what_is_left_out_says_why(build: Path) -> None:
    with (build.parent / "ledger.tsv").open(encoding="utf-8", newline="") as handle:
        rows = [row for row in csv.DictReader(handle, delimiter="\t") if row["step"].startswith("dd_")]
    reasons = Counter((row["step"], row["reason"]) for row in rows if row["outcome"] == "dropped")
    assert reasons == {
        ("dd_chats", "personal_data"): 1, ("dd_exam_cases", "no_patient"): 1, ("dd_exam_cases", "not_asked"): 1,
        ("dd_written", "leaks_answer"): 1, ("dd_confirmed", "not_complete"): 1, ("dd_codes", "no_code"): 1,
        ("dd_codes", "no_disease"): 1,
    }  # fmt: skip
    (screened,) = (row for row in rows if row["step"] == "dd_chats")
    assert screened["detail"] == "mobile_number"


def test_what_tells_who_somebody_is_goes_no_further_than_the_source(build: Path) -> None:
    """Nobody drafts a form of it, and no sheet shows it."""
    steps = build.parent / "store" / "steps"
    holding = {
        part.relative_to(steps).parts[0]
        for part in steps.rglob("part-*.parquet")
        if any(private in str(read_table(part).to_pylist()) for private in ("13900005678", "钱小雨"))
    }
    assert holding == {"cmhe_chats"}


def test_the_page_on_diseases(build: Path) -> None:
    figures = json.loads((build / "diagnoses.json").read_text("utf-8"))
    assert (figures["cases"], figures["diagnoses"], figures["diseases"], figures["reviewed"]) == (23, 26, 24, 23)
    names = {one["name"] for row in items(build) for one in row["diagnoses"]}
    assert figures["name_length"] == round(sum(map(len, names)) / len(names), 2)
    assert sum(figures["by_chapter"].values()) == figures["diagnoses"]
    assert figures["published"]["name_length"] == 6.03
    page = (build / "diagnoses.html").read_text("utf-8")
    assert "X J00-J47" in page
    assert "published" in page
    assert "<svg" in page
    assert "http" not in page.partition("<main>")[2]
    with (build / "diagnoses_chapters.tsv").open(encoding="utf-8", newline="") as handle:
        chapters = {row["chapter"]: row for row in csv.DictReader(handle, delimiter="\t")}
    assert int(chapters["X"]["exam"]) + int(chapters["X"]["chat"]) == int(chapters["X"]["diagnoses"])
    with (build / "diagnoses_names.tsv").open(encoding="utf-8", newline="") as handle:
        assert len(list(csv.DictReader(handle, delimiter="\t"))) == 24


def metric(build: Path, level: int) -> list[dict[str, str]]:
    with (build / "evaluation" / "results_tables" / f"metric_level_{level}.csv").open(encoding="utf-8-sig") as handle:
        return list(csv.DictReader(handle))


def test_answers_are_scored_at_three_levels_and_by_origin(build: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(build.parents[2])
    assert main(["evaluate", "recipe=cmhe", "--task", "dd"]) == 0, capsys.readouterr().err
    told = capsys.readouterr().out
    for level in range(3):
        assert f"level {level} F1: metric level_{level} of the recipe, in %, higher is better" in told
    assert "ratings" not in told, "rules compare codes; nobody rated an answer"
    scores = json.loads((build / "evaluation" / "results.json").read_text("utf-8"))
    assert "invented_a" in json.dumps(scores)
    text = (build / "evaluation" / "results.md").read_text("utf-8")
    for level, f1 in enumerate((61.3, 44.8, 33.5)):
        assert metric(build, level)
        assert f"{f1} %" in text
    assert "does not follow from its precision and recall" in text
    assert "ChatGPT（论文公布，非本次结果）" in text or "ChatGPT (论文公布，非本次结果)" in text


def test_a_model_can_list_the_diseases_of_answers(build: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    plugin = tmp_path / "model.py"
    plugin.write_text(MODEL, encoding="utf-8")
    monkeypatch.chdir(build.parents[2])
    with fake_openai_server({"plugin": str(plugin), "keep_bodies": True}) as server:
        scorer = "tasks.dd.evaluation.scorers.icd10.model"
        service = f"base_url: '{server.base_url}', understands: [top_k, repetition_penalty]"
        words = [
            "evaluate", "recipe=cmhe", "--task", "dd", "paths.dd_answers=null", "budget.tokens=10000000",
            f"tasks.dd.evaluation.models={{noses: {{kind: openai, name: noses, {service}}}}}",
            f"{scorer}={{kind: openai, name: lists, {service}}}",
        ]  # fmt: skip
        assert main(words) == 0, capsys.readouterr().err
        sent = [entry["body"]["model"] for entry in server.log()]
    assert Counter(sent)["noses"] == 23
    assert Counter(sent)["lists"] > 1
    near, exact = ({row["model"]: row for row in metric(build, level)}["noses"] for level in (1, 2))
    assert float(near["all_f1"]) > float(exact["all_f1"]) == 0


def test_published_figures_are_those_of_the_table() -> None:
    found = load_published_results(RECIPES / "published" / "cmhe_dd.yaml")
    assert found.items == 1622
    for level, f1 in enumerate(([0.613, 0.604, 0.655], [0.448, 0.443, 0.506], [0.335, 0.310, 0.379])):
        table = found.tables[f"level_{level}"]
        place = table.sources.index("all:f1")
        assert [row.cells[place] for row in table.rows.values()] == f1
    noted = {name for table in found.tables.values() for name, row in table.rows.items() if row.note}
    assert noted == {"Baichuan", "Qwen"}
