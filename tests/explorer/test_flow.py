"""The page of all builds and the flow of one."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from explorer_browser import ExplorerBrowser
from small_build import write_small_build

from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.reading.build_summaries import summarise_build
from benchbuilder.explorer.reading.step_flow import read_flow
from benchbuilder.pipeline import Store
from benchbuilder.pipeline.last_command import save_last_command


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


def test_what_only_looked_at_a_build_is_not_its_last_run(tmp_path: Path) -> None:
    folder = write_small_build(tmp_path / "build", ["one", "two"])
    owed = {"waiting": {"items": {"annotators: claim": 1234}}, "outputs": False}
    lines = [{"waiting": {}, "outputs": True, "receipts": [{"calls": 3, "usd": 0.5}]}, owed]
    (folder / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    summary = summarise_build(BuildFolder("build", folder))
    assert (dict(summary.waiting), summary.calls, summary.usd) == ({}, 3, 0.5)
    (folder / "run.jsonl").write_text(json.dumps(owed) + "\n", "utf-8")
    browser = ExplorerBrowser(BuildFolder("build", folder))
    assert "waiting for people" in browser.text("/")
    assert "<li><code>items</code>: annotators: claim 1,234</li>" in browser.text("/b/build/")


def test_runs_of_a_sweep_are_called_by_what_was_varied(tmp_path: Path) -> None:
    builds: list[BuildFolder] = []
    for top_k in "23":
        folder = write_small_build(tmp_path / top_k, ["one"])
        save_last_command(Store(folder), ["recipe=care_mi", f"retriever.top_k={top_k}", "seed=1"])
        builds.append(BuildFolder(top_k, folder))
    assert ">3</a>" in ExplorerBrowser(*builds).text("/")
    (tmp_path / "sweep.csv").write_text("run\n", "utf-8")
    page = ExplorerBrowser(*builds).text("/")
    assert ">retriever.top_k=2</a>" in page
    assert "<code>recipe=care_mi retriever.top_k=3 seed=1</code>" in page


def test_votes_in_the_review_app_are_explained_where_there_are_any(tmp_path: Path) -> None:
    folder = write_small_build(tmp_path / "build", ["one"])
    browser = ExplorerBrowser(BuildFolder("build", folder))
    assert "Votes given in the review app" not in browser.text("/")
    (folder / "annotation").mkdir()
    (folder / "annotation" / "review.sqlite").touch()
    assert "count in the build with the same words, and in no other." in browser.text("/")


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
