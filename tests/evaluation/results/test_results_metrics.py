"""Tables of metrics in results, with figures that others published beside them."""

import json
from dataclasses import replace

from finished_evaluation import Evaluation, item
from test_results import lines, near, write

PUBLISHED = """
title: Some paper
cite: arXiv 1
items: 2000
tables:
  codes:
    label: table 9
    sources: [all:f1, chat:precision]
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


def test_figures_in_all_and_by_source_with_those_that_were_published(tmp_path):
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
    assert near(table["Small-1B"]["n"], 12)
    page = files["results.html"].read_text(encoding="utf-8")
    assert "published, not ours" in page
    assert "Big-7B: printed so in the paper" in page
    assert "over all items together" in page.lower()
    assert '<a href="#s-metrics">' in page
    assert '<p class="note">all · F1</p>' in page, "what the chart shows"
    assert 'id="s-types"' not in page, "there is one type of question"


def test_each_fact_weighs_the_same_where_the_recipe_says_so(tmp_path):
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
    names = [sheet["name"] for sheet in json.loads(files["results.json"].read_text(encoding="utf-8"))["sheets"]]
    assert names[:2] == ["metric_by_question", "metric_by_fact"], "metrics come first"
