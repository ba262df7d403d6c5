"""Three tiers of tests: `quick` (no marker), `push` (in `.ci/run` besides) and `full` (before a version is cut).

The README's second command runs `quick`. `-m push` and `-m full` run the others; `-m ""` runs all. A run with
`--since COMMIT` counts tests of `full` as `push` if their own file has changed since, or one of a part that they guard.
"""

from __future__ import annotations

import re
import subprocess
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

TESTS = Path(__file__).parents[1]
QUICK, PUSH, FULL = "quick", "push", "full"
OTHERS = (PUSH, FULL)
"""The tiers that are markers."""
QUARANTINE = TESTS / "quarantine.yaml"
PLACES: dict[str, str] = {
    "e2e/review_app/test_load.py": "push",
    "e2e/review_app/test_tokens.py": "push",
    "e2e": "full",
    "performance": "full",
    "authoring/clone/test_clone_builds.py": "full",
    "authoring/clone/test_every_recipe_can_be_copied.py": "full",
    "evaluation/judges/test_decoder.py": "full",  # the contract suite trains one of each in the quick suite
    "evaluation/judges/test_encoder.py": "full",
    "config/test_named_options.py": "full",  # the quick suite composes every option of each group alone
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
    "recipes/test_guideline_en.py": "full",
    "recipes/test_claims_en.py": "push",
    "recipes/test_exam_any.py": "full",
    "recipes/test_law_zh.py": "full",
    "recipes/test_medicine_en.py": "full",
    "recipes/test_reading_en.py": "push",
    "recipes/test_medicine_parallel.py": "push",
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
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **{
        f"recipe {name}": ((f"recipes/recipe/{name}.yaml", f"recipes/recipe/{name}/"), (f"recipes/test_{name}.py",))
        for name in (begin.removeprefix("recipes/test_").removesuffix(".py") for begin in PLACES)
        if (TESTS.parent / "recipes" / "recipe" / f"{name}.yaml").exists()
    },
    "baselines": (("benchbuilder/evaluation/baselines/",), ("testing/contracts/test_evaluation_kinds.py",)),
    "neural kinds": (
        ("benchbuilder/evaluation/judges/", "benchbuilder/models/providers/", "benchbuilder/retrieval/"),
        (
            "evaluation/judges/test_decoder.py",
            "evaluation/judges/test_encoder.py",
            "models/providers/",
            "retrieval/",
            "testing/contracts/",
        ),
    ),
    "what is spent": (
        ("benchbuilder/models/gateway/", "benchbuilder/cli/"),
        ("cli/test_costs.py", "cli/test_model_commands.py", "e2e/acceptance"),
    ),
    "authoring": (("benchbuilder/authoring/",), ("authoring/",)),
    "links": (
        ("benchbuilder/core/atomic_write.py", "benchbuilder/core/special_files.py", "benchbuilder/cli/session.py"),
        ("cli/test_links.py",),
    ),
    "exports to harnesses": (("benchbuilder/publishing/harnesses/",), ("publishing/test_export_runs.py",)),
    "explorer": (("benchbuilder/explorer/", "benchbuilder/web/"), ("explorer/", "e2e/browser")),
    "Ray's plugin": (("plugins/benchbuilder-ray/",), ("e2e/plugins/test_ray_plugin.py",)),
    "CMHE's plugin": (("plugins/benchbuilder-cmhe/",), ("e2e/plugins/test_cmhe_plugin.py",)),
    "extras": (("benchbuilder/core/extras.py",), ("cli/test_base_install.py",)),
    "packaging": (("pyproject.toml", ".gitattributes"), ("e2e/packaging",)),
    "pages": (("benchbuilder/web/", "benchbuilder/annotation/app/"), ("e2e/browser",)),
}
"""Parts of the program: the beginnings of the paths of their files, and of the paths of their tests in `full`."""
_MARKED = re.compile(r"\bmark\.(push|full)\b")
_WHOLE_FILE = re.compile(r"^pytestmark = (?:\[\s*)?pytest\.mark\.(push|full)\b", re.MULTILINE)


@cache
def place(path: Path) -> str:
    """The path of a file below the folder of the tests."""
    return (path.relative_to(TESTS) if path.is_relative_to(TESTS) else path).as_posix()


@cache
def tier_of_place(path: Path) -> str:
    """The tier of the tests in a file that have no marker."""
    return next((tier for begin, tier in PLACES.items() if place(path).startswith(begin)), "quick")


@cache
def tiers_in(path: Path) -> frozenset[str]:
    """The tiers that tests of a file may be in, told without importing it."""
    text = path.read_text(encoding="utf-8")
    marked = frozenset(_MARKED.findall(text))
    if whole := _WHOLE_FILE.search(text):
        return marked | {whole[1]}
    twins = {PUSH, FULL} if place(path).startswith(_TWINS) else {PUSH} if _SERVER in text else set[str]()
    return marked | {tier_of_place(path)} | twins


def chosen_tiers(expression: str) -> frozenset[str]:
    """The tiers that a run of this marker expression may include: all of them, if it is not one of ours."""
    known = {"not push and not full": {QUICK}, PUSH: {PUSH}, FULL: {FULL}, "not full": {QUICK, PUSH}}
    return frozenset(known.get(expression, {QUICK, *OTHERS}))


def tier_of(item: pytest.Item) -> str:
    """The tier of a test that was marked."""
    return next((tier for tier in OTHERS if item.get_closest_marker(tier)), QUICK)


@cache
def changed_files(since: str) -> list[str]:
    """The paths of the files that changed since a commit; none without one."""
    if not since:
        return []
    words = ["git", "-C", str(TESTS.parent), "diff", "--name-only", since, "--"]
    return subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=True).stdout.splitlines()


@cache
def changed_parts(since: str) -> dict[str, str]:
    """Parts of the program that changed since a commit, each with the first file of it that did."""
    files = changed_files(since)
    found = {part: next((file for file in files if file.startswith(paths)), "") for part, (paths, _) in PARTS.items()}
    return {part: file for part, file in found.items() if file}


def is_due(path: Path, since: str) -> bool:
    """Whether this file, or a part that its tests in `full` guard, has changed."""
    guarded = any(place(path).startswith(PARTS[part][1]) for part in changed_parts(since))
    return guarded or f"tests/{place(path)}" in changed_files(since)


def mark(item: pytest.Item, since: str = "") -> None:
    """Give a test its tier: that of its marker, of its database server or of its place."""
    if _is_twin(item):
        dear = tier_of(item) == FULL
        item.own_markers = [marker for marker in item.own_markers if marker.name not in OTHERS]
        item.add_marker(PUSH if not dear and place(item.path).startswith(_SCHEMA_AND_LOCKS) else FULL)
    elif tier_of(item) == QUICK:
        tier = tier_of_place(item.path)
        if tier == QUICK and _SERVER in item.fixturenames:  # pyright: ignore[reportAttributeAccessIssue]
            tier = PUSH
        if tier in OTHERS:
            item.add_marker(tier)
    if tier_of(item) == FULL and (is_due(item.path, since) or _page(item) in changed_files(since)):
        item.add_marker(PUSH)
    if reason := quarantined().get(item.nodeid):
        item.add_marker(pytest.mark.xfail(reason=f"in quarantine: {reason}", strict=False))


def _page(item: pytest.Item) -> str:
    """The page of the documentation that the test is about, if any."""
    page = getattr(item, "callspec", _NO_PARAMETERS).params.get("page")
    return page.relative_to(TESTS.parent).as_posix() if isinstance(page, Path) else ""


def _is_twin(item: pytest.Item) -> bool:
    given = getattr(item, "callspec", _NO_PARAMETERS).params.values()
    return any(isinstance(value, str) and value == "postgresql" for value in given)


@cache
def _quarantine() -> list[dict[str, object]]:
    return yaml.safe_load(QUARANTINE.read_text(encoding="utf-8")) or []


def quarantined() -> dict[str, str]:
    """Tests that may fail for now, each with the reason."""
    return {str(entry["test"]): str(entry["reason"]) for entry in _quarantine()}


def overdue(today: date, days: int = 30) -> list[str]:
    """Tests that have been in quarantine for more than so many days."""
    return [str(entry["test"]) for entry in _quarantine() if today - _day(entry["since"]) > timedelta(days)]


def _day(value: object) -> date:
    return value if isinstance(value, date) else date.fromisoformat(str(value))
