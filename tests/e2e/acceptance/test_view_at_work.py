"""The explorer beside a build that asks a model: what is made, in flight, spent and expected; prompts and replies."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from acceptance_bench import Sample, behaviour
from explorer_browser import ExplorerBrowser
from patience import patience, until

from benchbuilder.explorer import BuildFolder
from benchbuilder.explorer.reading.live_progress import BuildProgress, read_progress
from benchbuilder.testing import FakeOpenAI

PRICES = """as_of: 2026-11-01
source: https://example.org/prices
currency: USD
per_tokens: 1000000
models:
  fake-1: {input: 1000.0, output: 2000.0}
"""


@pytest.fixture
def priced(sample: Callable[..., Sample], server: FakeOpenAI, tmp_path: Path) -> Sample:
    """A build of the sample that has a price, and that the service makes last for some seconds."""
    prices = tmp_path / "prices.yaml"
    prices.write_text(PRICES, "utf-8")
    server.configure(**behaviour(latency_s=0.4))
    return sample("view", f"model.prices={prices}", "budget.usd=1000")


def watched(building: subprocess.Popen[str], build: BuildFolder) -> list[BuildProgress]:
    """What the explorer saw of a build until it ended."""
    seen: list[BuildProgress] = []

    def ended() -> bool:
        if (build.folder / "store" / "lock").exists():
            seen.append(read_progress(build))
        return building.poll() is not None

    until(ended, seconds=600)
    return seen


def test_a_build_with_a_model_is_seen_at_work(priced: Sample) -> None:
    building = priced.start()
    build = BuildFolder("view", priced.folder)
    seen = watched(building, build)
    output, _ = building.communicate(timeout=patience())
    assert building.returncode == 0, output
    asking = [progress for progress in seen if progress.in_flight]
    assert all(progress.is_at_work for progress in asking)
    assert max(progress.in_flight for progress in asking) <= 8
    calls = [progress.calls for progress in asking]
    assert calls == sorted(calls)
    assert calls[-1] > 0
    expected = [(progress.usd or 0.0, progress.expected_usd) for progress in asking if progress.expected_usd]
    assert expected, "what the step at work will cost"
    last = read_progress(build)
    assert not last.is_at_work
    assert last.in_flight == 0
    assert last.usd is not None
    assert 0 < max(progress.usd or 0.0 for progress in asking) <= 1.2 * last.usd, "new replies count as the worst case"
    assert all(now <= total <= 20 * last.usd for now, total in expected)
    assert {progress.budget for progress in (*asking, last)} == {1000}
    assert {progress.planned for progress in (*asking, last)} == {last.finished}
    assert last.calls == priced.requests()
    pages_of_the_replies(build, priced)


def pages_of_the_replies(build: BuildFolder, priced: Sample) -> None:
    """The pages of all builds, of the flow, and of rows with what the model was asked and replied."""
    browser = ExplorerBrowser(build)
    progress = read_progress(build)
    assert f"${progress.usd:.2f}" in unescape(browser.text("/"))
    assert browser.get("/b/view/progress").status_code == 204
    rows = list(build.store.rows(build.manifest("state_choice")))
    made = [row for row in rows if "/model" in row.produced_by.rule]
    assert made
    log = [str(entry) for entry in priced.server.log(0)]
    assert len(log) == progress.calls
    for row in made[:3]:
        page = unescape(browser.text(f"/b/view/row/{row.id}"))
        assert "fake-1" in page
        assert "陈述句：" in page, "the prompt"
        assert row.text in page, "the reply"
