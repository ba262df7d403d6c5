"""Audits finished builds; what an audit needs is imported when one is made, since most builds keep an earlier one."""

from __future__ import annotations

from benchbuilder.config import AuditSpec
from benchbuilder.exporters import AuditResult, FinishedBuild

AUDIT_VERSION = 1
"""Part of what an audit is made of: another version audits again."""


class BuildAuditor:
    """Audits builds as a recipe says."""

    version = AUDIT_VERSION

    def __init__(self, spec: AuditSpec, seed: int) -> None:
        self.spec, self.seed = spec, seed

    def audit_build(self, finished: FinishedBuild) -> AuditResult:
        """The result for a finished build."""
        from benchbuilder.evaluation.audit.auditor import BenchmarkAuditor

        return BenchmarkAuditor(self.spec, self.seed).audit_build(finished)
