"""The pages of claims: leafed through without scripts, on a phone and a desk, and read by people who see otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from once import Once

import benchbuilder as bb
from browser.measures import too_wide
from browser.sites import DESK, PHONE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RECIPE = ["annotation=none"]


@pytest.fixture(scope="module")
def results(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of 20 answers that say the right, the wrong and both statements, on three pages."""
    folder = once.copied(("recipe=medicine_en annotation=none",), tmp_path_factory.mktemp("claims_page"))
    built = folder / "builds/medicine_en"
    items = [json.loads(line) for line in (built / "items.jsonl").read_text("utf-8").splitlines()]
    chosen = [item for item in items if item["type"] == "oe"][:20]
    with (folder / "answers.jsonl").open("w", encoding="utf-8") as stream:
        for at, item in enumerate(chosen):
            said = [item["answer"], item["answer-wrong"], f"{item['answer']} {item['answer-wrong']}"][at % 3]
            stream.write(json.dumps({"id": item["id"], "model": "lab", "answer": said}) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        words = [
            "evaluation=[en_claims,en_answer_claims]",
            "paths.model_answers=answers.jsonl",
            "~evaluation.baselines",
        ]
        bb.evaluate("medicine_en", [*RECIPE, *words, "evaluation.outputs.claims.per_page=8"])
    return built / "evaluation"


@pytest.mark.full
def test_pages_are_leafed_through_without_scripts(chromium: Browser, results: Path) -> None:
    context = chromium.new_context(java_script_enabled=False, **DESK)
    page = context.new_page()
    page.goto((results / "claims.zh.html").as_uri())
    counts = [page.locator("article.item").count()]
    for number in ("2", "3"):
        page.locator("nav.pager").first.get_by_role("link", name=number).click()
        assert page.url.endswith(f"claims_pages/{number}.zh.html")
        counts.append(page.locator("article.item").count())
    assert counts == [8, 8, 4]
    page.locator("nav.pager").first.get_by_role("link", name="1").click()
    assert page.url.endswith("claims.zh.html")
    context.close()


@pytest.mark.full
def test_pages_have_no_serious_fault_and_fit_every_screen(chromium: Browser, results: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    faults: list[str] = []
    for options in (DESK, {**DESK, "color_scheme": "dark"}, PHONE):
        context = chromium.new_context(**options)
        page = context.new_page()
        for name in ("claims.html", "claims_pages/2.html"):
            page.goto((results / name).as_uri())
            found = axe.Axe().run(page).response["violations"]
            faults += [f"{name} {one['id']}" for one in found if one["impact"] in ("serious", "critical")]
            faults += [f"{name} {wide}" for wide in too_wide(page)]
        context.close()
    assert faults == []
