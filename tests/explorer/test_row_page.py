"""The page of a row says what the commands why and trace say, and marks what steps did to texts."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from explorer_browser import ExplorerBrowser

from benchbuilder.config import load_recipe
from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.app.row_page import shared_words
from benchbuilder.explorer.reading.row_story import diff_texts, read_story, read_unit
from benchbuilder.explorer.reading.word_weights import word_weights
from benchbuilder.pipeline import Inspector, Store, plan_build


@pytest.fixture(scope="module")
def build(care_mi: Path) -> BuildFolder:
    return BuildFolder("care_mi", care_mi)


@pytest.fixture(scope="module")
def inspector(care_mi: Path) -> Inspector:
    """The inspector of the commands, from the recipe."""
    store = Store(care_mi)
    return Inspector.of_plan(plan_build(load_recipe(["recipe=care_mi"]).recipe, store), store)


def plain(page: str) -> str:
    """The text of a page, on one line."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", page)))


@pytest.mark.push
def test_an_item_has_the_way_that_trace_and_why_give(build: BuildFolder, inspector: Inspector) -> None:
    for item in build.store.rows(build.manifest("items")).ids()[::40]:  # every one: tests/recipes/test_explorer_rows.py
        story = read_story(build, item)
        ways = [(story.step, story.row), *((step.step, step.row) for step in (*story.line, *story.beside))]
        assert sorted(ways, key=lambda way: way[1].id) == sorted(inspector.trace(item), key=lambda way: way[1].id)
        assert list(story.branches) == inspector.branches_of(item)


@pytest.mark.push
def test_dropped_rows_end_on_the_page_as_why_says(build: BuildFolder, inspector: Inspector) -> None:
    lost = [
        line["row"]
        for step in ("state_choice", "negate_choice", "swap_triple", "screen_questions", "candidates")
        for line in build.store.outcomes(build.manifest(step)).to_pylist() if line["outcome"] == "dropped"
    ]  # fmt: skip
    assert len(set(lost)) > 200
    for row in list(dict.fromkeys(lost))[::30]:
        assert list(read_story(build, row).branches) == inspector.branches_of(row)


@pytest.mark.push
def test_the_words_that_found_a_paragraph_have_their_weights(browser: ExplorerBrowser, build: BuildFolder) -> None:
    before = sorted(path.name for path in build.store.cache.rglob("*"))
    item = next(row for row in build.store.rows(build.manifest("items")) if len(row.payload.evidence) > 2)
    story = read_story(build, item.id)
    found = word_weights(build, [story.row, *(step.row for step in (*story.line, *story.beside))])
    for support in item.payload.evidence:
        assert sum(found[support.passage].values()) == pytest.approx(support.score, rel=1e-9)
    page = plain(browser.text(f"/b/care_mi/row/{item.id}"))
    word, weight = max(found[item.payload.evidence[0].passage].items(), key=lambda pair: pair[1])
    assert f"What each word added to the score: {word} {weight:.1f}" in page
    assert sorted(path.name for path in build.store.cache.rglob("*")) == before, "nothing was written"


@pytest.mark.push
def test_the_page_has_the_way_with_what_was_put_in_and_taken_out(browser: ExplorerBrowser, build: BuildFolder) -> None:
    row = next(row for row in build.store.rows(build.manifest("state_choice")) if "糖尿病母亲" in row.text)
    page = browser.text(f"/b/care_mi/row/{row.id}")
    assert f'<h1 class="row-id">{row.id}</h1>' in page
    assert re.search(r"<ins>.*。</ins>", page)
    assert re.search(r"<del>.*→ ?</del>", page)
    said = plain(page)
    assert "put in: 。" in said
    assert '"answer": "新生儿低血糖"' in said, "the line of the file"
    assert f"benchbuild why {row.id} recipe=care_mi" in said
    for step in ("stem", "clean", "medqa"):
        assert f">{step}</a>" in page


@pytest.mark.push
def test_a_unit_of_a_file_has_its_line_and_its_ends(
    browser: ExplorerBrowser, build: BuildFolder, inspector: Inspector
) -> None:
    page = plain(browser.text("/b/care_mi/unit/care_mi/sample/cpubmed.tsv:24"))
    assert "产褥感染@@疾病" in page
    assert "dropped (malformed) - The unit is malformed" in page
    for reference in ("care_mi/sample/medqa/dev.jsonl:5", "care_mi/sample/cpubmed.tsv:24"):
        file, _, line = reference.rpartition(":")
        assert list(read_unit(build, file, int(line))[0]) == inspector.branches_of(reference)
    assert browser.get("/b/care_mi/unit/care_mi/sample/none.tsv:24").status_code == 404
    assert browser.get(f"/b/care_mi/unit/{quote('../../../../etc/passwd')}:1").status_code == 404
    assert browser.get("/b/care_mi/unit/care_mi/sample/cpubmed.tsv").status_code == 404


@pytest.mark.push
def test_a_row_that_is_not_there_is_named(browser: ExplorerBrowser) -> None:
    answer = browser.get("/b/care_mi/row/fact-00000000000000000000")
    assert answer.status_code == 404
    assert "no row of this build has the id" in answer.text


@pytest.mark.push
def test_all_fields_of_a_row_can_be_had(browser: ExplorerBrowser, build: BuildFolder) -> None:
    row = next(iter(build.store.rows(build.manifest("items"))))
    answer = browser.get(f"/b/care_mi/row/{row.id}.json")
    assert answer.json() == row.model_dump(mode="json")
    assert answer.headers["content-disposition"] == f'attachment; filename="{row.id}.json"'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("足月男婴。糖尿病母亲（　　）。", "糖尿病母亲"),
        ("", "x"),
        ("x", ""),
        ("same", "same"),
        ("Aspirin lowers fever.", "Aspirin does not lower fever."),
        ("a" * 10_000, "b " * 9_000),
    ],
)
def test_the_pieces_of_a_difference_make_both_texts(before: str, after: str) -> None:
    pieces = diff_texts(before, after)
    assert "".join(piece.text for piece in pieces if piece.sort != "ins") == before
    assert "".join(piece.text for piece in pieces if piece.sort != "del") == after


def test_the_pieces_of_a_paragraph_make_it_whole() -> None:
    text = "前置胎盘是引起妊娠晚期流血的重要疾病，Placenta praevia."
    pieces = shared_words("前置胎盘的症状是流血，placenta", text)
    assert "".join(piece for piece, _ in pieces) == text
    assert [piece for piece, hit in pieces if hit] == ["前置胎盘", "流血", "Placenta"]


@pytest.mark.push
def test_votes_are_numbers_without_names(browser: ExplorerBrowser, build: BuildFolder) -> None:
    item = next(iter(build.store.rows(build.manifest("items"))))
    page = browser.text(f"/b/care_mi/row/{item.id}")
    notes = build.manifest("items").notes["votes"]["annotators"]
    assert notes
    assert "<h2>Votes</h2>" in page
    assert re.search(r'class="badge">1 × \d', page)
    section = plain(page[page.index("<h2>Votes</h2>") : page.index("<h2>What became of it</h2>")])
    assert not any(re.search(rf"\b{person}\b", section) for person in notes)
