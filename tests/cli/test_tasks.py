"""A benchmark of several tasks: built in one plan, written and evaluated by task."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from html_page import Page

import benchbuilder as bb
from benchbuilder.cli.dispatch import main
from benchbuilder.config.load import load_recipe
from benchbuilder.core.errors import RecipeError
from benchbuilder.evaluation.results.stated_metrics import results_in_language
from benchbuilder.explorer.reading.scored_answers import scored_answers
from benchbuilder.pipeline.check import check_recipe
from benchbuilder.testing import fake_openai_server

TWO = """# @package _global_
defaults:
  - care_mi
  - /evaluation@tasks.verdicts.evaluation: zh_claims
  - override /source: [medqa, textbook]
  - override /evaluation: []
  - override /review: []
  - _self_
name: two
items: ''
steps:
  closed: {kind: annotate, from: {each: asked, evidence: found}}
  asked:
    kind: assemble
    from: {each: ask_tf_choice, stated: state_choice, negated: negate_choice, replaced: replace_choice}
    wrong_tf: [negated]
    wrong_oe: [replaced]
  found: {kind: retrieve, from: {each: asked, passages: paragraphs}, query: [question]}
tasks:
  verdicts:
    items: closed
    evaluation:
      answers: null
      judges: {ridge_correctness: null, ridge_interpretability: null, similarity_correctness: null}
      scorers: {ratings: null, similarity: null}
      baselines:
        people: null
        echo: null
        best_evidence: null
        guess: {kind: random, seed: 3, texts: {tf: [对。, 不对。]}}
      metrics:
        accuracy: {kind: mean, aspect: verdict, missing: zero}
  everything: {items: items, outputs: {items_parquet: null}}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "recipes" / "recipe").mkdir(parents=True)
    (tmp_path / "recipes" / "recipe" / "two.yaml").write_text(TWO, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.full
def test_every_task_is_written_and_evaluated_in_a_folder_of_its_own(here: Path, capsys: Any) -> None:
    assert main(["recipe=two", "annotation=none"]) == 0
    told = capsys.readouterr().out
    build = here / "builds" / "two"
    rows = {task: [json.loads(line) for line in (build / task / "items.jsonl").read_text("utf-8").splitlines()]
            for task in ("verdicts", "everything")}  # fmt: skip
    assert {row["type"] for row in rows["verdicts"]} == {"tf"}
    assert {row["type"] for row in rows["everything"]} == {"tf", "oe"}
    counts = {task: len(found) for task, found in rows.items()}
    assert f"{sum(counts.values())} items (verdicts {counts['verdicts']}, everything {counts['everything']})" in told
    assert (build / "verdicts" / "items.parquet").exists()
    assert not (build / "everything" / "items.parquet").exists()
    assert not (build / "items.jsonl").exists()
    report = (build / "verdicts" / "report.html").read_text("utf-8")
    assert "closed" in report, "the report of a task tells of its own steps"

    assert main(["evaluate", "recipe=two", "annotation=none"]) == 0
    told = capsys.readouterr().out
    assert f"verdicts: 3 systems on {counts['verdicts']} items, in builds/two/verdicts/evaluation" in told
    data = json.loads((build / "verdicts" / "evaluation" / "results.json").read_text("utf-8"))
    assert len(bb.open(build).answers("verdicts")) == 3 * counts["verdicts"]
    (sheet,) = [sheet for sheet in data["tables"] if sheet["name"] == "metric_accuracy"]
    found = {line["cells"][0]["words"]: line["cells"][1]["value"] for line in sheet["lines"]}
    yes = sum(row["expected"] == "yes" for row in rows["verdicts"]) / counts["verdicts"]
    assert found["always_agree"] == pytest.approx(yes)
    assert found["always_agree"] + found["always_disagree"] == pytest.approx(1)
    assert 0.2 < found["guess"] < 0.8


@pytest.mark.push
def test_what_needs_one_task_says_which_there_are(here: Path, capsys: Any) -> None:
    assert main(["judge", "train", "recipe=two", "annotation=none"]) == 2
    told = capsys.readouterr().err
    assert "several tasks" in told
    assert "verdicts, everything" in told
    assert "--task" in told
    assert main(["evaluate", "recipe=two", "annotation=none", "--task", "verdict"]) == 2
    assert "no such task" in capsys.readouterr().err


@pytest.mark.push
def test_items_and_tasks_exclude_each_other(here: Path) -> None:
    with pytest.raises(RecipeError, match="tasks with the items of each"):
        load_recipe(["recipe=two", "items=items"])
    loaded = load_recipe(["recipe=two", "tasks.verdicts.items=clsoed"])
    with pytest.raises(RecipeError, match=r"tasks.verdicts.items"):
        check_recipe(loaded, sources=())


def test_a_model_answers_every_task_by_its_own_prompt(here: Path, capsys: Any) -> None:
    (here / "prompts").mkdir()
    (here / "prompts" / "yes_no.j2").write_text("只答对或不对：{{ question }}", encoding="utf-8")
    words = ["recipe=two", "annotation=none", "source=[medqa,textbook]"]
    assert main(words) == 0
    with fake_openai_server() as server:
        asked = [*words, "model=openai", "model.name=fake", f"model.base_url={server.base_url}",
                 "tasks.verdicts.evaluation.prompt=yes_no.j2", "budget.tokens=1000000"]  # fmt: skip
        assert main(["evaluate", *asked]) == 0, capsys.readouterr().err
        sent = [request["user"] for request in server.log()]
    assert sent
    assert all(text.startswith("只答对或不对：") for text in sent)


@pytest.mark.push
def test_a_task_cannot_be_called_as_another_folder_of_a_build(here: Path) -> None:
    file = here / "recipes" / "recipe" / "two.yaml"
    file.write_text(TWO.replace("  everything: {", "  store: {"), encoding="utf-8")
    with pytest.raises(RecipeError, match="store is another folder of a build"):
        load_recipe(["recipe=two"])


@pytest.mark.push
def test_a_scorer_cannot_be_called_as_a_phase_of_those_who_answer(here: Path, capsys: Any) -> None:
    word = "tasks.verdicts.evaluation.scorers.answer={kind: exact, aspect: x, announced: [], ignore: ''}"
    assert main(["evaluate", "recipe=two", "annotation=none", "--task", "verdicts", word]) == 2
    assert "evaluation.scorers.answer: a phase in which models answer has this name" in capsys.readouterr().err


def both_evaluated(here: Path, evaluation: str) -> list[str]:
    """Let the second task have an evaluation too, with some changes; the words of the recipe."""
    recipe = here / "recipes" / "recipe" / "two.yaml"
    both = f"  everything: {{items: items, outputs: {{items_parquet: null}}, evaluation: {evaluation}}}"
    text = recipe.read_text("utf-8").replace("  everything: {items: items, outputs: {items_parquet: null}}", both)
    text = text.replace(
        "  - override /source", "  - /evaluation@tasks.everything.evaluation: zh_claims\n  - override /source"
    )
    recipe.write_text(text, encoding="utf-8")
    return ["recipe=two", "annotation=none", "tasks.everything.evaluation.answers=null"]


@pytest.mark.full
def test_the_tasks_stand_side_by_side_once_two_have_results(here: Path, capsys: Any) -> None:
    words = both_evaluated(here, "{judges: null, scorers: {ratings: null, similarity: null}}")
    page, table = (here / "builds" / "two" / "evaluation" / name for name in ("tasks.html", "tasks.csv"))
    assert main(words) == 0
    assert main(["evaluate", *words, "--task", "verdicts"]) == 0
    assert "side by side" not in capsys.readouterr().out
    assert not page.exists()
    assert main(["evaluate", *words, "--task", "everything"]) == 0
    files = ", ".join(f"builds/two/evaluation/tasks{end}" for end in (".html", ".zh.html", ".csv"))
    assert f"all tasks side by side: {files}" in capsys.readouterr().out
    before = table.read_bytes()
    table.unlink()
    assert main(["evaluate", *words, "--task", "everything", "tasks.everything.evaluation.dir=trial"]) == 0
    assert "side by side" not in capsys.readouterr().out  # a trial in a folder of its own changes nothing here
    assert (here / "trial" / "results.json").exists()
    assert not table.exists()
    table.write_bytes(before)
    with table.open(encoding="utf-8-sig", newline="") as stream:
        lines = {line["model"]: line for line in csv.DictReader(stream)}
    data = json.loads((here / "builds" / "two" / "verdicts" / "evaluation" / "results.json").read_text("utf-8"))
    (sheet,) = [sheet for sheet in data["tables"] if sheet["name"] == "metric_accuracy"]
    for line in sheet["lines"]:
        own, figure = lines[line["cells"][0]["words"]], line["cells"][1]
        stated = (figure["value"], figure["low"], figure["high"], line["cells"][-1]["value"])
        names = ("verdicts", "verdicts_low", "verdicts_high", "verdicts_items")
        assert [float(own[name]) for name in names] == pytest.approx(stated)
    assert lines["guess"]["everything"] == "", "it answers in the other task alone"
    assert float(lines["always_agree"]["everything"]) > 0, "a task without metrics has its first mean or accuracy"
    explored = scored_answers(here / "builds" / "two", "verdicts")
    assert explored is not None, "the explorer finds the results of a task"
    assert explored.ids == [line[0] for line in data["items"]]
    shown = Page(page.read_text("utf-8"))
    assert "s-tasks" in shown.ids
    main(["results", *words])
    assert "all tasks side by side" in capsys.readouterr().out
    (verdicts,) = [sheet["title"] for sheet in data["tables"] if sheet["name"].startswith("verdicts_")]
    translated = data["translations"]["en"][verdicts]
    assert translated != verdicts
    assert translated in {sheet["title"] for sheet in results_in_language(data, "en")["tables"]}
    assert results_in_language(data, "xx")["tables"] == data["tables"]
    pages = {file: file.read_text("utf-8") for file in (page, page.with_name("tasks.zh.html"))}
    assert ['<html lang="en"' in text for text in pages.values()] == [True, False]
    assert all(other.name in text for file, text in pages.items() for other in pages if other != file)


def test_one_cap_holds_for_all_tasks_together(here: Path, capsys: Any) -> None:
    words = both_evaluated(here, "{judges: null, scorers: null}")
    assert main(words) == 0
    with fake_openai_server() as server:
        asked = ["evaluate", *words, "model=openai", "model.name=fake", f"model.base_url={server.base_url}"]
        assert main([*asked, "--task", "verdicts"]) == 0
        first = len(server.log())
        assert first > 10
        capsys.readouterr()
        assert main([*asked, "--task", "everything", "budget.tokens=200"]) == 4
        assert len(server.log()) == first, "the other task has spent the cap"
        assert main([*asked, "--task", "everything", "budget.tokens=1000000"]) == 0
        assert len(server.log()) > first


@pytest.mark.push
def test_pages_of_a_task_bear_its_title_or_name(here: Path) -> None:
    recipe = load_recipe(["recipe=two", "tasks.verdicts.title=what is true"]).recipe
    titles = {name: part.card.title for name, part in recipe.by_task().items()}
    assert titles == {
        "verdicts": f"{recipe.card.title}: what is true", "everything": f"{recipe.card.title}: everything",
    }  # fmt: skip
