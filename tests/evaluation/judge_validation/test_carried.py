"""Judges that were trained for another benchmark, held to account by the people who rated answers here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from judge_world import EVALUATION, TRAINING, World, ridge, world

from benchbuilder.core import DataError
from benchbuilder.evaluation.judge_report.report import write_judge_report
from benchbuilder.evaluation.judge_training import train
from benchbuilder.evaluation.judge_training.storage import load_validation_run
from benchbuilder.evaluation.judge_training.train import carried_validation_run, train_judge


@pytest.mark.push
def test_a_judge_from_elsewhere_is_held_to_the_people_here(tmp_path: Path):
    """All rated answers count, and its held-out answers where it was trained stand beside them."""
    train_judge("ridge", ridge(), world(60), EVALUATION, tmp_path, language="zh", seed=1, note=lambda _: None)
    here = world(30, seed=2)
    run = carried_validation_run("ridge", ridge(), tmp_path, here, TRAINING)
    assert len(run.predictions) == len(here.answers)
    assert run.judge is not None
    scores = run.judge.score([row.example.case for row in run.predictions])
    assert [row.predicted for row in run.predictions] == scores
    assert {row.side for row in run.left_out} == {"elsewhere"}
    assert len(run.left_out) == len(load_validation_run(tmp_path, "ridge", open_judge=False).predictions)
    write_judge_report([run], EVALUATION, tmp_path, language="zh", probes=None, published=None, texts="en")
    (chapter,) = json.loads((tmp_path / "judges.json").read_text(encoding="utf-8"))["aspects"]
    tables = {table["name"]: [line["cells"][0] for line in table["lines"]] for table in chapter["tables"]}
    assert len(tables["correctness_by_source"]) == 4
    assert len(tables["correctness_by_side"]) == 2
    page = (tmp_path / "judges.md").read_text(encoding="utf-8")
    assert "Trained for another benchmark" in page
    assert "medqa (where it was trained)" in page


@pytest.mark.push
def test_answers_that_it_learned_from_do_not_count(tmp_path: Path):
    made = world(60)
    train_judge("ridge", ridge(), made, EVALUATION, tmp_path, language="zh", seed=1, note=lambda _: None)
    here = world(30, seed=2)
    both = World([*here.items, *made.items], [*here.answers, *made.answers], [*here.scores, *made.scores])
    run = carried_validation_run("ridge", ridge(), tmp_path, both, TRAINING)
    assert {row.example.item for row in run.predictions} <= {item.id for item in here.items}


@pytest.mark.push
def test_one_that_asks_a_model_is_asked_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train_judge("ridge", ridge(), world(60), EVALUATION, tmp_path, language="zh", seed=1, note=lambda _: None)
    monkeypatch.setattr(train, "create_from_spec", lambda slot, spec: object())
    with pytest.raises(DataError, match="asks a model"):
        carried_validation_run("ridge", ridge(), tmp_path, world(30, seed=2), TRAINING)
