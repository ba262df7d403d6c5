"""Rows of a step: facets, pages, search, order and sample, compared with what is in the files of the build."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest
from explorer_browser import ExplorerBrowser

from benchbuilder.core import DataError
from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.reading.branch_pages import (
    BranchFilter,
    BranchRow,
    facet_counts,
    read_page,
)
from benchbuilder.explorer.reading.selections import count_hits, sample_branches, sorted_branches
from benchbuilder.explorer.reading.step_parts import StepParts, parts_of
from benchbuilder.explorer.reading.text_search import TextQuery


@pytest.fixture(scope="module")
def steps(care_mi: Path) -> dict[str, StepParts]:
    build = BuildFolder("care_mi", care_mi)
    return {name: parts_of(build, manifest) for name, manifest in build.manifests().items()}


def all_pages(parts: StepParts, chosen: BranchFilter, size: int = 37) -> list[BranchRow]:
    rows: list[BranchRow] = []
    after = ""
    while True:
        page = read_page(parts, chosen, after, size=size)
        rows += page.rows
        if not (after := page.after):
            return rows


@pytest.mark.full
def test_pages_give_every_branch_once_and_facets_count_them(steps: dict[str, StepParts]) -> None:
    for name, parts in steps.items():
        outcomes = parts.build.store.outcomes(parts.manifest).to_pylist()
        counted = Counter(line["outcome"] for line in outcomes if line["outcome"] != "unused")
        rows = all_pages(parts, BranchFilter())
        assert len({row.cursor for row in rows}) == len(rows) == counted.total(), name
        facets = facet_counts(parts, BranchFilter())
        assert facets.total == len(rows)
        assert facets.outcomes == counted
        assert Counter(row.source for row in rows) == facets.sources
        assert Counter(row.reason for row in rows if row.reason) == facets.reasons
        assert [row.id for row in rows if row.outcome == "kept"] == parts.build.store.rows(parts.manifest).ids()


@pytest.mark.push
def test_filters_leave_what_the_facets_promise(steps: dict[str, StepParts]) -> None:
    parts = steps["state_choice"]
    lost = all_pages(parts, BranchFilter(outcome="lost"))
    assert {row.outcome for row in lost} == {"dropped"}
    for source, count in facet_counts(parts, BranchFilter(reason="needs_model")).sources.items():
        rows = all_pages(parts, BranchFilter(source=source, reason="needs_model"))
        assert len(rows) == count
        assert all(row.texts["question"] for row in rows)
    assert all_pages(parts, BranchFilter(source="nothing")) == []


WORDS = ["血", "糖尿", "糖尿病", "妊娠期糖尿", "妊娠期糖尿病控制", "胰岛素。", "nothing at all", "℃", "ａ"]


@pytest.mark.full
@pytest.mark.parametrize("step", ["state_choice", "candidates", "evidence", "medqa", "swap_triple"])
def test_a_search_equals_the_substring_of_python(steps: dict[str, StepParts], step: str) -> None:
    parts = steps[step]
    rows = all_pages(parts, BranchFilter(), size=1000)
    for word in WORDS:
        found = all_pages(parts, BranchFilter(query=TextQuery(word)))
        within = [row.cursor for row in rows if any(word in text for text in (*row.texts.values(), row.detail))]
        assert set(within) <= {row.cursor for row in found}, word
        whole = _with_word_in_any_field(parts, rows, word)
        assert [row.cursor for row in found] == whole, word
        assert count_hits(parts, BranchFilter(query=TextQuery(word)), 0, 60).count == len(found)


def _with_word_in_any_field(parts: StepParts, rows: list[BranchRow], word: str) -> list[str]:
    """By Python alone: the branches whose row, or whose lost input row, has the word in a text that is no header."""
    manifests = parts.build.manifests()
    texts: dict[str, str] = {}
    for manifest in (*parts.inputs, manifests[parts.manifest.step]):
        for data in parts.build.store.rows(manifest).arrow.to_pylist():
            texts[data["id"]] = "\0".join(_own_texts(data))
    return [row.cursor for row in rows if word in texts.get(row.id, "") or word in row.detail]


def _own_texts(data: object, name: str = "") -> list[str]:
    from benchbuilder.explorer.reading.text_search import _HEADER

    if isinstance(data, dict):
        return [text for key, value in data.items() if key not in _HEADER for text in _own_texts(value, str(key))]
    if isinstance(data, list):
        return [text for value in data for text in _own_texts(value)]
    return [data] if isinstance(data, str) else []


def test_a_hit_over_the_border_of_two_texts_does_not_count() -> None:
    import pyarrow as pa

    texts = pa.array(["…糖尿", "病因", None, "", "糖尿病", "\U00020000糖", "尿病\U00020000"], pa.string())
    for array in (texts, texts.slice(1), texts.cast(pa.large_string())):
        found = TextQuery("糖尿病").rows_with(array).tolist()
        assert found == [text is not None and "糖尿病" in text for text in array.to_pylist()]
    assert TextQuery("\U00020000").rows_with(texts).tolist() == [False, False, False, False, False, True, True]
    assert TextQuery("\ud800").rows_with(texts).tolist() == [False] * 7


@pytest.mark.push
def test_a_regular_expression_is_that_of_re2(steps: dict[str, StepParts]) -> None:
    parts = steps["candidates"]
    found = all_pages(parts, BranchFilter(query=TextQuery("糖尿病.{0,6}血糖", is_pattern=True)))
    assert found
    assert all(any(re.search("糖尿病.{0,6}血糖", text) for text in row.texts.values()) for row in found)
    with pytest.raises(DataError, match=r"RE2 says: .*missing"):
        TextQuery("(", is_pattern=True)


@pytest.mark.push
def test_a_sample_is_that_of_its_seed(steps: dict[str, StepParts]) -> None:
    parts = steps["evidence"]
    chosen = BranchFilter(source="medqa")
    one, same, other = (sample_branches(parts, chosen, seed) for seed in ("1", "1", "2"))
    assert one == same
    assert one != other
    assert len({row.cursor for row in one}) == 50
    assert {row.source for row in one} == {"medqa"}


@pytest.mark.push
def test_an_order_has_every_branch_once(steps: dict[str, StepParts]) -> None:
    parts, chosen = steps["state_choice"], BranchFilter()
    rows: list[BranchRow] = []
    more = True
    while more:
        page, more = sorted_branches(parts, chosen, "longest", len(rows))
        rows += page
    assert len({row.cursor for row in rows}) == facet_counts(parts, chosen).total
    lengths = [len(next(iter(row.texts.values()))) for row in rows]
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.push
def test_the_page_shows_rows_with_their_texts_and_the_line_of_the_file(browser: ExplorerBrowser) -> None:
    page = browser.text("/b/care_mi/rows?step=cpubmed&outcome=lost")
    assert "malformed" in page
    assert "2 columns, expected 3" in page
    assert "产褥感染@@疾病" in page, "the line of a unit that became no row"
    assert 'href="/b/care_mi/unit/care_mi/sample/cpubmed.tsv:24"' in page


@pytest.mark.push
def test_a_filter_stays_in_every_address_of_the_page(browser: ExplorerBrowser) -> None:
    page = browser.text(f"/b/care_mi/rows?step=ask_tf_choice&source=medqa&q={quote('血')}")
    assert "<mark>血</mark>" in page
    following = re.search(r'rel="next" href="([^"]+)"', page)
    assert following is not None
    assert "source=medqa" in following[1]
    assert "after=0." in following[1]
    second = browser.text(following[1].replace("&amp;", "&"))
    first_ids, second_ids = (set(re.findall(r"/row/(\w+-\w+)", text)) for text in (page, second))
    assert not first_ids & second_ids


@pytest.mark.push
def test_a_wrong_search_says_why_and_keeps_the_filters(browser: ExplorerBrowser) -> None:
    answer = browser.get("/b/care_mi/rows?step=medqa&outcome=kept&q=(&re=1")
    assert answer.status_code == 400
    assert "RE2 says: missing" in answer.text
    assert 'name="outcome" value="kept"' in answer.text


@pytest.mark.push
def test_the_search_of_the_header_knows_ids_units_and_texts(browser: ExplorerBrowser, care_mi: Path) -> None:
    item = BuildFolder("care_mi", care_mi).store.rows(BuildFolder("care_mi", care_mi).manifest("items")).ids()[0]

    def target(q: str) -> str:
        return browser.get(f"/b/care_mi/find?q={quote(q)}", follow_redirects=False).headers["location"]

    assert target(item) == f"/b/care_mi/row/{item}"
    assert target("care_mi/sample/cpubmed.tsv:24") == "/b/care_mi/unit/care_mi/sample/cpubmed.tsv:24"
    assert target("糖尿病:2") == f"/b/care_mi/rows?q={quote('糖尿病:2')}"


@pytest.mark.push
def test_an_unknown_step_is_named_with_those_that_there_are(browser: ExplorerBrowser) -> None:
    answer = browser.get("/b/care_mi/rows?step=%3Cscript%3E")
    assert answer.status_code == 404
    assert "&lt;script&gt;" in answer.text
    assert "<script>" not in answer.text
    assert browser.get("/b/care_mi/count?step=medqa&q=x&part=99").status_code == 400
