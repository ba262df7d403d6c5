"""The report of a build, also of items in classes of their own or with several votes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from finished_build import NO_PRICE, RECEIPTS, SILENT, WORDS, finished
from html_page import Page, squeezed

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Claim, Item
from benchbuilder.exporters.base import FinishedBuild, StepCounts
from benchbuilder.exporters.report import funnel
from benchbuilder.exporters.report.counts import groups_of
from benchbuilder.exporters.report.dataset_card import DatasetCard, DatasetCardSpec
from benchbuilder.exporters.report.entries import ReportEntry, item_entries, sources_of
from benchbuilder.exporters.report.report import Report, ReportSpec
from benchbuilder.exporters.report.summaries import item_summaries


def report(tmp_path, build=None, language="en", examples=20, cue_words=(), **said):
    spec = ReportSpec(kind="report", file="report.html", language=language, examples=examples, cue_words=cue_words)
    exporter = Report(spec)
    build = build or finished(**said)
    assert exporter.can_write(build)
    path, *_ = exporter.write(build, tmp_path)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("said", [{}, {"state": "waiting"}, {"reviewed": False}, {"count": 0}])
def test_every_state_makes_a_well_formed_page_in_one_file(tmp_path, language, said):
    text = report(tmp_path, language=language, **said)
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert page.links[0] == ("report.zh.html" if language == "en" else "report.en.html")
    assert {link.partition("#")[2] for link in page.links[1:]} <= set(page.ids)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.tags}
    assert "url(" not in text
    assert "@import" not in text


@pytest.mark.parametrize(
    ("locale", "language", "names"),
    [
        ("zh_CN.UTF-8", None, ["report.html:zh", "report.en.html:en"]),
        ("zh_CN.UTF-8", "en", ["report.html:en", "report.zh.html:zh"]),
        ("de_DE.UTF-8", None, ["report.html:en", "report.zh.html:zh"]),
        ("C", None, ["report.html:en", "report.zh.html:zh"]),
    ],
)
def test_a_page_opens_in_the_language_of_its_reader_and_links_to_the_others(
    tmp_path, monkeypatch, locale, language, names
):
    monkeypatch.setenv("LC_ALL", locale)
    spec = ReportSpec(kind="report", file="report.html", language=language, examples=2, cue_words=())
    former = tmp_path / f"report.{names[0][-2:]}.html"
    former.write_text("of an earlier run, in another locale")
    files = Report(spec).write(finished(30), tmp_path)
    pages = {file.name: Page(file.read_text(encoding="utf-8")) for file in files}
    assert [f"{name}:{page.tags[0][1]['lang']}" for name, page in pages.items()] == names
    assert [next(iter(page.links)) for page in pages.values()] == list(reversed(pages))
    assert all("lang" in tag for page in pages.values() for _, tag in page.tags if "hreflang" in tag)
    assert not former.exists()
    assert {*pages} <= {*Report(spec).output_names()}


def test_what_data_say_is_text(tmp_path):
    text = report(tmp_path, title="<img src=x onerror=alert(1)>", summary="a & b")
    assert "<img" not in text
    assert "&lt;img src=x" in text
    assert "a &amp; b" in text
    assert "The question holds the &lt;answer&gt;." in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text


def test_the_funnel_shows_units_and_rows_apart(tmp_path):
    build = finished()
    page = Page(report(tmp_path, build=build))
    books = {account.step: account for account in build.step_counts}
    units = sum(n for (_, outcome, _), n in books["medqa"].units.items() if outcome != "auxiliary")
    items = sum(row.partition == "medqa" for row in build.tables["items"])
    candidates = sum(row.partition == "medqa" for row in build.tables["candidates"])
    row = f"medqa {units} {books['medqa'].rows} {candidates} {items}"
    assert row in squeezed(page.text["funnel"])
    assert "120 rows of joined files" in page.text["steps"]
    assert "Knowledge bases" in page.text["steps"]


def test_the_first_page_counts_what_each_stage_of_the_flow_leaves(tmp_path):
    build = finished()
    units = sum(
        n for books in build.step_counts if not books.inputs and books.role != "passage"
        for (_, outcome, _), n in books.units.items() if outcome in funnel.OUTCOME_NAMES
    )  # fmt: skip
    stages = {stage.name: stage for stage in funnel.funnel_stages(build, sources_of(build), {"medqa": 7}, {"medqa": 5})}
    assert list(stages) == ["units", "fact", "statement", "candidate", "item"]
    assert stages["units"].total == units
    assert (stages["candidate"].total, stages["item"].total) == (7, 5)
    assert stages["units"].lost == 0
    lost = sum(n for b in build.step_counts for (_, outcome, _), n in (b.counts if b.inputs else b.units).items()
               if outcome in ("dropped", "failed") and b.role not in ("passage", "evidence"))  # fmt: skip
    assert sum(stage.lost for stage in stages.values()) == lost
    steps = {books.step: books for books in build.step_counts}
    stated = sum(n for (_, outcome, _), n in steps["state"].counts.items() if outcome == "kept")
    assert stages["statement"].total == stated
    assert "off topic" in Page(report(tmp_path, build=build)).text["funnel"]


def test_texts_that_claims_are_read_in_are_a_source_and_false_claims_are_no_further_facts(tmp_path):
    def counted(step, role, kept, each=(), lost=0):
        counts = {("guide", "kept", ""): kept, ("guide", "dropped", "needs_model"): lost}
        units = {} if each else {("guide.md", "kept", ""): kept}
        return StepCounts(step, "", role, kept, {"each": each} if each else {}, counts, units, {}, {}, {})

    steps = (
        counted("guide", "passage", 2),
        counted("books", "passage", 9),  # only evidence is found in them
        counted("paragraphs", "passage", 10, ("guide",)),
        counted("claims", "fact", 12, ("paragraphs",), lost=4),
        counted("false_claims", "fact", 9, ("claims",), lost=3),
        counted("state", "statement", 12, ("claims",)),
        counted("state_false", "statement", 9, ("false_claims",)),
        counted("ask", "question", 21, ("state", "state_false")),
        counted("candidates", "candidate", 18, ("ask",), lost=3),
    )
    build = replace(finished(0), step_counts=steps)
    assert sources_of(build) == ["guide"]
    found = funnel.funnel_stages(build, ["guide"], {"guide": 18}, {"guide": 18})
    assert [(stage.name, stage.total, stage.lost) for stage in found] == [
        ("units", 2, 0), ("fact", 12, 4), ("statement", 21, 0), ("candidate", 18, 6), ("item", 18, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("said", [{}, {"state": "waiting"}, {"count": 0}])
def test_what_does_not_fit_the_first_page_is_folded_and_nothing_is_empty(tmp_path, said):
    page = Page(report(tmp_path, **said))
    places = [place for place, (tag, found) in enumerate(page.tags) if found.get("class") == "fold"]
    folds = {page.tags[place][1]["id"] for place in places}
    assert [page.tags[place + 1] for place in places] == [("details", {})] * len(folds)
    assert {"steps", "losses", "recipe"} <= folds
    assert ("evidence" in folds) == ("evidence" in page.text) == ("count" not in said)
    assert {"funnel", "agreement"} <= {*page.ids} - folds
    assert page.text["agreement"].split()


def test_counts_by_source_and_type_for_candidates_and_items(tmp_path):
    build = finished()
    page = Page(report(tmp_path, build=build))

    def counts(rows):
        tf = sum(kind == "tf" for kind in rows)
        return f"{tf} {len(rows) - tf} {len(rows)}"

    candidates = counts([row.type for row in build.tables["candidates"]])
    items = counts([row.payload.type for row in build.tables["items"]])
    assert f"Total {candidates} {items}" in squeezed(page.text["holdings"])


def test_scores_of_rules_that_know_nothing(tmp_path):
    build = finished()
    claims = [row.payload for row in build.tables["items"] if row.payload.type == "tf"]
    yes = sum(claim.expected == "yes" for claim in claims) / len(claims)
    cue = sum(("不" not in claim.question) == (claim.expected == "yes") for claim in claims) / len(claims)
    text = squeezed(Page(report(tmp_path, build=build, cue_words=("不",))).text["holdings"])
    assert f"Total {yes * 100:.1f} % {(1 - yes) * 100:.1f} % {cue * 100:.1f} %" in text
    assert "Cue words: 不" in text
    assert "cue word" not in Page(report(tmp_path, build=build)).text["holdings"]


def test_words_that_never_hit_are_named(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("\n".join((*WORDS, *SILENT)), encoding="utf-8")
    text = Page(report(tmp_path, word_list=words)).text["words"]
    assert f"{len(SILENT)} words matched no row" in text
    assert all(word in text for word in SILENT)
    assert "matched no row" not in Page(report(tmp_path)).text["words"]


def test_judgements(tmp_path):
    text = squeezed(Page(report(tmp_path)).text["annotation"])
    assert "94.0 % 89.0 % – 98.0 % 0.31 0.26 – 0.35 0.93" in text
    assert "both annotators always gave the same answer" in text
    assert "On 答案唯一 , kappa is low" in text or "On 答案唯一, kappa is low" in text
    assert "at least 3 supporting paragraphs 100" in text
    assert "12 more votes" in text


def test_the_threshold_in_force_stands_out(tmp_path):
    page = Page(report(tmp_path))
    pale = [a for tag, a in page.tags if tag == "rect" and "pale" in a.get("class", "")]
    full = [a for tag, a in page.tags if tag == "rect" and "pale" not in a.get("class", "")]
    assert pale
    assert full


def test_twenty_items_are_shown_in_full(tmp_path):
    build = finished()
    text = report(tmp_path, build=build)
    page = Page(text)
    shown = [name for name in page.ids if name.startswith("item-")]
    assert len(shown) == 20
    rows = {row.id: row for row in build.tables["items"]}
    for name in shown:
        row = rows[name]
        assert row.payload.answer in page.text["examples"]
        assert f"{row.origin.file}:{row.origin.line}" in page.text["examples"]
    assert {rows[name].partition for name in shown} == {row.partition for row in rows.values()}
    assert {rows[name].payload.type for name in shown} == {"tf", "oe"}
    assert "multiple_choice@1" in text
    assert "state/true@1" in text


def test_while_votes_are_missing_candidates_are_shown_and_what_to_do(tmp_path):
    page = Page(report(tmp_path, state="waiting"))
    assert "Waiting for people" in page.text[""]
    assert "412 judgements are missing" in page.text[""]
    assert sum(name.startswith("candidate-") for name in page.ids) == 20
    assert "20 random candidates" in page.text["examples"]
    assert "nobody has judged them yet" in page.text["evidence"]


@pytest.mark.push
def test_banners(tmp_path):
    assert "Illustrative:" in Page(report(tmp_path)).text[""]
    plain = Page(report(tmp_path, illustrative=False)).text[""]
    assert "Illustrative:" not in plain
    assert "Unreviewed:" not in plain
    assert "Unreviewed:" in Page(report(tmp_path, reviewed=False)).text[""]


def test_losses_and_rows_that_a_branch_does_not_concern_are_apart(tmp_path):
    text = squeezed(Page(report(tmp_path)).text["losses"])
    dropped, aside = text.split("Not applicable", 1)
    assert "off_topic" in dropped
    assert "other_branch" not in dropped
    assert "other_branch" in aside


def test_every_chart_has_a_title_for_those_who_cannot_see_it(tmp_path):
    text = report(tmp_path)
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        assert 'role="img"' in svg
        assert re.search(r"<title>[^<]+</title>", svg)


def test_the_same_build_gives_the_same_page(tmp_path):
    assert report(tmp_path) == report(tmp_path)


@pytest.mark.push
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_models_cost_is_told_where_any_was_asked(tmp_path, language):
    assert "models" not in Page(report(tmp_path, language=language)).text
    page = Page(report(tmp_path, replace(finished(), receipts=RECEIPTS), language=language))
    told = page.text["models"]
    for part in ("glad-7b", "https://models.example/v1", "12,345", "4,567", "0.012", "2026-01-02", "own", "13,579"):
        assert part in told


def test_costs_stand_in_flow_order_and_the_prices_have_one_date(tmp_path):
    build = finished()
    assert [account.step for account in build.step_counts if account.step in {"ask", "state"}] == ["state", "ask"]
    told = Page(report(tmp_path, replace(build, receipts=(*RECEIPTS, RECEIPTS[0])))).text["models"]
    assert told.index("own") < told.index("glad-7b")
    assert told.count("2026-01-02") == 1


@pytest.mark.push
def test_what_is_not_known_of_costs_is_said(tmp_path):
    told = Page(report(tmp_path, replace(finished(), receipts=RECEIPTS))).text["models"]
    assert "the service named no plausible token counts for 4 replies" in told
    assert "3 attempts got no answer but may be billed" in told
    assert "truncated 5" in told
    told = Page(report(tmp_path, replace(finished(), receipts=(*RECEIPTS, NO_PRICE)))).text["models"]
    assert "no price known" in told
    assert told.count("0.012") == 1, "no sum is told where a price is not known"


TITLES = re.compile(r"<h[23][^>]*>(.*?)</h[23]>")


@pytest.fixture(scope="module")
def build() -> FinishedBuild:
    """Items of two classes, those of the second not judged; the last step is told twice, as two votes."""
    whole = finished(60)
    rows = [
        row.model_copy(
            update={"partition": "plain", "reviewed": True} if n % 3 else {"partition": "odd", "reviewed": False}
        )
        for n, row in enumerate(whole.tables["items"])
    ]
    *before, last = whole.step_counts
    counts = {("plain", "kept", ""): 30, ("odd", "kept", ""): 10, ("odd", "dropped", "not_accurate"): 4}
    votes = replace(last, counts=counts), replace(last, step="again", counts={("odd", "kept", ""): 10})
    return replace(whole, tables={**whole.tables, "items": Table.of(rows, Item[Claim])}, step_counts=(*before, *votes))


def page(build: FinishedBuild, folder: Path) -> str:
    spec = ReportSpec(kind="report", file="report.html", language="en", examples=5, cue_words=())
    return Report(spec).write(build, folder)[0].read_text(encoding="utf-8")


@pytest.mark.push
def test_items_count_under_their_classes(build: FinishedBuild, tmp_path: Path) -> None:
    assert set(groups_of(item_summaries(build), sources_of(build))) == {"plain", "odd"}
    assert groups_of(item_summaries(finished(60)), ["bios", "cpubmed", "medqa", "mlecqa", "none"])[-1] == "none"
    classes = [branch for branch in funnel.source_funnels(build, ["odd", "plain"]) if branch.role == "group"]
    assert [(b.source, [(s.step, s.outcomes.kept, s.outcomes.dropped) for s in b.steps]) for b in classes] == [
        ("odd", [("items", 10, 4), ("again", 10, 0)]), ("plain", [("items", 30, 0)]),
    ]  # fmt: skip
    text = page(build, tmp_path)
    assert "By class" in TITLES.findall(text)
    assert "14 → 10" in text
    holdings = text.partition('id="holdings"')[2].partition("</table>")[0]
    assert "odd</span>" in holdings
    assert "By class" not in TITLES.findall(page(finished(60), tmp_path))


def test_how_many_items_were_judged_is_told(build: FinishedBuild, tmp_path: Path) -> None:
    made = item_entries(build)
    told = f"People judged {sum(one.reviewed for one in made)} of {len(made)} items"
    assert told in page(build, tmp_path)
    spec: dict[str, Any] = {"kind": "card", "file": "README.md", "language": "en", "tags": (), "task_categories": ()}
    files = DatasetCard(DatasetCardSpec(**spec, cue_words=())).write(build, tmp_path)
    card = files[0].read_text(encoding="utf-8")
    assert [file.name for file in files if told in file.read_text(encoding="utf-8")] == ["README.md", "annotation.md"]
    assert "Nobody has judged" not in card
    assert "| odd |" in card


def test_each_vote_has_its_figures(build: FinishedBuild, tmp_path: Path) -> None:
    text = page(build, tmp_path)
    titles = TITLES.findall(text)
    assert titles.count("Agreement of annotators") == 2
    assert [title for title in titles if "<code>" in title] == ["<code>items</code>", "<code>again</code>"]


def test_an_answer_that_is_judged_is_not_called_the_right_one(build: FinishedBuild) -> None:
    row = item_entries(build)[0].row
    assert ReportEntry(row, {"question": "q", "answer": "a", "expected": "no"}).column("answer") == "item-answer"
    assert ReportEntry(row, {"answer": "a", "answer-wrong": "b", "expected": "no"}).column("answer") == "answer"
    assert ReportEntry(row, {"title": "t", "question": "q", "answer": "a"}).question == "q"
