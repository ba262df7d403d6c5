"""Facts that are due, items on rows that changed, the sheet for experts, and what a release says of checks."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

import benchbuilder as bb
from benchbuilder.cli.dispatch import main
from benchbuilder.config import LoadedRecipe, load_recipe
from benchbuilder.core import DataError, RecipeError
from benchbuilder.pipeline import CheckedFact, ItemDays, append_checks, read_checks
from benchbuilder.publishing import ReleaseRequest, days_of_items, due_sheet, make_release, read_due_sheet
from benchbuilder.publishing.release.item_checks import CHECKED_FILE
from benchbuilder.sources.fact_days import FactDays

pytestmark = pytest.mark.push

CLAIMS = [
    {"claim": "Scurvy comes from a lack of vitamin C.", "label": "SUPPORTS", "evidence": "Vitamin C prevents scurvy.",
     "checked": "2025-01-01"},
    {"claim": "Scurvy comes from a lack of vitamin D.", "label": "REFUTES", "evidence": "Vitamin C prevents scurvy.",
     "checked": ""},
    {"claim": "Rickets comes from too little vitamin D.", "label": "SUPPORTS", "evidence": "Vitamin D stops rickets."},
    {"claim": "Rickets comes from a lack of vitamin C.", "label": "REFUTES", "evidence": "Vitamin D prevents rickets.",
     "checked": "2025-03-01"},
]  # fmt: skip
RECIPE = """# @package _global_
defaults: [claims_en, override /annotation: none, override /source: [facts_en], _self_]
name: facts
paths: {facts_en: claims.jsonl, errata: errata.jsonl}
sources:
  facts_en: {updating: {checked_on: "2024-01-01", recheck_after: 365, columns: {checked_on: checked}}}
release: {names: none, checks: checks.jsonl}
"""


class Home:
    """A folder with the recipe `facts` over `CLAIMS`, built once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recipes = folder / "recipes" / "recipe"

    def write(self, claims: list[Mapping[str, str]]) -> None:
        lines = "".join(json.dumps(claim) + "\n" for claim in claims)
        (self.recipes / "claims.jsonl").write_text(lines, encoding="utf-8")

    def loaded(self, *more: str) -> LoadedRecipe:
        return load_recipe(["recipe=facts", *more])

    def items(self) -> dict[str, ItemDays]:
        """The items by their claims."""
        return {one.text.split("“")[1].split("”")[0]: one for one in days_of_items(self.loaded(), self.folder)}


def _no_auditor(_: object) -> None:
    """The audit of these few items would say nothing."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = Home(tmp_path_factory.mktemp("facts"))
    home.recipes.mkdir(parents=True)
    home.write([*CLAIMS])
    (home.recipes / "facts.yaml").write_text(RECIPE, encoding="utf-8")
    for log in ("checks.jsonl", "errata.jsonl"):
        (home.recipes / log).touch()
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(home.folder)
        patched.setattr("benchbuilder.api.building.build_auditor", _no_auditor)
        bb.build("facts")
    return home.folder


@pytest.fixture
def home(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    shutil.copytree(built, tmp_path / "home")
    monkeypatch.chdir(tmp_path / "home")
    return Home(tmp_path / "home")


def test_a_column_counts_before_the_recipe_and_a_later_check_before_both(home: Home) -> None:
    items = home.items()
    first, second, third, fourth = (items[claim["claim"]] for claim in CLAIMS)
    assert first.days == FactDays("2025-01-01", "2026-01-01", "column")
    assert second.days == third.days == FactDays("2024-01-01", "2024-12-31", "recipe")
    older = CheckedFact(fact=fourth.fact, checked_on="2025-02-01")
    append_checks(home.recipes / "checks.jsonl", [CheckedFact(fact=first.fact, checked_on="2026-02-01"), older])
    items = home.items()
    assert items[CLAIMS[0]["claim"]].days == FactDays("2026-02-01", "2027-02-01", "expert")
    assert items[CLAIMS[3]["claim"]].days == FactDays("2025-03-01", "2026-03-01", "column")
    assert [one.is_due("2026-01-31") for one in items.values()] == [False, True, True, False]


def test_a_cell_that_is_no_day_is_named(home: Home) -> None:
    home.write([CLAIMS[0] | {"checked": "soon"}, *CLAIMS[1:]])
    with pytest.raises(DataError, match="hold no day") as caught:
        home.items()
    assert "claims.jsonl:1: checked: 'soon' is no day" in str(caught.value)


def test_items_on_a_changed_row_are_due_and_those_on_a_moved_one_are_not(home: Home) -> None:
    changed = CLAIMS[0] | {"claim": "Scurvy comes from too little vitamin C."}
    home.write([*CLAIMS[1:3], changed, CLAIMS[3] | {"checked": "2025-05-01"}])
    items = home.items()
    assert {claim: one.changed for claim, one in items.items() if one.changed} == {
        CLAIMS[0]["claim"]: ("claims.jsonl:1",)
    }
    assert items[CLAIMS[1]["claim"]].unit == "claims.jsonl:1"
    assert items[CLAIMS[3]["claim"]].days.checked_on == "2025-05-01"


def fill(home: Home, answers: Mapping[str, tuple[str, str]]) -> Path:
    """The sheet with answers and texts, by claims."""
    file = home.folder / "due.csv"
    items = home.items()
    file.write_bytes(due_sheet(list(items.values())))
    with file.open(encoding="utf-8-sig", newline="") as sheet:
        rows = list(csv.DictReader(sheet))
    for claim, (said, text) in answers.items():
        row = next(row for row in rows if row["item"] == items[claim].item)
        row |= {"still_right": said, "who": "Chen", "text": text}
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return file


def test_a_sheet_is_taken_over_into_both_logs(home: Home) -> None:
    file = fill(home, {CLAIMS[0]["claim"]: ("Yes", ""), CLAIMS[1]["claim"]: ("no", "a newer guideline")})
    read = read_due_sheet(home.loaded(), home.folder, file, date(2026, 2, 1))
    fact = home.items()[CLAIMS[0]["claim"]].fact
    assert read_checks(home.recipes / "checks.jsonl") == {
        fact: CheckedFact(fact=fact, checked_on="2026-02-01", by="Chen")
    }
    assert read.errata is not None
    assert [(one.kind, one.text, one.who) for one in read.errata.added] == [("outdated", "a newer guideline", "Chen")]
    assert read.left == 2


def test_what_is_due_is_told_in_python_too(home: Home) -> None:
    found = bb.due("facts", on=date(2026, 1, 31))
    assert len(found.items) == 4
    assert [one.days.recheck_by for one in found.due] == ["2024-12-31", "2024-12-31", "2026-01-01"]
    sheet = found.write_sheet(home.folder / "due.csv")
    rows = sheet.read_text(encoding="utf-8-sig").splitlines()
    assert len(rows) == 4
    said = [row.removesuffix(",,,") + ",yes,Chen," if row.endswith(",,,") else row for row in rows]
    sheet.write_text("\n".join(said), encoding="utf-8")
    assert len(found.read_sheet(sheet).checks) == 3
    assert bb.due("facts", on=date(2026, 1, 31)).due == ()


def test_a_sheet_with_a_fault_changes_no_log(home: Home) -> None:
    faults = {CLAIMS[0]["claim"]: ("yes", ""), CLAIMS[1]["claim"]: ("no", ""), CLAIMS[2]["claim"]: ("maybe", "")}
    file = fill(home, faults)
    with pytest.raises(DataError, match="none was taken over: 2 problems"):
        read_due_sheet(home.loaded(), home.folder, file)
    assert not (home.recipes / "checks.jsonl").read_bytes()
    with pytest.raises(RecipeError, match="names no log of checks"):
        read_due_sheet(home.loaded("release.checks=null"), home.folder, file)


def test_a_changed_row_cannot_be_checked_before_it_is_built(home: Home) -> None:
    file = fill(home, {CLAIMS[0]["claim"]: ("yes", "")})
    home.write([CLAIMS[0] | {"claim": "Scurvy comes from too little vitamin C."}, *CLAIMS[1:]])
    with pytest.raises(DataError, match="its source changed"):
        read_due_sheet(home.loaded(), home.folder, file)


def test_a_release_says_what_was_checked_again(home: Home) -> None:
    def release(version: str, on: date, *more: str) -> Path:
        request = ReleaseRequest(home.loaded(*more), version, home.folder, despite="a trial", on=on)
        return make_release(request).folder

    first = release("1.0.0", date(2026, 1, 15))
    assert "4 items with a day of the last check, 3 items due again" in (first / "CHANGES.md").read_text("utf-8")
    fact = home.items()[CLAIMS[0]["claim"]]
    append_checks(home.recipes / "checks.jsonl", [CheckedFact(fact=fact.fact, checked_on="2026-02-01", by="Chen")])
    second = release("1.0.1", date(2026, 2, 2))
    assert "Checked again since version 1.0.0: 1 item." in (second / "CHANGES.md").read_text("utf-8")
    table = (second / CHECKED_FILE).read_text("utf-8")
    assert f"{fact.item}\t2026-02-01\t2027-02-01\tyes\t" in table
    assert "Chen" not in table
    silent = release("1.0.2", date(2026, 2, 3), "release.checks=null", "sources.facts_en.updating=null")
    assert not (silent / CHECKED_FILE).exists()


def test_the_command_lists_facts_and_writes_the_sheet(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["due", "recipe=facts", "--on", "2026-01-31", "--output", "due.csv"]) == 0
    printed = capsys.readouterr().out
    assert "3 items of 4 due on 2026-01-31, on 3 facts: 0 on rows that changed, 3 by their day" in printed
    assert len((home.folder / "due.csv").read_text("utf-8-sig").splitlines()) == 4
    assert main(["due", "recipe=facts", "--on", "tomorrow"]) == 2
