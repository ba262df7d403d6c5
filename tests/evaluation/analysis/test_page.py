"""The page of an analysis: what it shows, what it says of made-up answers, and what hostile texts cannot do."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from analysed_world import analysed, of_answers
from answered_world import answered, settings, simulated, texts
from html_page import Page, squeezed

from benchbuilder.core import page_texts
from benchbuilder.evaluation.analysis.files import analysis_page
from benchbuilder.evaluation.analysis.item_sections import ItemTable
from benchbuilder.evaluation.analysis.model_sections import form_spread
from benchbuilder.evaluation.analysis.page.charts import ItemMap
from benchbuilder.evaluation.analysis.run import Analysis

EVERY_PART = ["items", "experts", "wrong-answers", "ranks", "consistency", "wordings", "forms", "difficulty",
              "groups", "plan"]  # fmt: skip


@pytest.fixture(scope="module")
def large() -> Analysis:
    """24 models and 480 items: enough for each part."""
    return analysed(24, 480)


@pytest.fixture(scope="module")
def page(large: Analysis) -> str:
    return analysis_page(large, page_texts("en"))


@pytest.mark.push
def test_every_part_stands_on_its_own_numbers_of_items_and_families(page: str) -> None:
    read = Page(page)
    assert [name for name in read.text if name] == [*EVERY_PART, "files"]
    assert Counter(read.ids).most_common(1)[0][1] == 1
    anchors = [link.removeprefix("#") for link in read.links if link.startswith("#")]
    assert set(anchors) <= set(read.ids)
    assert {f"back-{place}" for place in range(1, 41)} <= set(anchors)
    figures = page.count("<figure>")
    assert (
        figures == page.count("<figcaption") == len(re.findall(r"Rests on [\d,]+ items in \d+ families, and \d+", page))
    )
    charts = [attributes for _, attributes in read.tags if attributes.get("role") == "img"]
    assert len(charts) == figures == page.count("<svg")
    assert page.count("<svg") == page.count('<svg class="chart" role="img"') + 1
    named = re.findall(r'<svg class="chart" role="img"[^>]*><title>[^<]+</title>', page)
    assert len(named) == figures - 1
    assert 'role="img" aria-label="480 items by mean score' in page
    assert "made-up" not in page
    assert "Does folic acid lower the risk? (doubting)" in read.text["wordings"]
    assert "model-0: " not in read.text["wordings"]  # what each model does is in chart and table
    for link in read.links:
        assert link.startswith("#")  # nothing is loaded from elsewhere


def test_the_map_and_its_table_hold_every_item(large: Analysis, page: str) -> None:
    items = large.sections["items"]
    assert isinstance(items, ItemTable)
    drawn = page[page.index('<svg class="chart large"') :]
    drawn = drawn[: drawn.index("</svg>")]
    cells = re.findall(r"<rect[^>]*fill-opacity[^>]*><title>([\d,]+) items?</title>", drawn)
    assert sum(map(int, cells)) == len(items.ids) == 480  # cells, and the strip of items without a correlation
    table = page[page.index('id="item_map"') :]
    totals = re.findall(r'<td data-v="(\d+)\.0" class="n">[^<]*</td></tr>', table[: table.index("</table>")])
    assert sum(map(int, totals)) == 480
    assert drawn.count("<a ") == 50  # 40 dots, and names of the first ten
    assert drawn.count('tabindex="-1"') == 50


def test_a_map_of_few_items_has_a_dot_for_each() -> None:
    few = ItemMap(np.array([0.2, 0.4, 1.0]), np.array([0.5, -0.3, np.nan]), 5, 0.88)
    assert few.most == 0
    many = ItemMap(np.full(900, 0.5), np.full(900, 0.3), 5, 0.88)
    assert many.most == 900


def test_few_models_get_a_histogram_and_the_reason() -> None:
    shown = Page(analysis_page(analysed(3, 80), page_texts("en")))
    assert "difficulty alone is shown" in shown.text["items"]
    assert "experts" not in shown.text
    assert "groups" in shown.text
    assert not any(attributes.get("class") == "chart large" for _, attributes in shown.tags)


def test_a_page_of_rules_alone_or_of_models_that_are_all_right_says_why_parts_are_missing() -> None:
    whole, t = analysed(6, 40), page_texts("en")
    world = replace(whole.answered, worded=None)
    rules = replace(world, systems=tuple(replace(system, group="rule") for system in world.systems))
    shown = Page(analysis_page(of_answers(whole, rules), t))
    assert "items" not in shown.text
    assert "Models are not ranked: 0 models and 0 families" in squeezed(shown.text["ranks"])
    shown = Page(analysis_page(of_answers(whole, replace(world, scores=np.ones(world.scores.shape))), t))
    assert "Flags: 40 saturated, 0 dead, 0 negative." in squeezed(shown.text["items"])
    assert "plan" not in shown.text  # models that never differ are no ground for a plan


def test_made_up_answers_are_named_at_every_chart_and_table() -> None:
    shown = analysis_page(analysed(12, 120, invented=True), page_texts("en"))
    tag = '<span class="found hint">made-up answers</span>'
    assert all(tag in caption for caption in re.findall(r"<figcaption.*?</figcaption>", shown))
    behind = [summary for summary in re.findall(r"<summary>.*?</summary>", shown) if "Table:" in summary]
    assert behind
    assert all(tag in summary for summary in behind)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hostile_texts_do_no_harm(language: str) -> None:
    hostile = "<script>alert(1)</script>\N{RIGHT-TO-LEFT OVERRIDE}\" onload='x' "
    shown = analysis_page(
        analysed(12, 80, question=hostile, names="<img src=x onerror=alert(1)>\N{RIGHT-TO-LEFT OVERRIDE}"),
        page_texts(language),
    )
    read = Page(shown)
    assert Counter(tag for tag, _ in read.tags)["script"] == 1
    assert all(tag != "img" for tag, _ in read.tags)
    assert not any(name.startswith("on") for _, attributes in read.tags for name in attributes)
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in shown
    assert "<script>alert(1)</script>" in squeezed(read.text["experts"])


@pytest.mark.push
def test_other_languages_and_directions(tmp_path: Path) -> None:
    chinese = analysis_page(analysed(6, 80), page_texts("zh"))
    words = " ".join(" ".join(Page(chinese).text.values()).split())
    assert "条目分布图" in words
    assert "Rests on" not in words
    file = tmp_path / "ar.yaml"
    file.write_text('meta: {name: عربي, direction: rtl}\nanalysis: {page: {kicker: "ماذا تقول الإجابات"}}\n', "utf-8")
    arabic = analysis_page(analysed(6, 80), page_texts("ar", {"ar": file}))
    assert '<html lang="ar" dir="rtl">' in arabic
    assert "ماذا تقول الإجابات" in arabic


def test_forms_that_are_harder_are_seen() -> None:
    random = np.random.default_rng(3)
    negated = np.arange(800) % 2 == 1
    scores = (random.random((3, 800)) < np.where(negated, 0.6, 0.9)).astype(float)
    found = form_spread(answered(scores, np.arange(800) // 2, negated=negated), settings())
    (group,) = found.groups
    assert (group.by, group.values, group.items, group.family_count) == (
        "polarity", ("affirmed", "negated"), (400, 400), 400,
    )  # fmt: skip
    assert group.spread == pytest.approx([0.3] * 3, abs=0.07)
    assert ((group.low < group.means) & (group.means < group.high)).all()
    assert (group.low[:, 0] > group.high[:, 1]).all()
    one = form_spread(answered(simulated(3, 40, 1)), settings())
    assert one.sentences(page_texts("en")) == ["Scores by form are not shown: all items ask in one way."]


def test_a_model_that_was_asked_one_form_has_no_spread() -> None:
    scores = np.array([[1, 0, np.nan, np.nan], [1, 1, 0, 1]], float)
    found = form_spread(answered(scores, types=texts("tf", "tf", "oe", "oe")), settings())
    (group,) = found.groups
    assert np.isnan(group.means[0, 1])
    assert np.isnan(group.spread[0])
    assert group.spread[1] == 0.5
