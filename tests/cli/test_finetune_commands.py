"""``benchbuild finetune`` on the bundled sample against the fake service: from ratings to a judge that scores."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from once import BUILT, Once

from benchbuilder.cli.dispatch import main
from benchbuilder.evaluation.judge_training.storage import load_validation_run
from benchbuilder.evaluation.judges.card import read_judge_card
from benchbuilder.testing import FakeOpenAI, fake_openai_server
from benchbuilder.testing.fake_openai.behaviour import TuningBehaviour

NAME = "tuned_correctness"
MODEL = f"evaluation.judges.{NAME}.model"
RECIPE = ["recipe=care_mi", "evaluation=[zh_claims,zh_finetuned]"]
JUDGES = Path("builds/care_mi/judges")
FILES = JUDGES / f"{NAME}.fine_tuning" / "trial"
BUDGET = ["--yes", "--budget-tokens", "5000000"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, once: Once) -> Path:
    return once.copied(BUILT, tmp_path_factory.mktemp("tuned"))


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAI]:
    with fake_openai_server({"fixed": "0.50"}) as started:
        yield started


@pytest.fixture
def words(built: Path, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for name in [name for name in os.environ if name.startswith("OPENAI_") or name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(built)
    behave(server)
    return words_for(server)


def words_for(server: FakeOpenAI, name: str = "small") -> list[str]:
    return [*RECIPE, f"model@{MODEL}=openai", f"{MODEL}.name={name}", f"{MODEL}.base_url={server.base_url}"]


def behave(server: FakeOpenAI, **tuning: Any) -> None:
    server.configure(rules=[], tuning={**TuningBehaviour(polls=1).model_dump(mode="json"), **tuning})


def finetune(action: str, words: list[str], *more: str) -> int:
    return main(["finetune", action, f"judge={NAME}", *words, *more])


def said(capsys: pytest.CaptureFixture[str]) -> str:
    both = capsys.readouterr()
    return " ".join((both.out + both.err).split())


def lines(name: str) -> list[list[dict[str, str]]]:
    return [json.loads(line)["messages"] for line in (FILES / name).read_text("utf-8").splitlines()]


@pytest.mark.full
def test_export_writes_what_a_service_takes_and_says_what_it_trains_on(
    words: list[str], server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
):
    server.reset()
    assert finetune("export", words) == 0
    told = said(capsys)
    assert "a job of 3 epochs trains on " in told
    assert "the cost is unknown" in told
    assert "nothing was sent" in told
    assert server.stats()["calls"] == {}
    train, valid = lines("train.jsonl"), lines("valid.jsonl")
    assert len(train) > 100
    assert len(valid) > 20
    assert {tuple(message["role"] for message in row) for row in train + valid} == {("system", "user", "assistant")}
    targets = [float(row[-1]["content"]) for row in train]
    assert {0.0, 1.0} <= set(targets)
    assert any(0.1 < target < 0.9 for target in targets)
    assert all(len(row[-1]["content"]) == 4 for row in train + valid)
    assert not {row[1]["content"] for row in train} & {row[1]["content"] for row in valid}
    assert sum("<reference>" not in row[1]["content"] for row in train) > 10
    before = {path.name: path.read_bytes() for path in FILES.iterdir()}
    assert finetune("export", words) == 0
    assert {path.name: path.read_bytes() for path in FILES.iterdir()} == before


def test_a_price_of_the_recipe_gives_a_cost(words: list[str], capsys: pytest.CaptureFixture[str]):
    price = f"evaluation.judges.{NAME}.tuning.price={{usd: 3, as_of: '2026-03-01'}}"
    assert finetune("export", [*words, price]) == 0
    assert "USD" in said(capsys)
    assert finetune("submit", [*words, price], "--yes", "--budget", "0.01") == 2
    assert "may need more than the budget" in said(capsys)


def test_check_finds_what_a_service_would_refuse(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert finetune("export", words) == 0
    path = FILES / "train.jsonl"
    path.write_text("{\n" + path.read_text("utf-8"), encoding="utf-8")
    capsys.readouterr()
    assert finetune("check", words) == 3
    assert "train.jsonl: line 1: not JSON" in said(capsys)
    assert finetune("submit", words, *BUDGET) == 3
    path.write_bytes((FILES / "valid.jsonl").read_bytes())
    assert finetune("check", words) == 3
    assert "held-out cases are in the training file too" in said(capsys)
    path.unlink()
    assert finetune("check", words) == 3
    assert "finetune export writes it" in said(capsys)


def test_nothing_is_sent_without_yes_and_a_budget(
    words: list[str], server: FakeOpenAI, capsys: pytest.CaptureFixture[str]
):
    assert finetune("export", words) == 0
    server.reset()
    assert finetune("submit", words) == 0
    assert "nothing was sent" in said(capsys)
    assert finetune("submit", words, "--yes") == 2
    assert "give a budget" in said(capsys)
    assert finetune("submit", words, "--yes", "--budget", "100") == 2
    assert "--budget needs a price" in said(capsys)
    assert finetune("submit", words, "--yes", "--budget-tokens", "1000") == 2
    assert "may need more than the budget" in said(capsys)
    assert server.stats()["calls"] == {}


def test_changed_ratings_or_settings_want_a_new_export(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert finetune("export", words) == 0
    assert finetune("submit", [*words, f"evaluation.judges.{NAME}.decimals=1"]) == 3
    assert "ratings or settings have changed since" in said(capsys)


@pytest.mark.full
def test_from_a_job_to_a_judge_that_is_held_to_account_and_scores(
    words: list[str], server: FakeOpenAI, built: Path, capsys: pytest.CaptureFixture[str]
):
    server.reset()
    assert finetune("export", words) == 0
    assert finetune("submit", words, "--everything", *BUDGET) == 3
    assert finetune("submit", words, *BUDGET) == 75
    assert "queued" in said(capsys)
    assert not (JUDGES / NAME).exists()
    assert finetune("status", words, "--wait", "--every", "0.01") == 0
    assert "held out: Pearson" in said(capsys)
    assert finetune("submit", words, *BUDGET) == 0
    assert server.stats()["calls"]["POST /v1/fine_tuning/jobs"] == 1

    trial = load_validation_run(built / JUDGES, NAME)
    assert trial.judge is None
    assert len(trial.predictions) == len(lines("valid.jsonl"))
    assert {one.predicted for one in trial.predictions} == {0.5}  # nothing of it was learned by heart: no leak
    card = read_judge_card(built / JUDGES / NAME)
    assert card is not None
    assert card["facts"]["held_out"]["unscored"] == 0
    assert card["kind"] == "openai_finetuned"
    asked = len(server.log())
    assert asked == len({(one.example.case.question, one.example.case.answer) for one in trial.predictions})
    assert {entry["model"] for entry in server.log()} == {card_model(built)}

    assert main(["evaluate", *words, "evaluation.baselines={}"]) == 0
    assert "the judge 'tuned_interpretability' is not trained yet: benchbuild finetune" in said(capsys)
    new = server.log(since=asked)
    assert len(new) > 100
    assert {entry["model"] for entry in new} == {card_model(built)}

    assert finetune("export", words, "--everything") == 0
    assert finetune("submit", words, "--everything", "--wait", "--every", "0.01", *BUDGET) == 0
    after = read_judge_card(built / JUDGES / NAME)
    assert after is not None
    assert after["facts"]["final"]["learned_from"] == "everything"
    assert after["artefact_sha256"] != card["artefact_sha256"]
    assert after["metrics"] == card["metrics"]
    assert load_validation_run(built / JUDGES, NAME).predictions == trial.predictions


def card_model(built: Path) -> str:
    return json.loads((built / JUDGES / NAME / "final" / "model.json").read_text("utf-8"))["model"]


def test_a_job_that_fails_or_is_ended_says_so(words: list[str], server: FakeOpenAI, capsys: pytest.CaptureFixture[str]):
    other = words_for(server, "other")
    behave(server, end="failed", message="The examples are unsafe.")
    assert finetune("export", other) == 0
    assert finetune("submit", other, "--wait", "--every", "0.01", *BUDGET) == 4
    assert "The examples are unsafe." in said(capsys)
    assert finetune("status", other) == 4
    assert finetune("submit", other, *BUDGET) == 4
    assert "--again" in said(capsys)
    behave(server, polls=50)
    assert finetune("submit", other, "--again", *BUDGET) == 75
    assert finetune("cancel", other) == 0
    assert "cancelled" in said(capsys)


@pytest.mark.push
@pytest.mark.parametrize(
    ("words_", "message"),
    [
        (["judge=nobody"], "the recipe has no judge 'nobody'"), ([], "no judge was named"),
        ([f"judge={NAME}", "loose"], "one judge at a time"), ([f"judge={NAME}"], "does not run at a service"),
        (["ridge_correctness"], "that a service fine-tunes"),
    ],
)  # fmt: skip
def test_words_that_mean_nothing_are_refused(
    words: list[str], words_: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["finetune", "status", *words_, *RECIPE]) == 2
    assert message in said(capsys)


@pytest.mark.push
def test_status_without_a_job_says_how_to_make_one(words: list[str], server: FakeOpenAI, capsys: Any):
    judge = "judge=tuned_interpretability"
    assert main(["finetune", "status", judge, *words_for(server)]) == 3
    assert "finetune submit creates one" in said(capsys)


def test_whoever_asks_openai_is_told_when_it_ends(words: list[str], capsys: pytest.CaptureFixture[str]):
    official = [*RECIPE, f"model@{MODEL}=openai", f"{MODEL}.name=gpt-4.1-mini"]
    assert finetune("export", official) == 0
    assert finetune("submit", official) == 0
    assert "no new fine-tuning jobs from 2027-01-06" in said(capsys)
