"""The pages of items: families together, search and facets, marks, the audit, and texts that attack the page."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from explorer_browser import ExplorerBrowser, as_build

from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.reading.audited_items import audit_of_items
from benchbuilder.explorer.reading.item_columns import FACETS, BrowsedItems, ItemFilter, item_columns, item_steps
from benchbuilder.explorer.reading.marked_texts import marked_pieces, shared_spans


@pytest.fixture(scope="module")
def items(care_mi: Path) -> BrowsedItems:
    build = BuildFolder("care_mi", care_mi)
    assert item_steps(build) == {"": "items"}
    return item_columns(build, "items")


@pytest.fixture(scope="module")
def records(care_mi: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (care_mi / "items.jsonl").read_text("utf-8").splitlines()]


TEXTS = ("context", "question", "answer", "answer-wrong")


def has(record: dict[str, Any], word: str) -> bool:
    return any(word in record[name] for name in TEXTS)


def ids(items: BrowsedItems, wanted: ItemFilter) -> set[str]:
    return {item.id for item in items.listed([int(number) for number in items.matching(wanted)])}


@pytest.mark.push
def test_search_and_facets_choose_what_the_items_file_says(items: BrowsedItems, records: list[dict[str, Any]]) -> None:
    for word in ("糖", "贫血", "新生儿", "最可能的诊断是", "B", "？"):
        expected = {r["id"] for r in records if has(r, word)}
        assert ids(items, ItemFilter(q=word)) == expected, word
    assert ids(items, ItemFilter(type="tf", source="medqa", expected="yes")) == {
        r["id"] for r in records if (r["type"], r["source"], r["expected"]) == ("tf", "medqa", "yes")
    }  # fmt: skip
    tagged = {r["id"] for r in records if "list_like" in r["tags"]}
    assert ids(items, ItemFilter(tag="list_like")) == tagged
    assert tagged
    open_ones = {r["id"] for r in records if r["type"] == "oe" and has(r, "糖")}
    assert ids(items, ItemFilter(q="糖", type="oe")) == open_ones
    assert ids(items, ItemFilter(q=records[0]["id"])) == {records[0]["id"]}


@pytest.mark.push
def test_facets_count_the_items(items: BrowsedItems, records: list[dict[str, Any]]) -> None:
    assert set(items.facets) == {"source", "type", "form", "expected", "tag"} <= set(FACETS)
    for name in ("source", "type"):
        assert dict(items.facets[name]) == Counter(r[name] for r in records)


@pytest.mark.push
def test_families_stand_together_and_no_item_is_lost(items: BrowsedItems) -> None:
    families = [item.family for item in items.listed([int(number) for number in items.order])]
    assert len(families) == items.count
    begins = [family for at, family in enumerate(families) if at == 0 or families[at - 1] != family]
    assert len(begins) == len(set(begins)) > 50


@pytest.mark.push
def test_the_list_leads_to_every_item_page_by_page(browser: ExplorerBrowser, items: BrowsedItems) -> None:
    found: list[str] = []
    path = "/b/care_mi/items"
    while path:
        text = browser.text(path)
        found += re.findall(r'href="/b/care_mi/items/(item-[0-9a-f]+)"', text)
        following = re.search(r'rel="next" href="([^"]+)"', text)
        path = "/b/care_mi/items" + following[1] if following else ""
    assert len(found) == len(set(found)) == items.count


@pytest.mark.push
def test_an_item_shows_its_texts_its_evidence_and_its_family(
    browser: ExplorerBrowser, records: list[dict[str, Any]]
) -> None:
    record = next(r for r in records if r["context"] and len(r["evidence"]) > 1)
    text = browser.text(f"/b/care_mi/items/{record['id']}")
    plain = re.sub(r"<[^>]+>", "", text)
    for name in ("context", "question", "answer", "answer-wrong"):
        assert record[name] in plain
    for support in record["evidence"]:
        assert support["text"] in plain
    kin = {r["id"] for r in records if r["family"] == record["family"]} - {record["id"]}
    assert kin == set(re.findall(r'href="/b/care_mi/items/(item-[0-9a-f]+)"', text))
    assert '<mark class="shared">' in text
    assert browser.get("/b/care_mi/items/item-00000000000000000000").status_code == 404
    assert browser.get("/b/care_mi/items/..%2f..%2frecipe.yaml").status_code == 404


@pytest.mark.push
def test_votes_are_counts_without_names(browser: ExplorerBrowser, records: list[dict[str, Any]]) -> None:
    record = next(r for r in records if len(r["evidence"]) == 3)
    page = f"/b/care_mi/items/{record['id']}"
    assert 'href="?votes=show#votes"' in browser.text(page)
    section = browser.text(f"{page}?votes=show").partition('id="votes"')[2].partition("</section>")[0]
    lines = re.findall(r"<tr><td.*?</tr>", section, re.DOTALL)
    assert len(lines) == 8  # five questions about the item, one about each paragraph
    assert all(re.search(r"[01] × [123]", line) for line in lines)
    assert [n for n in "123" if f"paragraph {n}" in section] == ["1", "2", "3"]


@pytest.mark.push
def test_no_rater_stands_on_a_page(browser: ExplorerBrowser, records: list[dict[str, Any]]) -> None:
    assert "rater" not in browser.text(f"/b/care_mi/items/{records[0]['id']}")


def with_audit(folder: Path, first: str, other: str) -> None:
    word = {"target": "verdict", "text": "吗", "n": 120, "yes": 0.9, "z": 9.0, "leaks": True, "allowed": ""}
    kept = {**word, "text": "是", "leaks": False, "allowed": "every question has it", "z": 1.0}
    (folder / "audit").mkdir()
    (folder / "audit" / "audit.json").write_text(json.dumps({"items": 3, "words": [word, kept]}), "utf-8")
    lines = f"kind,item,other,similarity,question,answer,other_answer\nnear,{first},{other},0.93,q,a,b\n"
    (folder / "audit" / "duplicates.csv").write_text(lines, "utf-8")


@pytest.mark.push
def test_what_the_audit_found_is_marked_in_the_text(
    care_mi: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    build = tmp_path / "audited"
    shutil.copytree(care_mi, build, ignore=shutil.ignore_patterns("cache", "audit"))
    asked = [r for r in records if "吗" in r["question"]]
    own = ExplorerBrowser(as_build(build)).text(f"/b/audited/items/{asked[0]['id']}")
    assert "Words of this item that the audit tested" in own, "the audit of the build itself, as the first page has it"
    assert "Items were not compared with each other" in own
    with_audit(build, asked[0]["id"], asked[1]["id"])
    browser = ExplorerBrowser(as_build(build))
    text = browser.text(f"/b/audited/items/{asked[0]['id']}")
    assert '<mark class="leak">吗</mark>' in text
    assert '<mark class="allowed">是</mark>' in text
    assert "gives the answer away" in text
    assert "allowed: every question has it" in text
    assert f'href="/b/audited/items/{asked[1]["id"]}"' in text
    assert "93.0 %" in text
    assert '<mark class="leak">吗</mark>' in browser.text("/b/audited/items")
    (build / "audit" / "audit.json").write_text("{", "utf-8")
    assert audit_of_items(build, "") is None
    assert browser.get(f"/b/audited/items/{asked[0]['id']}").status_code == 200


@pytest.mark.push
def test_addresses_of_any_kind_do_no_harm(browser: ExplorerBrowser) -> None:
    attack = '<script>alert(1)</script>\u202e\x1b[31m"'
    queries = [{"q": attack}, {"source": attack}, {"tag": attack}, {"q": "a" * 5000}]
    for query in (*queries, {"at": "99999999"}, {"at": "-1"}, {"at": "x"}, {"at": attack}):
        answer = browser.get(f"/b/care_mi/items?{urlencode(query)}")
        assert answer.status_code == 200, query
        assert "<script>alert" not in answer.text
        assert not re.search("[\u202e\x1b]", answer.text)
    assert browser.get("/b/care_mi/items?task=none").status_code == 404


def test_overlapping_marks_keep_the_text() -> None:
    text = "病变部位在黑质"
    pieces = marked_pieces(text, [(0, 4, "leak"), (2, 6, "hit"), (90, 99, "hit"), (-3, 1, "hit")])
    assert [(piece.text, piece.mark) for piece in pieces] == [("病变部位", "leak"), ("在黑", "hit"), ("质", "")]
    assert shared_spans("缺铁性贫血见于小儿", ["小儿缺铁性贫血"], "s")[0] == (0, 3, "s")
    assert shared_spans("ﬁrst", ["first"], "s") == []  # the ligature is two letters when compared
