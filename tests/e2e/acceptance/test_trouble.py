"""A service in trouble: the build ends in bounded time, says why, and loses nothing."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from acceptance_bench import SECRET, Sample

CONCURRENCY = 8
FLAKY = [
    {"when": {"share": 0.05, "attempts": 1}, "do": "rate_limit", "retry_after": "ms:200"},
    {"when": {"share": 0.10, "attempts": 1}, "do": "rate_limit"},
    {"when": {"share": 0.15, "attempts": 1}, "do": "server_error"},
    {"when": {"share": 0.20, "attempts": 1}, "do": "drop_before"},
    {"when": {"share": 0.25, "attempts": 1}, "do": "drop_after"},
    {"when": {"share": 0.30, "attempts": 1}, "do": "drop_midway"},
    {"when": {"share": 0.35, "attempts": 1}, "do": "garbage"},
    {"when": {"share": 0.40, "attempts": 1}, "do": "html"},
    {"when": {"share": 0.45, "attempts": 1}, "do": "wrong_shape"},
    {"when": {"share": 0.47, "attempts": 1}, "do": "hang"},
    {"when": {"share": 0.50, "attempts": 1}, "do": "dribble", "seconds": 0.5},
]


def ledger(folder: Path) -> list[dict[str, str]]:
    with (folder / "ledger.tsv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


@pytest.mark.full
def test_every_sort_of_trouble_at_once_changes_nothing(sample: Callable[..., Sample]) -> None:
    calm = sample("calm")
    assert calm.build().code == 0
    calm.server.configure(rules=FLAKY)
    rough = sample("rough", "model.timeout_s=2", "model.retries=5")
    ended = rough.build()
    assert ended.code == 0, ended.said
    assert rough.made() == calm.made()


@pytest.mark.full
def test_requests_that_fail_for_ever(sample: Callable[..., Sample]) -> None:
    build = sample("build", "model.retries=1")
    build.server.configure(rules=[{"when": {"share": 0.1}, "do": "server_error"}])
    ended = build.build()
    assert ended.code == 5, ended.said
    assert "of step 'state_choice' failed" in ended.said
    ended = build.build("tolerate.failed_rows=0.5")
    assert ended.code == 0, ended.said
    failed = [line for line in ledger(build.folder) if line["outcome"] == "failed"]
    for step in ("state_choice", "negate_choice", "ask_tf_choice", "ask_oe_choice"):
        outcomes = build.outcomes(step)
        named = [line for line in failed if line["step"] == step]
        assert len({line["row"] for line in named}) == outcomes["failed"] > 0
        assert all(line["file"] and line["line"] and "500" in line["detail"] for line in named)
    # the accounts balance: every row that a step was given has a outcome in it
    assert sum(build.outcomes("state_choice").values()) == build.outcomes("facts_choice")["kept"]
    # and what failed is asked again, alone, once the service is well
    build.server.configure(rules=[])
    whole = sample("whole")
    assert build.build().code == 0
    assert whole.build().code == 0
    assert build.made()["items.jsonl"] == whole.made()["items.jsonl"]


@pytest.mark.full
def test_nothing_but_too_many_requests(sample: Callable[..., Sample]) -> None:
    build = sample("build", "model.give_up_s=3")
    build.server.configure(rules=[{"do": "rate_limit", "retry_after": "600"}])
    ended = build.build()
    assert ended.code == 4, ended.said
    assert build.requests() <= CONCURRENCY, "nothing is asked again before it may be"
    assert "429" in ended.said
    assert "model.give_up_s" in ended.said


@pytest.mark.full
@pytest.mark.parametrize(
    ("effect", "says"), [("unauthorized", "OPENAI_API_KEY"), ("no_model", "model"), ("quota", "quota")]
)
def test_a_permanent_error_stops_at_once(sample: Callable[..., Sample], effect: str, says: str) -> None:
    build = sample()
    build.server.configure(rules=[{"do": effect}])
    ended = build.build()
    assert ended.code == 4, ended.said
    assert says in ended.said
    assert build.requests() <= CONCURRENCY
    assert SECRET not in ended.said


@pytest.mark.full
def test_no_request_is_sent_after_the_cap(sample: Callable[..., Sample]) -> None:
    whole = sample("whole")
    assert whole.build().code == 0
    once = whole.asked()
    whole.server.reset()
    cap = 40_000
    build = sample("build", f"budget.tokens={cap}")
    ended = build.build()
    assert ended.code == 4, ended.said
    assert "budget.tokens" in ended.said
    seen = build.requests()
    assert seen > 20
    receipts = json.loads((build.folder / "run.jsonl").read_text(encoding="utf-8").splitlines()[-1])["receipts"]
    used = sum(receipt["prompt_tokens"] + receipt["completion_tokens"] for receipt in receipts)
    most = max(receipt["prompt_tokens"] / receipt["calls"] for receipt in receipts) + 128
    assert cap - 20 * most < used <= cap  # not far below it either
    # the same command again sends nothing more: the cap is over all runs
    assert build.build().code == 4
    assert build.requests() == seen
    # a higher cap goes on where it stopped
    ended = build.build("budget.tokens=100000000")
    assert ended.code == 0, ended.said
    assert build.asked() == once


@pytest.mark.full
def test_no_secret_is_written_anywhere(sample: Callable[..., Sample]) -> None:
    build = sample("build", "model.retries=0")
    build.server.configure(rules=[{"when": {"share": 0.1}, "do": "bad_request"}])
    said = build.build("tolerate.failed_rows=0.9").said
    build.server.configure(rules=[{"do": "unauthorized"}])
    said += build.build("steps.state_choice.sampling.temperature=0.3").said
    said += build.build(command="plan").said + build.build(command="show").said
    assert SECRET not in said
    files = [file for file in build.folder.rglob("*") if file.is_file()]
    assert len(files) > 50
    holding = [file for file in files if SECRET.encode() in file.read_bytes()]
    assert holding == []
