"""The pages of answers and comparisons: the numbers of the results, filters, two models, an item, two builds."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from explorer_browser import ExplorerBrowser, as_build
from once import EVALUATED, Once

from benchbuilder.api import open as open_build
from benchbuilder.cli.dispatch import main
from benchbuilder.core import DataError
from benchbuilder.explorer.reading.scored_answers import AnswerView, scored_answers
from benchbuilder.pipeline import BuiltBenchmark, compare_builds


@pytest.fixture(scope="module")
def evaluated(once: Once) -> Path:
    """The build of the sample with its evaluation; not to be changed."""
    return once.after(EVALUATED) / "builds" / "care_mi"


@pytest.fixture(scope="module")
def pages(evaluated: Path) -> ExplorerBrowser:
    return ExplorerBrowser(as_build(evaluated))


@pytest.fixture(scope="module")
def results(evaluated: Path) -> dict[str, Any]:
    return json.loads((evaluated / "evaluation" / "results.json").read_text("utf-8"))


def shown_ids(text: str) -> list[str]:
    return re.findall(r'href="/b/care_mi/answers/(item-[0-9a-f]+)"', text)


@pytest.mark.push
def test_means_are_those_of_the_results(pages: ExplorerBrowser, results: dict[str, Any]) -> None:
    table = next(table for table in results["tables"] if table["name"] == "means_correctness_ratings_statement")
    stated = {line["cells"][0]["words"]: line["cells"][1]["value"] for line in table["lines"] if line["block"] == "own"}
    text = pages.text("/b/care_mi/answers?measure=correctness.ratings")
    head = text[text.index('class="means"') : text.index("<tbody")]
    chooser = text[text.index('name="left"') : text.index('name="right"')]
    names = re.findall(r"<option value=\"(\w+)\"", chooser)
    assert re.findall(r"<strong>([\d.]+)</strong>", head) == [f"{stated[name]:.2f}" for name in names]


@pytest.mark.push
def test_made_up_answers_and_ratings_say_so(pages: ExplorerBrowser) -> None:
    verdicts, ratings = (
        pages.text("/b/care_mi/answers"), pages.text("/b/care_mi/answers?measure=correctness.ratings")
    )  # fmt: skip
    for text in (verdicts, ratings):
        assert "The answers of model_jia, model_yi, model_bing" in text
        assert "no expert has checked" in text
    assert "ratings came with the sample" in ratings
    assert "ratings came with the sample" not in verdicts


@pytest.mark.push
def test_the_matrix_has_every_score_of_the_results(pages: ExplorerBrowser, results: dict[str, Any]) -> None:
    entry = next(entry for entry in results["scores"] if (entry["aspect"], entry["scorer"]) == ("verdict", "verdict"))
    ids = [line[0] for line in results["items"]]
    text = pages.text("/b/care_mi/answers")
    for line in re.findall(r"<tr><th scope=\"row\" class=\"question\">.*?</tr>", text, re.DOTALL)[:20]:
        place = ids.index(shown_ids(line)[0])
        shown = [cell.strip() for cell in re.findall(r">\s*(–|\d\.\d\d)", line)]
        assert sorted(shown) == sorted(
            "–" if values[place] is None else f"{values[place]:.2f}" for values in entry["values"].values()
        )  # fmt: skip


@pytest.mark.push
def test_all_models_wrong_worst_first_and_where_judges_differ(
    evaluated: Path, pages: ExplorerBrowser, results: dict[str, Any]
) -> None:
    answers = scored_answers(evaluated, "")
    assert answers is not None
    entry = next(entry for entry in results["scores"] if (entry["aspect"], entry["scorer"]) == ("verdict", "verdict"))
    models = [name for name, group in results["systems"].items() if group == "model"]
    wrong = [
        line[0] for place, line in enumerate(results["items"])
        if any(entry["values"][name][place] is not None for name in models)
        and not any((entry["values"][name][place] or 0) >= 0.5 for name in models)
    ]  # fmt: skip
    assert wrong
    assert shown_ids(pages.text("/b/care_mi/answers?wrong=all")) == wrong
    measure = answers.measure("correctness.ratings")
    assert measure is not None
    worst = answers.chosen(measure, AnswerView(sort="worst"))
    means = [np.nanmean(measure.values[answers.models_of(measure)][:, place]) for place in worst[:20]]
    assert means == sorted(means)
    other = answers.judged_beside_people(measure)
    assert other is not None
    assert other.scorer.startswith("judge_")
    places = answers.chosen(measure, AnswerView(sort="disagree"))
    gaps: list[float] = []
    for place in places[:20]:
        apart = np.abs(measure.values[:, place] - other.values[: len(measure.systems), place])
        gaps.append(float(np.nanmax(apart)))
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0.3


@pytest.mark.push
def test_two_models_side_by_side_have_their_own_words(evaluated: Path, pages: ExplorerBrowser) -> None:
    lines = (evaluated / "evaluation" / "answers.jsonl").read_text("utf-8").splitlines()
    said = {(row["id"], row["model"]): row["answer"] for row in map(json.loads, lines)}
    text = pages.text("/b/care_mi/answers?measure=correctness.ratings&left=model_jia&right=model_bing")
    plain = unescape(text)
    ids = shown_ids(text)
    assert len(ids) == 20
    for name in ids:
        for model in ("model_jia", "model_bing"):
            assert said[name, model] in plain


@pytest.mark.push
def test_one_item_has_every_answer_and_no_name_of_a_rater(
    evaluated: Path, pages: ExplorerBrowser, results: dict[str, Any]
) -> None:
    entry = next(entry for entry in results["scores"] if entry["scorer"] == "ratings")
    place = next(place for place, value in enumerate(entry["values"]["model_jia"]) if value is not None)
    name = results["items"][place][0]
    text = pages.text(f"/b/care_mi/answers/{name}")
    lines = (evaluated / "evaluation" / "answers.jsonl").read_text("utf-8").splitlines()
    for row in map(json.loads, lines):
        if row["id"] == name and row["answer"]:
            assert row["answer"] in unescape(text)
    assert "from 3 raters" in text
    assert "rater_1" not in text
    assert "benchbuild analyse recipe=care_mi" in text
    assert f"benchbuild errata add {name}" in unescape(text)
    assert pages.get("/b/care_mi/answers/item-00000000000000000000").status_code == 404


@pytest.mark.push
def test_items_that_go_back_to_experts_are_named(evaluated: Path, tmp_path: Path, results: dict[str, Any]) -> None:
    build = shutil.copytree(evaluated, tmp_path / "care_mi", ignore=shutil.ignore_patterns("cache"))
    name = results["items"][0][0]
    (build / "analysis").mkdir(exist_ok=True)
    (build / "analysis" / "to_experts.jsonl").write_text(json.dumps({"id": name}) + "\n", "utf-8")
    browser = ExplorerBrowser(as_build(build))
    assert "back to experts" in browser.text("/b/care_mi/answers")
    assert "it has place 1 in its list" in browser.text(f"/b/care_mi/answers/{name}")


@pytest.mark.push
def test_without_an_evaluation_the_page_says_how_to_make_one(care_mi: Path, tmp_path: Path) -> None:
    build = shutil.copytree(care_mi, tmp_path / "care_mi", ignore=shutil.ignore_patterns("cache", "evaluation"))
    text = ExplorerBrowser(as_build(build)).text("/b/care_mi/answers")
    assert "benchbuild evaluate recipe=care_mi" in text


@pytest.mark.push
def test_addresses_of_any_kind_do_no_harm(pages: ExplorerBrowser) -> None:
    attack = '<script>alert(1)</script>\u202e"'
    for query in (
        f"left={attack}&right={attack}",
        f"type={attack}",
        f"sort={attack}",
        "at=99999999",
        f"source={attack}",
    ):
        answer = pages.get(f"/b/care_mi/answers?{query}")
        assert answer.status_code == 200, query
        assert "<script>alert" not in answer.text
    assert pages.get(f"/b/care_mi/answers?{urlencode({'measure': attack})}").status_code == 404


@pytest.fixture(scope="module")
def unjudged(care_mi: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same build without votes: only its items are made again."""
    folder = tmp_path_factory.mktemp("builds") / "unjudged"
    shutil.copytree(care_mi, folder, ignore=shutil.ignore_patterns("evaluation", "audit"))
    assert main(["recipe=care_mi", "annotation=none", f"run.dir={folder}"]) == 0
    return folder


@pytest.mark.full
def test_a_comparison_says_what_the_command_says(care_mi: Path, unjudged: Path) -> None:
    browser = ExplorerBrowser(as_build(care_mi), as_build(unjudged))
    (found,) = compare_builds(BuiltBenchmark(care_mi), BuiltBenchmark(unjudged))
    assert found.changes
    text = browser.text("/b/care_mi/compare/unjudged")
    counts = {
        sort: sum(n for (of, _), n in found.counts().items() if of == sort) for sort in ("added", "removed", "changed")
    }
    for sort, n in counts.items():
        assert re.search(rf"<strong>{n}</strong> {sort}", text)
    for change in found.changes[:30]:
        assert change.text in unescape(text)
        assert change.detail in unescape(text)
    for key in found.recipe[:20]:
        assert f"<code>{key.key}</code>" in text
    sort = max(counts, key=lambda sort: counts[sort])
    only = browser.text(f"/b/care_mi/compare/unjudged?sort={sort}")
    assert re.findall(r'<li class="(added|removed|changed)"><p', only) == [sort] * min(counts[sort], 100)
    assert browser.get("/b/care_mi/compare/none").status_code == 404


@pytest.mark.push
def test_a_comparison_with_an_unfinished_build_says_so(care_mi: Path, tmp_path: Path) -> None:
    (tmp_path / "begun" / "store" / "steps").mkdir(parents=True)
    browser = ExplorerBrowser(as_build(care_mi), as_build(tmp_path / "begun"))
    assert "holds no benchmark" in browser.text("/b/care_mi/compare/begun")
    assert browser.get("/b/begun/items").status_code == 404


@pytest.mark.push
def test_a_notebook_has_what_the_pages_show(evaluated: Path, results: dict[str, Any], care_mi: Path) -> None:
    opened = open_build(evaluated)
    answers, scores = opened.answers().arrow(), opened.scores().arrow()
    assert set(answers.column("model").to_pylist()) == set(results["systems"])
    values = {(row["item"], row["model"], row["scorer"], row["aspect"]): row["value"] for row in scores.to_pylist()}
    for entry in results["scores"]:
        for model, column in entry["values"].items():
            for line, value in zip(results["items"], column, strict=True):
                shown = values.get((line[0], model, entry["scorer"], entry["aspect"]))
                if value is not None:  # an answer without a verdict has no value, and counts as wrong
                    assert (shown or 0.0) == pytest.approx(value, abs=1e-5)
    if not (care_mi / "evaluation").exists():
        with pytest.raises(DataError, match="has no answers"):
            open_build(care_mi).answers()
