"""A check that sees what it saw in the last audit is not measured again."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchbuilder.evaluation.audit import run_checks as checking
from benchbuilder.evaluation.audit.features import category_rows
from benchbuilder.evaluation.audit.findings import AuditCheck, AuditFinding, AuditSettings
from benchbuilder.evaluation.audit.kept_measures import KeptMeasures

SETTINGS = AuditSettings(seed=1, permutations=99, samples=100)
IDS = [f"{place:02}" for place in range(60)]
LABELS = [place % 3 == 0 for place in range(60)]
FAMILIES = [f"family {place // 2}" for place in range(60)]


def check(view: str, turn: int) -> AuditCheck:
    seen = category_rows([str(place % (5 + turn)) for place in range(60)])
    return AuditCheck("verdict", view, "all", seen, IDS, LABELS, FAMILIES)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    views: list[str] = []
    measure = checking._measure

    def count(one: AuditCheck, *rest: object) -> object:
        views.append(one.view)
        return measure(one, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(checking, "_measure", count)
    return views


def audit(
    file: Path, checks: list[AuditCheck], settings: AuditSettings = SETTINGS, version: int = 1
) -> list[AuditFinding]:
    kept = checking.run_checks(checks, settings, kept=KeptMeasures(file, version))
    assert kept == checking.run_checks(checks, settings)
    return kept


def test_only_what_sees_something_new_is_measured(tmp_path: Path, measured: list[str]) -> None:
    file, three = tmp_path / "audits" / "benchmark.parquet", [check("a", 0), check("b", 1), check("c", 2)]
    audit(file, three)
    del measured[:]
    audit(file, three)
    assert measured == ["a", "b", "c"]  # those of the comparison, which keeps nothing
    del measured[:]
    audit(file, [replace(three[0], view="under another name"), check("b", 5), three[2]])
    assert measured[:1] == ["b"]
    assert len(measured) == 4


@pytest.mark.parametrize(
    "changed",
    [
        {"labels": LABELS[1:] + LABELS[:1]},
        {"families": [*FAMILIES[:-2], "new", "new"]},
        {"target": "truth"},
    ],
)
def test_other_labels_families_or_targets_are_measured(
    tmp_path: Path, measured: list[str], changed: dict[str, list[str]]
) -> None:
    audit(tmp_path / "kept", [check("a", 0)])
    del measured[:]
    audit(tmp_path / "kept", [replace(check("a", 0), **changed)])  # type: ignore[arg-type]
    assert measured == ["a", "a"]


def test_another_version_or_other_draws_count_for_nothing_and_limits_change_no_measure(
    tmp_path: Path, measured: list[str]
) -> None:
    one = [check("a", 0)]
    audit(tmp_path / "kept", one)
    for settings, version in ((SETTINGS, 2), (replace(SETTINGS, seed=2), 2), (replace(SETTINGS, permutations=49), 2)):
        del measured[:]
        audit(tmp_path / "kept", one, settings, version)
        assert measured == ["a", "a"]
    del measured[:]
    audit(tmp_path / "kept", one, replace(SETTINGS, permutations=49, limit=0.2), 2)
    assert measured == ["a"]


@pytest.mark.parametrize("damage", [b"", b"PAR1 cut off", None])
def test_a_damaged_file_holds_nothing(tmp_path: Path, measured: list[str], damage: bytes | None) -> None:
    file, one = tmp_path / "kept", [check("a", 0)]
    audit(file, one)
    whole = file.read_bytes()
    file.write_bytes(damage if damage is not None else whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    del measured[:]
    audit(file, one)
    assert measured == ["a", "a"]


def test_what_the_last_audit_did_not_look_for_is_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    audit(file, [check("a", 0), check("b", 1)])
    both = file.stat().st_size
    audit(file, [check("a", 0)])
    assert file.stat().st_size < both
