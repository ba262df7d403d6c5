"""The result of a whole run, kept in a file: nobody need believe in a tier that has not run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tiers import OTHERS, QUICK

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "full.json"
"""Where `tests/full` keeps the result of the last run of all tiers."""


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *words], capture_output=True, text=True, encoding="utf-8", check=True
    )
    return done.stdout.strip()


def _now() -> dict[str, str]:
    return {"date": datetime.now(UTC).date().isoformat(), "commit": _git("rev-parse", "HEAD")}


@dataclass(eq=False)
class Recorder:
    """Counts what becomes of the tests of a run, by tier, and writes it to a file at the end."""

    file: Path
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {tier: Counter() for tier in (QUICK, *OTHERS)})
    failed: list[str] = field(default_factory=list)
    tier: dict[str, str] = field(default_factory=dict)
    outcome: dict[str, str] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst outcome of the phases of a test."""
        if report.outcome != "passed" or report.nodeid not in self.outcome:
            self.outcome[report.nodeid] = report.outcome
        for name, value in report.user_properties:
            if name == "cost":
                self.counts[value[0]][self.outcome[report.nodeid]] += 1
                if self.outcome[report.nodeid] == "failed":
                    self.failed.append(report.nodeid)

    def result(self) -> Mapping[str, Any]:
        """Date, commit, counts by tier, minutes and the tests that failed."""
        return {
            **_now(),
            "minutes": round((time.monotonic() - self.begun) / 60, 1),
            "counts": {tier: dict(sorted(counts.items())) for tier, counts in self.counts.items()},
            "failed": sorted(self.failed),
        }

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self.file.write_text(json.dumps(self.result(), indent=2) + "\n", encoding="utf-8")


def last_run() -> dict[str, Any]:
    """What the file holds."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def guarded_since() -> str:
    """The commit from which changes count: that of the last whole run, or of a green `.ci/run` since then.

    Such a run has tested every part that had changed until then. So the next one need look no further back.
    """
    last = last_run()
    return (last.get("guarded") or last)["commit"]


def keep_guarded() -> None:
    """Note that the tests of all parts that changed since the noted commit are green at this one."""
    FILE.write_text(json.dumps(last_run() | {"guarded": _now()}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["keep"]:
        keep_guarded()
    else:
        print(guarded_since())
