"""Audits finished builds; what an audit needs is imported when one is made, since most builds keep an earlier one."""

from __future__ import annotations

from benchbuilder.config import AuditSpec
from benchbuilder.exporters import AuditResult, FinishedBuild

AUDIT_VERSION = 2
"""Part of what an audit is made of: another version audits again."""


class BuildAuditor:
    """Audits builds as a recipe says, with up to `workers` checks at the same time."""

    version = AUDIT_VERSION

    def __init__(self, spec: AuditSpec, seed: int, workers: int = 1) -> None:
        self.spec, self.seed, self.workers = spec, seed, workers

    def audit_build(self, finished: FinishedBuild) -> AuditResult:
        """The result for a finished build."""
        from benchbuilder.evaluation.audit.auditor import BenchmarkAuditor

        return BenchmarkAuditor(self.spec, self.seed, self.workers).audit_build(finished)
