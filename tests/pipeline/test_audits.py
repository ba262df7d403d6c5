"""Audits of a build: made before its outputs, shown by them, and made again only if something changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from engine_bench import Bench, Quiet

from benchbuilder.exporters import AuditResult, FinishedBuild
from benchbuilder.pipeline import audit_folder, build_benchmark, committed_manifests


@dataclass
class CountingAuditor:
    """Says how many items there are, and counts how often it was asked."""

    version: int = 1
    asked: list[int] = field(default_factory=list[int])

    def audit_build(self, finished: FinishedBuild, kept: Path) -> AuditResult:
        rows = len(finished.tables[finished.items])
        self.asked.append(rows)
        return AuditResult(kind="items", items=rows, families=rows, whole=rows, limit=0.05, permutations=99)


def audited(bench: Bench, auditor: CountingAuditor) -> AuditResult:
    plan = bench.plan()
    (bench.folder / "out" / "annotation").mkdir(parents=True, exist_ok=True)
    return build_benchmark(plan, bench.store, "name: bench\n", Quiet(), auditor=auditor).audits[""]


def test_a_build_is_audited_once(bench: Bench) -> None:
    auditor = CountingAuditor()
    first = audited(bench, auditor)
    assert auditor.asked == [first.items]
    assert audited(bench, auditor) == first
    assert len(auditor.asked) == 1


def test_a_build_is_audited_again_when_its_rows_or_its_auditor_change(bench: Bench) -> None:
    auditor = CountingAuditor()
    before = audited(bench, auditor).items
    bench.sources["right"] = [*bench.sources["right"], "a new line"]
    assert audited(bench, auditor).items > before
    auditor.version = 2
    audited(bench, auditor)
    assert len(auditor.asked) == 3


def test_a_damaged_audit_is_made_again(bench: Bench) -> None:
    auditor = CountingAuditor()
    audited(bench, auditor)
    (audit_folder(bench.store) / "benchmark.json").write_text("{", encoding="utf-8")
    audited(bench, auditor)
    assert len(auditor.asked) == 2


def test_without_an_auditor_nothing_is_audited(bench: Bench) -> None:
    assert bench.build().audits == {}
    assert not audit_folder(bench.store).exists()


def test_only_steps_that_are_up_to_date_are_committed(bench: Bench) -> None:
    bench.build()
    assert list(committed_manifests(bench.plan(), bench.store)) == list(bench.plan().nodes)
    bench.steps["upper"] = {**bench.steps["upper"], "from": "sources.left"}
    assert "upper" not in committed_manifests(bench.plan(), bench.store)
    assert "join" not in committed_manifests(bench.plan(), bench.store)
