"""The page of all builds and the flow of one."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from explorer_browser import ExplorerBrowser

from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.reading.build_summaries import summarise_build
from benchbuilder.explorer.reading.step_flow import read_flow


@pytest.mark.push
def test_the_builds_say_what_they_are(browser: ExplorerBrowser, care_mi: Path) -> None:
    page = browser.text("/")
    summary = summarise_build(BuildFolder("care_mi", care_mi))
    assert summary.state == "complete"
    assert summary.leaks == 0
    assert summary.items == (care_mi / "items.tsv").read_text("utf-8").count("\n") - 1
    for words in ("CARE-MI sample benchmark", "recipe=care_mi", "complete", "no leak", f">{summary.items}<"):
        assert words in page, words


def test_a_build_without_steps_says_so(tmp_path: Path) -> None:
    (tmp_path / "new" / "store" / "steps").mkdir(parents=True)
    browser = ExplorerBrowser(BuildFolder("new", tmp_path / "new"))
    assert "stopped" in browser.text("/")
    assert "No step of this build is finished yet." in browser.text("/b/new/")
    assert "No step of this build is finished yet." in browser.text("/b/new/rows")


@pytest.mark.push
def test_two_ticked_builds_lead_to_their_comparison(care_mi: Path) -> None:
    browser = ExplorerBrowser(BuildFolder("one", care_mi), BuildFolder("two", care_mi))
    assert browser.get("/compare?build=one").status_code == 400
    answer = browser.get("/compare?build=one&build=two", follow_redirects=False)
    assert answer.headers["location"] == "/b/one/compare/two"


@pytest.mark.push
def test_every_branch_of_a_step_is_kept_or_counted_as_something_else(care_mi: Path) -> None:
    for step in read_flow(BuildFolder("care_mi", care_mi).manifests()):
        assert step.branches == step.kept + sum(loss.count for loss in step.losses)
        assert step.kept == step.rows


@pytest.mark.push
def test_every_number_of_the_flow_leads_to_as_many_rows(browser: ExplorerBrowser, care_mi: Path) -> None:
    page = browser.text("/b/care_mi/")
    table = page[page.index("<tbody>") : page.index("</tbody>")]
    links = re.findall(r'<a(?: class="lost")? href="([^"]+)">([\d,]+)', table)
    assert len(links) > 60
    for address, number in links[::7]:
        rows = browser.text(unescape(address))
        assert f"<span>{number} row" in rows, address


@pytest.mark.push
def test_the_graph_has_each_step_and_no_style_of_its_own(browser: ExplorerBrowser, care_mi: Path) -> None:
    page = browser.text("/b/care_mi/")
    graph = page[page.index("<svg") : page.index("</svg>")]
    for step in read_flow(BuildFolder("care_mi", care_mi).manifests()):
        assert f"<title>{step.name} ({step.kind})</title>" in graph
    assert "style=" not in page
    assert len(graph) < 60_000
