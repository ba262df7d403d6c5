from __future__ import annotations

import json
from dataclasses import replace

from finished_evaluation import Evaluation, item

from benchbuilder.evaluation.results.exporter import ResultsExporter, ResultsSpec
from benchbuilder.exporters.base import StepCounts


def finished(**model):
    made = Evaluation([item(0), item(1)])
    for row in made.items:
        made.answer("small", row)
        made.verdict("small", row, "yes")
    done = made.finished()
    step = {
        "kind": "answer", "name": "small", "prompt": {"path": "en/short.j2"}, "system": None,
        "sampling": {"temperature": 0.5, "top_k": 200, "top_p": None},
        "model": {"kind": "openai", "name": "small-1", "base_url": "http://127.0.0.1:9/v1", **model},
    }  # fmt: skip
    steps = {"answer.small": step, "verdict.small": {"kind": "score", "scorer": {"kind": "verdict"}}}
    accounts = [StepCounts(name, "answer", "answer", 2, {}, {}, {}, {}, {}, {}) for name in steps]
    return replace(done, recipe={**done.recipe, "steps": steps}, step_counts=[*done.step_counts, *accounts])


def asked(folder, done):
    spec = ResultsSpec(
        kind="results", file="results", language="en", aspects=("correctness",), worst=0, power=0.8, effect=0.05,
        class_imbalance=0.65,
    )  # fmt: skip
    ResultsExporter(spec).write(done, folder)
    sheets = json.loads((folder / "results.json").read_text("utf-8"))["sheets"]
    found = [sheet for sheet in sheets if sheet["name"] == "asked"]
    return [[cell.get("words", "") for cell in line["cells"]] for sheet in found for line in sheet["lines"]]


def test_settings_stand_on_the_page_and_so_do_those_that_were_not_sent(tmp_path):
    lines = asked(tmp_path, finished(unsupported="omit"))
    assert lines == [["answer.small", "small-1", "en/short.j2", "temperature 0.5", "top_k"]]
    page = (tmp_path / "results.html").read_text("utf-8")
    assert "How models were asked" in page
    assert "top_k" in (tmp_path / "results_tables" / "asked.csv").read_text("utf-8")


def test_what_a_server_understands_is_sent(tmp_path):
    lines = asked(tmp_path, finished(understands=["top_k"]))
    assert lines == [["answer.small", "small-1", "en/short.j2", "temperature 0.5; top_k 200", ""]]


def test_an_evaluation_that_asks_no_model_has_no_such_table(tmp_path):
    done = finished()
    assert asked(tmp_path, replace(done, step_counts=done.step_counts[:1])) == []
