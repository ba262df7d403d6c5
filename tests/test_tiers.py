"""The tiers hold what they promise: limits, quarantine, changed parts and the last whole run."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from costs import CERTAIN, LIMIT_S, CostsOfRun
from last_run import FILE, ROOT, Recorder, guarded_since, keep_guarded, last_run
from patience import SHORTEST_S, patience, slowness
from tiers import (
    PARTS,
    PLACES,
    QUARANTINE,
    TESTS,
    changed_parts,
    chosen_tiers,
    is_due,
    overdue,
    quarantined,
    tier_of_place,
    tiers_in,
)

LITERAL = re.compile(r"(?:(?<![.\w])timeout=|\.(?:wait|join)\(|monotonic\(\) (?:\+|- \w+ <) )([1-9][\d_]*)")
"""Limits of time that are written out; a protocol's own settings have other names (`timeout_s`)."""


def report(
    name: str, *, tier: str = "quick", cost: float = 0.0, when: str = "teardown", outcome: str = "passed"
) -> Any:
    properties = [("cost", (tier, cost, cost))] if when == "teardown" else []
    return SimpleNamespace(nodeid=name, when=when, outcome=outcome, user_properties=properties)


def test_a_test_beyond_the_limit_is_named_and_one_far_beyond_it_fails_the_run() -> None:
    run = CostsOfRun()
    run.pytest_runtest_logreport(report("cheap", cost=LIMIT_S))
    run.pytest_runtest_logreport(report("not quick", tier="push", cost=9 * LIMIT_S))
    assert run.dear == []
    run.pytest_runtest_logreport(report("dear", cost=1.5 * LIMIT_S))
    assert [name for _, name in run.dear] == ["dear"]
    assert not run.too_dear
    run.pytest_runtest_logreport(report("dearest", cost=2 * CERTAIN * LIMIT_S))
    assert run.too_dear
    assert run.tests == {"quick": 3, "push": 1}


def test_the_recorder_counts_a_test_once_by_its_worst_phase(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "result.json")
    for outcomes in (
        ("a", "passed", "passed", "passed"),
        ("b", "passed", "failed", "passed"),
        ("c", "skipped", "passed"),
    ):
        name, *rest = outcomes
        for when, outcome in zip(
            ("setup", "call", "teardown") if len(rest) == 3 else ("setup", "teardown"), rest, strict=True
        ):
            recorder.pytest_runtest_logreport(report(name, when=when, outcome=outcome, tier="push"))
    assert recorder.counts["push"] == {"passed": 1, "failed": 1, "skipped": 1}
    assert recorder.failed == ["b"]


def test_the_last_whole_run_belongs_to_a_commit_of_this_history_and_its_page_shows_it() -> None:
    page = (ROOT / "docs" / "reference" / "tests.md").read_text("utf-8")
    if not FILE.exists():
        assert "None is recorded." in page
        return
    run = last_run()
    assert set(run) - {"guarded"} == {"date", "commit", "minutes", "counts", "failed"}
    assert f"{date.fromisoformat(run['date'])}, commit `{run['commit'][:8]}`" in page
    assert sum(counts.get("failed", 0) for counts in run["counts"].values()) == len(run["failed"])
    assert all(f"`{name}`" in page for name in run["failed"])
    assert sum(run["counts"]["full"].values()) > 0
    if (ROOT / ".git").exists():
        for older, newer in ((run["commit"], guarded_since()), (guarded_since(), "HEAD")):
            words = ["git", "-C", str(ROOT), "merge-base", "--is-ancestor", older, newer]
            assert subprocess.run(words, check=False).returncode == 0


def test_a_green_run_moves_the_commit_from_which_changes_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("last_run.FILE", tmp_path / "full.json")
    whole = {"date": "2026-01-02", "commit": "a" * 40, "failed": []}
    (tmp_path / "full.json").write_text(json.dumps(whole))
    monkeypatch.setattr("last_run._git", lambda *_: "b" * 40)
    assert guarded_since() == "a" * 40
    keep_guarded()
    assert guarded_since() == "b" * 40
    assert last_run() | {"guarded": None} == whole | {"guarded": None}


def test_few_tests_are_in_quarantine_and_none_for_long() -> None:
    assert len(quarantined()) <= 5
    assert overdue(date.today()) == []
    for entry in yaml.safe_load(QUARANTINE.read_text("utf-8")):
        assert set(entry) == {"test", "reason", "owner", "since"}
        assert (ROOT / entry["test"].partition("::")[0]).is_file()


def test_a_file_is_imported_by_the_tiers_of_its_tests(tmp_path: Path) -> None:
    quick, mixed, whole = (tmp_path / f"test_{name}.py" for name in ("quick", "mixed", "whole"))
    quick.write_text("def test_a(): ...")
    mixed.write_text("@pytest.mark.push\ndef test_a(): ...")
    whole.write_text("import pytest\n\npytestmark = [\n    pytest.mark.full,\n]\n")
    assert tiers_in(quick) == {"quick"}
    assert tiers_in(mixed) == {"quick", "push"}
    assert tiers_in(whole) == {"full"}
    assert tier_of_place(TESTS / "e2e" / "faults" / "test_fault_matrix.py") != "quick"
    assert chosen_tiers("not push and not full") == {"quick"}
    assert chosen_tiers("anything else") == {"quick", "push", "full"}


def test_parts_of_the_program_that_changed_are_named_with_a_file() -> None:
    assert changed_parts("") == {}
    assert [path for paths, _ in PARTS.values() for path in paths if not (ROOT / path).exists()] == []
    assert [path for path in (*PLACES, *(path for _, paths in PARTS.values() for path in paths))
            if not (TESTS / path).exists()] == []  # fmt: skip


def test_a_part_that_changed_since_a_commit_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = ["README.md", "pyproject.toml", "tests/cli/test_sweep.py"]
    monkeypatch.setattr("tiers.changed_files", lambda since: changed if since else [])
    changed_parts.cache_clear()
    try:
        assert changed_parts("a commit") == {"packaging": "pyproject.toml"}
        assert is_due(TESTS / "e2e" / "packaging" / "test_wheel.py", "a commit")
        assert is_due(TESTS / "cli" / "test_sweep.py", "a commit")
        assert not is_due(TESTS / "e2e" / "plugins" / "test_ray_plugin.py", "a commit")
    finally:
        changed_parts.cache_clear()


def test_patience_is_long_and_grows_with_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHBUILDER_TESTS_PATIENCE", "2.5")
    assert patience(1) == 2.5 * SHORTEST_S
    assert patience(600) == 1500
    ticks = iter(range(100))
    assert slowness(lambda: float(next(ticks))) > 1  # a second a look: slower than any machine


def test_no_test_waits_for_less_than_two_minutes() -> None:
    short = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in [*TESTS.rglob("*.py"), *(ROOT / "plugins").glob("*/tests/**/*.py")]
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for found in LITERAL.findall(line)
        if float(found.replace("_", "")) < SHORTEST_S and "# not a limit" not in line
    ]
    assert short == []


def test_the_file_of_the_last_run_is_where_the_command_puts_it() -> None:
    command = (TESTS / "full").read_text("utf-8")
    assert f"--record {FILE.relative_to(ROOT).as_posix()}" in command
