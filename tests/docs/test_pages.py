"""The reference is fresh, links lead somewhere, and records of decisions are short and numbered."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import ROOT, pages

from benchbuilder.cli.commands import COMMANDS
from benchbuilder.config.load import load_recipe

_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


@pytest.mark.push
def test_the_reference_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"run `python docs/generate.py`: {done.stdout}{done.stderr}"


def _anchors(page: Path) -> set[str]:
    """Anchors of headings, as GitHub makes them."""
    found: set[str] = set()
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            plain = line.lstrip("#").strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    broken: list[str] = []
    for match in _LINK.finditer(text):
        target, _, anchor = match["target"].partition("#")
        if "://" in target:
            continue
        at = (page.parent / target).resolve() if target else page
        if not at.exists() or (anchor and at.suffix == ".md" and anchor not in _anchors(at)):
            broken.append(match["target"])
    assert broken == []


def test_every_page_is_reached_from_the_index() -> None:
    docs = ROOT / "docs"
    index = (docs / "README.md").read_text(encoding="utf-8")
    linked = {(docs / match["target"]).resolve() for match in _LINK.finditer(index)}
    expected = {page.resolve() for page in docs.rglob("*.md") if page.parent.name not in ("docs", "decisions")}
    assert expected - linked == set()


def test_decisions_are_numbered_and_short() -> None:
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [record.name[:4] for record in records] == [f"{number:04}" for number in range(1, len(records) + 1)]
    for record in records:
        text = record.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 35, record.name
        headings = [line for line in text.splitlines() if line.startswith("## ")]
        assert headings == ["## Context", "## Decision", "## What was given up", "## How we would notice"], record.name


def test_commands_named_in_the_docs_exist() -> None:
    """A word behind `benchbuild` in code is a command, an option or an override."""
    named = {
        match[1]
        for page in pages()
        for code in _CODE.findall(page.read_text(encoding="utf-8"))
        for match in re.finditer(r"\bbenchbuild ([a-z][a-z_-]*)(?![\w=.])", code)
    }
    assert named - set(COMMANDS) == set()


@cache
def _resolved(*overrides: str) -> dict[str, Any]:
    return load_recipe(list(overrides)).recipe.model_dump(mode="json", by_alias=True, serialize_as_any=True)


def _lacking(keys: list[str], overrides: list[str]) -> list[str]:
    """Those of dotted `keys` that the resolved recipe does not have."""
    data = _resolved(*overrides)
    lacking: list[str] = []
    for key in keys:
        node: Any = data
        for part in key.rstrip(".").split("."):
            if not isinstance(node, dict) or part not in node:
                lacking.append(key)
                break
            node = node[part]
    return lacking


_KEYS = re.compile(r"`((?:steps|annotation|reviews|retriever|sources|outputs|card)\.[a-z_.]+)")


@pytest.mark.push
def test_keys_named_in_the_how_tos_exist() -> None:
    for page in sorted((ROOT / "docs" / "how-to").rglob("*.md")):
        keys = _KEYS.findall(page.read_text(encoding="utf-8"))
        real = ["source=[medqa,books,wikipedia_zh]", "paths.books=b", "paths.wikipedia=w"]
        for overrides in ([], ["annotation=app"], real):
            keys = _lacking(keys, ["recipe=care_mi", *overrides])
        for recipe in ("guideline_zh", "guideline_en", "claims_en", "reading_en"):
            keys = _lacking(keys, [f"recipe={recipe}"])
        keys = _lacking(keys, ["recipe=claims_en", "flow=procedures"])
        assert keys == [], page.name


@pytest.mark.push
def test_differences_from_the_paper_name_keys_and_tests_that_exist() -> None:
    text = (ROOT / "docs" / "explanation" / "what-differs-from-the-paper.md").read_text(encoding="utf-8")
    keys = [key for key in _KEYS.findall(text) if not key.startswith("steps.unmark")]
    assert len(keys) > 20
    assert _lacking(keys, ["recipe=care_mi"]) == []
    ours = {"steps.swap_triple", "steps.ask_oe_triple", "steps.ask_set_triple"}
    assert set(_lacking(["steps.unmark", *keys], ["recipe=care_mi", "variant=reference"])) == ours
    named = _tests_named("what-differs-from-the-paper.md")
    assert len(named) > 20
    assert named - _tests_defined() == set()


def test_the_table_of_faults_names_tests_that_exist() -> None:
    named = _tests_named("faults-that-were-tried.md")
    assert len(named) > 10
    assert named - _tests_defined() == set()


def _tests_named(page: str) -> set[str]:
    return set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "explanation" / page).read_text(encoding="utf-8")))


def _tests_defined() -> set[str]:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    return {name for source in sources for name in re.findall(r"^def (test_\w+)", source, re.MULTILINE)}
