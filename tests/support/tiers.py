"""Three tiers of tests: `quick` (no marker), `push` (in `.ci/run` besides) and `full` (before a version is cut).

The README's second command runs `quick`. `-m push` and `-m full` run the others; `-m ""` runs all.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

TESTS = Path(__file__).parents[1]
OTHERS = ("push", "full")
"""The tiers that are markers."""
_PLACES: dict[str, str] = {
    "e2e/review_app/test_load.py": "push",
    "e2e/review_app/test_tokens.py": "push",
    "e2e": "full",
    "docs/test_commands.py": "full",
    "performance": "full",
    "authoring/clone/test_clone_builds.py": "full",
    "authoring/clone/test_every_recipe_can_be_copied.py": "full",
    "evaluation/judges/test_decoder.py": "full",  # the contract suite trains one of each in the quick suite
    "evaluation/judges/test_encoder.py": "full",
    "cli/test_compare.py": "full",
    "cli/test_diff.py": "full",
    "cli/test_evaluate_commands.py": "full",
    "cli/test_finetune_commands.py": "full",
    "cli/test_judge_commands.py": "full",
    "cli/test_sweep.py": "full",
    "cli/test_tasks.py": "full",
    "publishing/test_loading_a_release.py": "full",
    "publishing/test_score.py": "full",
    "publishing/test_export.py": "push",
    "recipes/test_clinic_zu.py": "full",
    "recipes/test_guideline_zh.py": "full",
    "recipes/test_claims_en.py": "push",
    "recipes/test_exam_any.py": "full",
    "recipes/test_law_zh.py": "full",
    "recipes/test_medicine_en.py": "full",
    "recipes/test_reading_en.py": "push",
    "recipes/test_explorer_rows.py": "full",
    "recipes/test_rule_trials.py": "full",
}
"""The tier of all tests in a folder or file whose tests have no marker, by the beginning of its path."""
_TWINS = ("annotation/", "e2e/review_app/")
"""The folders whose tests run with PostgreSQL too: such a twin of a test of SQLite is in `full`."""
_SCHEMA_AND_LOCKS = tuple(f"annotation/database/test_{name}.py" for name in ("opening", "together", "overtaken"))
"""The files whose twins are in `push`: the databases differ in how they make tables, and in how they lock rows."""
_SERVER = "postgres_url"
"""The fixture that starts a PostgreSQL server."""
_NO_PARAMETERS = SimpleNamespace(params={})
_MARKED = re.compile(r"\bmark\.(push|full)\b")
_WHOLE_FILE = re.compile(r"^pytestmark = (?:\[\s*)?pytest\.mark\.(push|full)\b", re.MULTILINE)


def place(path: Path) -> str:
    """The path of a file below the folder of the tests."""
    return (path.relative_to(TESTS) if path.is_relative_to(TESTS) else path).as_posix()


def tier_of_place(path: Path) -> str:
    """The tier of the tests in a file that have no marker."""
    return next((tier for begin, tier in _PLACES.items() if place(path).startswith(begin)), "quick")


@cache
def tiers_in(path: Path) -> frozenset[str]:
    """The tiers that tests of a file may be in, told without importing it."""
    text = path.read_text(encoding="utf-8")
    if whole := _WHOLE_FILE.search(text):
        return frozenset({whole[1], *_MARKED.findall(text)})
    twins = ("full", "push") if place(path).startswith(_TWINS) else ("push",) if _SERVER in text else ()
    return frozenset({tier_of_place(path), *_MARKED.findall(text), *twins})


def chosen_tiers(expression: str) -> frozenset[str]:
    """The tiers that a run of this marker expression may include: all of them, if it is not one of ours."""
    known = {"not push and not full": {"quick"}, "push": {"push"}, "full": {"full"}, "not full": {"quick", "push"}}
    return frozenset(known.get(expression, {"quick", *OTHERS}))


def mark(item: pytest.Item) -> None:
    """Give a test without a marker that of its place, or what it needs a PostgreSQL server for."""
    if any(item.get_closest_marker(tier) for tier in OTHERS):
        return
    tier = tier_of_place(item.path)
    if _is_twin(item):
        tier = "push" if place(item.path).startswith(_SCHEMA_AND_LOCKS) else "full"
    elif tier == "quick" and _SERVER in item.fixturenames:  # pyright: ignore[reportAttributeAccessIssue]
        tier = "push"
    if tier in OTHERS:
        item.add_marker(tier)


def _is_twin(item: pytest.Item) -> bool:
    return "postgresql" in getattr(item, "callspec", _NO_PARAMETERS).params.values()
