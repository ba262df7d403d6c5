"""Tables of a results page that only some evaluations have: metrics of the recipe, and settings of models."""

import json
from dataclasses import replace

from finished_evaluation import Evaluation, item
from test_results import lines, near, write

from benchbuilder.core import Answer, ProducedBy, Table
from benchbuilder.evaluation.metrics import MeanMetric
from benchbuilder.evaluation.results.exporter import ResultsExporter
from benchbuilder.evaluation.results.page_spec import ResultsSpec
from benchbuilder.evaluation.stats.statistic import mean_statistic
from benchbuilder.exporters import StepCounts

PUBLISHED = """
title: Some paper
cite: arXiv 1
items: 2000
tables:
  codes:
    label: table 9
    sources: [all:f1, chat:precision]
    sizes: [2000, 400]
    rows:
      Big-7B: {cells: [0.655, [0.5, 0.1]], note: printed so in the paper}
      Small-1B: {cells: [0.335, null], items: 12}
"""


def evaluation(tmp_path, **metrics):
    rows = [item(n, source="chat" if n < 2 else "exam", fact=f"fact-{n // 2}") for n in range(4)]
    made = Evaluation(rows)
    for model, counts in {"glad": [(1, 1, 2), (0, 1, 1), (2, 2, 2), (1, 2, 1)], "calm": [(0, 0, 2)] * 4}.items():
        for row, three in zip(rows, counts, strict=True):
            made.answer(model, row)
            made.score("coder", "level_0", model, row, three[0] / 2)
            made.scores["coder", model][-1] = made.scores["coder", model][-1].model_copy(update={"counts": three})
    published = tmp_path / "published.yaml"
    published.write_text(PUBLISHED, encoding="utf-8")
    build = made.finished(published=published)
    recipe = {**build.recipe, "evaluation": {**build.recipe["evaluation"], "metrics": metrics}}
    return replace(build, recipe=recipe)


def test_metric_over_all_items_and_by_source_beside_published_figures(tmp_path):
    build = evaluation(tmp_path, codes={"kind": "micro_f1", "aspect": "level_0"})
    files = write(tmp_path, build)
    table = lines(files, "metric_codes")
    glad = table["glad"]
    assert near(glad["all_precision"], 4 / 6)
    assert near(glad["all_recall"], 4 / 6)
    assert near(glad["chat_precision"], 1 / 2)
    assert near(glad["exam_f1"], 2 * 3 / (4 + 3))
    assert near(table["calm"]["all_f1"], 0)
    assert table["calm"]["all_precision"] == "", "nothing was given: no precision"
    assert near(table["Big-7B"]["all_f1"], 0.655)
    assert near(table["Big-7B"]["chat_precision"], 0.5)
    assert (table["Big-7B"]["all_f1_n"], table["Big-7B"]["chat_precision_n"]) == ("2000", "400")
    assert near(table["Small-1B"]["n"], 12)
    page = files["results.html"].read_text(encoding="utf-8")
    assert "published, not ours" in page
    assert "Big-7B: printed so in the paper" in page
    assert "over all items together" in page.lower()
    assert '<a href="#s-metrics">' in page
    assert '<p class="note">all · F1</p>' in page, "what the chart shows"
    assert 'id="s-types"' not in page, "there is one type of question"


def test_cluster_mean_gives_every_fact_the_same_weight(tmp_path):
    build = evaluation(
        tmp_path,
        by_question={"kind": "mean", "aspect": "level_0", "missing": "zero"},
        by_fact={"kind": "cluster_mean", "aspect": "level_0", "missing": "zero", "scorer": "coder"},
        of_nobody={"kind": "mean", "aspect": "level_0", "missing": "zero", "scorer": "else"},
    )
    files = write(tmp_path, build, "zh")
    assert near(lines(files, "metric_by_question")["glad"]["all"], (0.5 + 0 + 1 + 0.5) / 4)
    assert near(lines(files, "metric_by_fact")["glad"]["all"], (0.25 + 0.75) / 2)
    assert "results_tables/metric_of_nobody.csv" not in files
    names = [table["name"] for table in json.loads(files["results.json"].read_text(encoding="utf-8"))["tables"]]
    assert names[:2] == ["metric_by_question", "metric_by_fact"], "metrics come first"


def test_a_metric_that_reads_rows_gets_those_that_one_of_columns_counts(tmp_path, monkeypatch):
    mean = {"kind": "mean", "aspect": "level_0", "missing": "left_out"}
    files = write(tmp_path, evaluation(tmp_path, by_question=mean))
    by_column = files["results_tables/metric_by_question.csv"].read_bytes()
    facts = []

    def by_row(metric, scores):
        facts.append([row.fact for row in scores])
        return {"mean": mean_statistic([row.score.value for row in scores])}

    monkeypatch.setattr(MeanMetric, "statistics", by_row)
    files = write(tmp_path, evaluation(tmp_path, by_question=mean))
    assert files["results_tables/metric_by_question.csv"].read_bytes() == by_column
    assert facts[:3] == [["fact-0", "fact-0", "fact-1", "fact-1"], ["fact-0"] * 2, ["fact-1"] * 2]


def test_questions_that_were_worded_anew_count_in_no_metric(tmp_path):
    rows = [item(n) for n in range(2)]
    made = Evaluation(rows)
    for row, said in ((rows[0], "yes"), (rows[1], "no"), (item(2, question="换一种说法：孕妇需要补充叶酸吗？"), "no")):
        made.answer("glad", row)
        made.verdict("glad", row, said)
    build = made.finished()
    metrics = {"accuracy": {"kind": "mean", "aspect": "verdict", "missing": "zero"}}
    recipe = {**build.recipe, "evaluation": {**build.recipe["evaluation"], "metrics": metrics}}
    table = lines(write(tmp_path, replace(build, recipe=recipe)), "metric_accuracy")
    assert near(table["glad"]["all"], 0.5)
    assert near(table["glad"]["n"], 2)


def evaluation_with_settings(**model):
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


def settings_rows(folder, done):
    spec = ResultsSpec(
        kind="results", file="results", language="en", aspects=("correctness",), worst=0, power=0.8, effect=0.05,
        class_imbalance=0.65,
    )  # fmt: skip
    ResultsExporter(spec).write(done, folder)
    tables = json.loads((folder / "results.json").read_text("utf-8"))["tables"]
    settings = [table for table in tables if table["name"] == "settings"]
    return [[cell.get("words", "") for cell in line["cells"]] for table in settings for line in table["lines"]]


def test_the_page_lists_settings_that_were_sent_and_omitted(tmp_path):
    rows = settings_rows(tmp_path, evaluation_with_settings(unsupported="omit"))
    assert rows == [["answer.small", "small-1", "en/short.j2", "temperature 0.5", "top_k"]]
    page = (tmp_path / "results.html").read_text("utf-8")
    assert "How models were asked" in page
    assert "top_k" in (tmp_path / "results_tables" / "settings.csv").read_text("utf-8")


def test_settings_that_the_server_understands_are_sent(tmp_path):
    rows = settings_rows(tmp_path, evaluation_with_settings(understands=["top_k"]))
    assert rows == [["answer.small", "small-1", "en/short.j2", "temperature 0.5; top_k 200", ""]]


def test_another_model_that_the_service_says_it_used_is_named(tmp_path):
    done = evaluation_with_settings()
    for said, shown in (("small-1", "small-1"), ("big-2", "small-1, answered by big-2, as the service says")):
        rule = ProducedBy(rule=f"answer/by {said}")
        answers = [row.model_copy(update={"produced_by": rule}) for row in done.tables["answer.small"]]
        tables = {**done.tables, "answer.small": Table.of(answers, Answer)}
        (row,) = settings_rows(tmp_path, replace(done, tables=tables))
        assert row[:2] == ["answer.small", shown]


def test_no_settings_table_without_a_model(tmp_path):
    done = evaluation_with_settings()
    assert settings_rows(tmp_path, replace(done, step_counts=done.step_counts[:1])) == []


def test_the_page_says_how_many_items_of_a_benchmark_are_asked_if_one_of_each_family_is(tmp_path):
    build = evaluation(tmp_path)
    asked = StepCounts("asked", "one_of_family", "item", 4, {"each": ("benchmark",)}, {
        ("chat", "kept", ""): 2, ("exam", "kept", ""): 2, ("chat", "dropped", "family_is_asked"): 1_300,
    }, {}, {}, {}, {})  # fmt: skip
    tables = {**build.tables, "asked": build.tables["benchmark"]}
    said = "One question of each item family was asked: 4 of 1,304 items"
    assert said not in write(tmp_path, build)["results.html"].read_text(encoding="utf-8")
    build = replace(build, items="asked", tables=tables, step_counts=(*build.step_counts, asked))
    files = write(tmp_path, build)
    assert all(said in files[f"results.{kind}"].read_text(encoding="utf-8") for kind in ("html", "md"))
