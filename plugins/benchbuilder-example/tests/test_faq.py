"""The source `faq`, on a page as people write it."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchbuilder_example.faq import Faq, FaqSpec

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.testing import check_source

PAGE = """# Planets

All about planets.

## Which planet is red?

Mars. Its soil holds rust.

### How much rust?

A lot.

## Which one is the largest?
## Which planet is red?

Mars. Its soil holds rust.

### How much rust?

A lot.
##
Nobody asked.
"""


def source(path: Path, **more: object) -> Faq:
    return Faq(FaqSpec.model_validate({"kind": "faq", "path": str(path), **more}), "faq", "en")


def test_it_keeps_the_contract(tmp_path: Path) -> None:
    (tmp_path / "planets.md").write_text(PAGE, encoding="utf-8")
    (tmp_path / "moons.md").write_bytes(b"## Has Venus a moon?\nNo.\n## \xff?\nYes.\n")
    units = check_source(source(tmp_path))
    kept = {
        (row.document, row.title): row.text for row in (u.outcome.row for u in units if isinstance(u.outcome, Kept))
    }
    assert kept == {
        ("moons", "Has Venus a moon?"): "No.",
        ("planets", "Which planet is red?"): "Mars. Its soil holds rust.\n\n### How much rust?\n\nA lot.",
    }
    lost = [(unit.line, unit.outcome.reason) for unit in units if isinstance(unit.outcome, Dropped)]
    assert lost == [(3, "undecodable"), (13, "no_answer"), (14, "duplicate"), (21, "missing_field")]


def test_questions_of_another_level(tmp_path: Path) -> None:
    (tmp_path / "planets.md").write_text(PAGE, encoding="utf-8")
    (unit, _) = check_source(source(tmp_path / "planets.md", level=3))
    assert unit.outcome.row.text == "A lot."


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"sources\.faq\.path"):
        source(tmp_path).check()
