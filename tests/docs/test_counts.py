"""What pages count, and the paths that they name, agree with the project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_blocks import ROOT, pages

from benchbuilder.publishing.release.scorecard.scorecard import all_criteria

NUMBERS = {"five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "fifteen": 15, "sixteen": 16,
           "seventeen": 17, "eighteen": 18}  # fmt: skip
README = (ROOT / "README.md").read_text("utf-8")
RECIPES = {path.stem for path in (ROOT / "recipes" / "recipe").glob("*.yaml")}
OF_TODAY = [page for page in pages() if page.name != "CHANGELOG.md" and "decisions" not in page.parts]
"""Pages that tell of no former files."""
_NAMED = re.compile(r"`((?:tests|performance)/[\w./-]*\w)/?`")


def counted(what: str, text: str) -> int:
    """The number before `what`, in words or digits."""
    found = re.search(rf"(\w+) {what}", text)
    assert found, what
    word = found[1].lower()
    return int(word) if word.isdigit() else NUMBERS[word]


def table_after(heading: str, page: str) -> list[str]:
    """The first cells of the first table after a heading."""
    lines = page.partition(heading)[2].lstrip("\n").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows = lines[begin + 2 :]
    end = next((number for number, line in enumerate(rows) if not line.startswith("|")), len(rows))
    return [re.sub(r"\W*(\w+).*", r"\1", row.split("|")[1]) for row in rows[:end]]


def test_the_readme_lists_every_recipe_and_counts_them() -> None:
    assert counted("recipes come with the program", README) == len(RECIPES)
    assert set(table_after("## Another field, another language, another task", README)) == RECIPES


def test_the_gallery_lists_every_recipe() -> None:
    gallery = (ROOT / "docs" / "reference" / "recipes" / "README.md").read_text("utf-8")
    assert set(table_after("## The samples", gallery)) == RECIPES


def test_the_rooms_are_counted() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rooms = len(list((ROOT / "benchbuilder").glob("*/__init__.py")))
    assert counted("rooms\n", contributing) == counted("packages under", contributing) == rooms


def test_the_criteria_of_the_scorecard_are_counted() -> None:
    page = (ROOT / "docs" / "how-to" / "publish" / "fill-the-scorecard.md").read_text("utf-8")
    assert counted("criteria", page) == len(all_criteria())


def test_pages_agree_on_the_weight_of_the_base_install() -> None:
    page = (ROOT / "docs" / "reference" / "installation.md").read_text("utf-8")
    assert counted("MB, measured on", page) == counted("MB,\nand its environment", README)
    assert counted("MB. Later versions", page) == counted("MB with pip", README)


@pytest.mark.parametrize("page", OF_TODAY, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_files_of_the_project_that_a_page_names_are_there(page: Path) -> None:
    named = set(_NAMED.findall(page.read_text("utf-8")))
    mine = page.parent if page.name == "README.md" else ROOT
    assert [name for name in sorted(named) if not (ROOT / name).exists() and not (mine / name).exists()] == []
