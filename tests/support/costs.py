"""What each test costs: the limit of the tier `quick`, and figures by tier in the last lines of a run.

A cost is processor time, of a test and of the processes that it started and awaited. What a fixture costs that several
tests share is the fixture's. On a machine that is slow at that moment, costs are divided by its slowness.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field

import pytest
from patience import slowness
from tiers import QUICK, tier_of

LIMIT_S = 0.5
"""Seconds of processor that a quick test may cost."""
CERTAIN = 20
"""Beyond so many times the limit it is neither noise nor what the first test of a worker pays for others."""
_IMPORTS = 30
"""A test that imports so many modules pays for all others of its worker, and is not held to the limit."""


def processor_s() -> float:
    """Seconds of processor of this process and of those that it awaited."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@dataclass(eq=False)
class CostsOfWorker:
    """In a process that runs tests: measures each, and puts its cost into the report of its end."""

    _begun_s: float = 0.0
    _shared_s: float = 0.0
    _modules: int = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._begun_s, self._shared_s, self._modules = processor_s(), 0.0, len(sys.modules)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        begun_s, shared_s = processor_s(), self._shared_s
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._shared_s = max(self._shared_s, shared_s + processor_s() - begun_s)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "teardown":
            whole_s = processor_s() - self._begun_s
            own_s = whole_s - self._shared_s
            if own_s > LIMIT_S:
                pays = len(sys.modules) - self._modules > _IMPORTS
                own_s = 0.0 if pays else own_s / slowness(time.process_time, parts=10)
            report.user_properties.append(("cost", (tier_of(item), round(whole_s, 3), round(own_s, 3))))
        return report


@dataclass(eq=False)
class CostsOfRun:
    """In the process that prints: adds up the costs, and fails the run if a quick test is dear."""

    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    tests: Counter[str] = field(default_factory=Counter)
    dear: list[tuple[float, str]] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == "cost":
                tier, whole_s, own_s = value
                self.seconds[tier] += whole_s
                self.tests[tier] += 1
                if tier == QUICK and own_s > LIMIT_S:
                    self.dear.append((own_s, report.nodeid))

    @property
    def too_dear(self) -> bool:
        """Whether a quick test costs so much more than it may that it is no noise."""
        return any(cost > CERTAIN * LIMIT_S for cost, _ in self.dear)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.too_dear and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for tier, count in self.tests.items():
            terminalreporter.write_line(f"{tier}: {count} tests, {self.seconds[tier]:.0f} s of processor")
        terminalreporter.write_line(f"This machine is now {slowness():.1f} times slower than a quiet one.")
        for cost, name in sorted(self.dear, reverse=True):
            terminalreporter.write_line(f"{cost:.1f} s of processor: {name}", red=self.too_dear)
        if self.dear:
            terminalreporter.write_line(
                f"A quick test costs at most {LIMIT_S} s of processor. Make these cheaper, or mark them"
                f" @pytest.mark.push. Beyond {CERTAIN * LIMIT_S} s the run fails."
            )


def register(config: pytest.Config) -> None:
    """Measure in whichever process this is."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(CostsOfRun(), "costs-of-run")
    config.pluginmanager.register(CostsOfWorker(), "costs-of-worker")
