"""`benchbuild sweep`: several recipes and settings, one table."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from writing_server import words as model_words
from writing_server import writing

from benchbuilder.authoring.sweep import sweep_runs
from benchbuilder.cli.dispatch import main
from benchbuilder.core.errors import RecipeError

WORDS = ["recipe=care_mi", "source=[medqa,textbook]", "audit.permutations=99"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(folder: Path, name: str = "sweep.csv") -> list[dict[str, str]]:
    return list(csv.DictReader((folder / name).read_text(encoding="utf-8").splitlines()))


@pytest.mark.push
def test_every_combination_is_a_run():
    runs = sweep_runs(["recipe=care_mi", "retriever.top_k=1,2", "source=[medqa,textbook],[mlecqa]", "paths.x='a,b'"])
    assert [run.own_overrides for run in runs] == [
        ("retriever.top_k=1", "source=[medqa,textbook]"), ("retriever.top_k=1", "source=[mlecqa]"),
        ("retriever.top_k=2", "source=[medqa,textbook]"), ("retriever.top_k=2", "source=[mlecqa]"),
    ]  # fmt: skip
    assert runs[0].overrides == ("recipe=care_mi", "retriever.top_k=1", "source=[medqa,textbook]", "paths.x='a,b'")
    assert [run.name for run in runs] == ["1-medqa_textbook", "1-mlecqa", "2-medqa_textbook", "2-mlecqa"]


@pytest.mark.push
def test_a_slip_of_the_hand_is_refused():
    numbers = ",".join(map(str, range(15)))
    with pytest.raises(RecipeError, match="225 runs"):
        sweep_runs([f"a={numbers}", f"b={numbers}"])
    with pytest.raises(RecipeError, match="build into one folder"):
        sweep_runs(["a=1,1"])


@pytest.mark.push
def test_every_run_has_a_folder_of_its_own_within_the_sweep():
    assert all(run.name.strip(".") for run in sweep_runs(["a=..,.,./x"]))
    alike = [run.name for run in sweep_runs(["a=-1,1,2"])]
    assert len(set(alike)) == 3
    assert alike[2] == "2"
    long = [run.name for run in sweep_runs([f"a={'x' * 90}1,{'x' * 90}2"])]
    assert len(set(long)) == 2


def test_one_table_tells_what_each_run_came_to(here: Path, capsys: Any):
    words = [*WORDS, "annotation=none", "steps.state_choice.max_length=20,40"]
    assert main(["sweep", *words, "--evaluate"]) == 0
    told = capsys.readouterr().out
    short, long = table(here / "builds" / "sweep")
    assert int(short["items"]) < int(long["items"])
    assert int(long["items"]) == int(long["TF"]) + int(long["OE"])
    assert {short["state"], long["state"]} == {"built"}
    assert short["steps.state_choice.max_length"] == "20"
    assert long["items"] in told
    assert len((here / "builds/sweep/40/items.jsonl").read_text(encoding="utf-8").splitlines()) == int(long["items"])
    scores = table(here / "builds" / "sweep", "sweep_scores.csv")
    always = {row["run"]: float(row["value"]) for row in scores
              if (row["table"], row["model"]) == ("verdicts_verdict_verdict", "always_agree")}  # fmt: skip
    assert set(always) == {"20", "40"}
    assert all(0.3 < value < 0.7 for value in always.values())


def test_a_run_that_fails_or_waits_is_told_of_and_the_others_go_on(here: Path, capsys: Any):
    words = [*WORDS, "annotation=none,sheets,nowhere", "paths.votes=null"]
    assert main(["sweep", *words]) == 3
    capsys.readouterr()
    by_name = {row["run"]: row for row in table(here / "builds" / "sweep")}
    assert [by_name[name]["state"] for name in ("none", "sheets", "nowhere")] == ["built", "waits", "failed"]
    assert "missing" in by_name["sheets"]["why"]
    assert "nowhere" in by_name["nowhere"]["why"]
    assert main(["sweep", *WORDS, "annotation=nowhere,nothing"]) == 3
    assert "no run of this sweep could be built" in capsys.readouterr().err


def test_runs_share_a_journal_and_a_cap(here: Path, capsys: Any):
    with writing(here) as server:
        words = [*WORDS, "annotation=none", *model_words(server), "retriever.top_k=1,2"]
        assert main(["sweep", *words, "--quote"]) == 0
        assert not server.log()
        capsys.readouterr()
        assert main(["sweep", *words, "--output", "once"]) == 0
        asked = len(server.log())
        assert asked > 10
        keys = {entry["hash"] for entry in server.log()}
        assert len(keys) == asked, "an equal request of another run is not paid for again"
        assert main(["sweep", *words, "budget.tokens=2000", "--output", "capped"]) == 4
        told = capsys.readouterr().out
        assert "stopped after 1 run of 2" in told
        assert [row["state"] for row in table(here / "capped")] == ["stopped"]
