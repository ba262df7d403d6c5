"""Explanation of concepts from the bundled tree to scored models."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchbuilder.cli.dispatch import main
from benchbuilder.testing import fake_openai_server

MODEL = """
import re

OWN = "，"


def reply(messages, body):
    user = messages[-1]["content"]
    if "选项：" not in user:  # the first phase: its name is said again and again
        name = re.search("“(.+?)”", user)[1]
        return f"{name}很常见。{name}（{name.upper()}）需要重视，第{len(name)}条说明" + str(sum(map(ord, name))) + "。"
    said = int(re.search("条说明([0-9]+)", user)[1])
    for key, text in re.findall("([A-D])[.] (.+)", user):
        if sum(map(ord, text)) == said:
            return f"答案：{key}" if body["model"] == "knows" else "答案：" + "ABCD"["ABCD".index(key) - 1]
    return "无法判断"
"""


WORDS = ["recipe=cmhe"]


@pytest.fixture(scope="module")
def build(built: Path) -> Path:
    return built / "ce"


def items(build: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (build / "items.jsonl").read_text("utf-8").splitlines()]


def test_the_sample_becomes_questions_of_three_classes(build: Path) -> None:
    rows = items(build)
    assert Counter(row["source"] for row in rows) == {"disease": 80, "medicine": 56, "test": 18}
    per_concept = Counter(row["concept"] for row in rows)
    sorts = {row["concept"]: row["concept-class"] for row in rows}
    assert {sort: {per_concept[c] for c in sorts if sorts[c] == sort} for sort in set(sorts.values())} == {
        "disease": {4}, "medicine": {4}, "test": {2},
    }  # fmt: skip
    for row in rows:
        texts = {option["key"]: option["text"] for option in row["options"]}
        assert list(texts) == ["A", "B", "C", "D"]
        assert texts[row["answer-key"]] == row["answer"]
        assert len(set(texts.values())) == 4
        assert row["answer"] in row["question"]
    with (build / "items.tsv").open(encoding="utf-8", newline="") as handle:
        assert len(list(csv.DictReader(handle, delimiter="\t"))) == len(rows)


def test_the_random_baseline_is_right_on_about_one_in_four(build: Path, capsys: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(build.parents[2])
        assert main(["evaluate", *WORDS, "--task", "ce"]) == 0, capsys.readouterr().err
    figures = metric(build, "accuracy")
    assert 0.1 < figures["random"] < 0.4
    assert set(sheets(build)) >= {"metric_accuracy", "metric_accuracy_by_concept"}


def test_the_three_tasks_stand_side_by_side_with_the_published_figures(build: Path, capsys: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(build.parents[2])
        assert main(["evaluate", *WORDS]) == 0, capsys.readouterr().err
    with (build.parent / "evaluation" / "tasks.csv").open(encoding="utf-8-sig", newline="") as handle:
        lines = {row["model"]: row for row in csv.DictReader(handle)}
    assert [float(lines["Qwen"][task]) for task in ("hd", "dd", "ce")] == [0.569, 0.655, 0.628]
    assert [lines["random"][f"{task}_items"] for task in ("hd", "dd", "ce")] == ["94", "", "154"]
    page = (build.parent / "evaluation" / "tasks.html").read_text("utf-8")
    head = page.partition('id="tasks_dd"')[2].partition("<tbody")[0]
    heads = re.findall(r'<th scope="col" class="n">(.*?)</th>', head)
    assert heads[1:3] == ["exam", "chat"]
    assert "does not follow from its precision and recall" in page


def test_a_model_explains_and_then_chooses_from_its_own_masked_words(build: Path, tmp_path: Path, capsys: Any) -> None:
    plugin = tmp_path / "model.py"
    plugin.write_text(MODEL, encoding="utf-8")
    with (
        fake_openai_server({"plugin": str(plugin), "keep_bodies": True}) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.chdir(build.parents[2])
        service = f"base_url: '{server.base_url}', understands: [top_k, repetition_penalty]"
        models = ", ".join(f"{name}: {{kind: openai, name: {name}, {service}}}" for name in ("knows", "guesses"))
        asked = [f"tasks.ce.evaluation.models={{{models}}}", "budget.tokens=10000000"]
        words = ["evaluate", *WORDS, "--task", "ce", *asked]
        assert main(words) == 0, capsys.readouterr().err
        log = server.log()
        again = len(server.log())
        assert main(words) == 0
        assert len(server.log()) == again, "everything is answered by what was journaled"
    figures = metric(build, "accuracy")
    assert (figures["knows"], figures["guesses"]) == (1.0, 0.0)
    assert metric(build, "accuracy_by_concept")["knows"] == 1.0
    rows = items(build)
    second = [entry["user"] for entry in log if "选项：" in entry["user"]]
    first = [entry["user"] for entry in log if "选项：" not in entry["user"]]
    assert len(first) == 2 * len({row["question"] for row in rows}) == 2 * len(rows)
    assert len(rows) < len(second) <= 2 * len(rows), "equal requests are asked once"
    explained = [text.split("选项：")[0] for text in second]
    names = {name for row in rows for name in row["names"]}
    mine = {row["answer"] for row in rows}
    assert all("【某" in text for text in explained)
    assert not [text for text in explained for name in mine & names if f"{name}很常见" in text]
    settings = {"temperature": 0.5, "top_p": 0.7, "top_k": 200, "repetition_penalty": 1.1}
    assert all(entry["body"].items() >= settings.items() for entry in log)


def test_a_setting_that_a_backend_does_not_know_is_an_error_or_left_out(build: Path, capsys: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(build.parents[2])
        models = "tasks.ce.evaluation.models={plain: {kind: openai, name: plain, base_url: 'http://127.0.0.1:9/v1'}}"
        assert main(["evaluate", *WORDS, "--task", "ce", models]) == 2
        told = capsys.readouterr().err
        assert "top_k" in told
        assert "repetition_penalty" in told
        assert "unsupported: omit" in told


def sheets(build: Path) -> dict[str, Any]:
    data = json.loads((build / "evaluation" / "results.json").read_text("utf-8"))
    return {sheet["name"]: sheet for sheet in data["tables"]}


def metric(build: Path, name: str) -> dict[str, float]:
    lines = sheets(build)[f"metric_{name}"]["lines"]
    return {line["cells"][0]["words"]: line["cells"][1]["value"] for line in lines}
