"""``benchbuild analyse`` on the bundled sample, and the items that it sends back, as a review of their own."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from once import EVALUATED, Once

from benchbuilder.annotation import row_decisions
from benchbuilder.cli.dispatch import main

RECIPE = "recipe=care_mi"
ANALYSIS = Path("builds/care_mi/analysis")


@pytest.fixture(scope="module")
def evaluated(once: Once) -> Path:
    return once.after(EVALUATED)


@pytest.fixture
def here(evaluated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(evaluated, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.mark.usefixtures("here")
def test_the_sample_is_analysed_and_says_that_its_answers_are_made_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", RECIPE]) == 0
    said = capsys.readouterr().out
    assert "note: Illustrative: made from bundled sample data" in said
    assert "came with the sample. They are made up: no model gave them" in said
    assert "5 models answered " in said
    assert "Difficulty alone is shown: 5 models have answers; 20 are needed" in said
    data = json.loads((ANALYSIS / "analysis.json").read_text("utf-8"))
    assert {"items", "wrong_answers", "to_experts", "difficulty", "groups", "subset"} <= set(data)
    assert data["illustrative"] is True
    assert "编造" in data["notes"][1]  # in the language of the recipe
    assert all(model["invented"] == (model["group"] != "rule") for model in data["models"])
    with (ANALYSIS / "models.csv").open(encoding="utf-8-sig", newline="") as stream:
        models = {row["model"]: row for row in csv.DictReader(stream)}
    assert models["model_jia"]["made_up"] == "yes"
    assert models["always_agree"]["made_up"] == ""
    with (ANALYSIS / "items.csv").open(encoding="utf-8-sig", newline="") as stream:
        answered = [row for row in csv.DictReader(stream) if row["n"]]
    assert {row["made_up"] for row in answered} == {"5"}
    sent = [json.loads(line) for line in (ANALYSIS / "to_experts.jsonl").read_text("utf-8").splitlines()]
    assert [row["suspicion"] for row in sent] == sorted((row["suspicion"] for row in sent), reverse=True)
    assert all(row["made_up"] == 5 and row["full-question"] and row["evidence"] for row in sent)
    before = (ANALYSIS / "analysis.json").read_bytes()
    assert main(["analyse", RECIPE]) == 0
    assert (ANALYSIS / "analysis.json").read_bytes() == before


@pytest.mark.usefixtures("here")
def test_without_answers_there_is_nothing_to_analyse(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree("builds/care_mi/evaluation")
    assert main(["analyse", RECIPE]) == 3
    assert "there are no answers to analyse" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_items_go_back_to_people_and_their_votes_become_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["votes", "export", "csv", RECIPE, "--project", "flagged"]) == 3  # nothing was sent back yet
    assert "flagged: left out, benchbuild analyse has sent no items back yet" in capsys.readouterr().out
    assert main(["analyse", RECIPE]) == 0
    assert main(["votes", "decisions", RECIPE, "--project", "flagged"]) == 3  # no tasks
    assert main(["votes", "export", "csv", RECIPE, "--project", "flagged"]) == 0
    capsys.readouterr()
    first = json.loads((ANALYSIS / "to_experts.jsonl").read_text("utf-8").splitlines()[0])
    vote_on(first["id"])
    assert main(["votes", "decisions", RECIPE, "--project", "flagged"]) == 0
    said = capsys.readouterr().out
    assert ": 1 decided, " in said
    folder = Path("builds/care_mi/annotation/decisions/flagged")
    (report,) = [json.loads(line) for line in (folder / "reports.jsonl").read_text("utf-8").splitlines()]
    assert (report["item"], report["kind"]) == (first["id"], "wrong_key")
    assert "wrong_key, found by 2 people / 见教科书" in report["text"]
    assert main(["votes", "decisions", RECIPE, "--project", "claims"]) == 2


def vote_on(item: str) -> None:
    """Two people say that the key of an item is wrong, and nothing else."""
    from benchbuilder.annotation import open_annotation_store
    from benchbuilder.annotation.database.models import Submission
    from benchbuilder.annotation.tasks import judgement_requests

    with open_annotation_store(None, Path("builds/care_mi/annotation")) as store:
        people = [store.invite(name, "annotator")[0] for name in ("wang", "li")]
        project = store.project("flagged")
        assert project is not None
        task = next(one.task for one in row_decisions(store, "flagged") if one.about("id") == (item,))
        asked = judgement_requests([task], project.spec)
        values = {"wrong_key": 1, "remark": "见教科书"}
        for person in people:
            lines = store.list_assignments(person, "flagged", count=1000)
            number = next(
                line.number for line in lines
                if (found := store.assignment(person, "flagged", line.number)) and found.task.key == task.key
            )  # fmt: skip
            found = store.assignment(person, "flagged", number)
            assert found is not None
            given = {subject: values.get(what.question, 0) for subject, what in asked.items()}
            store.submit(person, found.task_id, Submission(given))
