"""Judges that learn nothing, held to account by what they scored in an evaluation."""

from __future__ import annotations

import pytest
from judge_world import EVALUATION, World, ridge, score, world

from benchbuilder.evaluation.judge_training import train
from benchbuilder.evaluation.judge_training.train import train_judge, validation_run_from_scores


@pytest.fixture(autouse=True)
def unopened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "_opened", lambda spec: None)


@pytest.fixture(scope="module")
def made() -> World:
    return world(40)


def test_it_stands_beside_trained_judges_on_the_same_answers(made: World, tmp_path):
    given = [score(said, 0.25, scorer="judge_mine") for said in made.answers]
    trial = validation_run_from_scores("mine", ridge(), made, given, EVALUATION, language="zh", seed=1)
    assert trial is not None
    other = train_judge("ridge", ridge(), made, EVALUATION, tmp_path, language="zh", seed=1, note=lambda line: None)
    assert [one.example for one in trial.predictions] == [one.example for one in other.predictions]
    assert {one.predicted for one in trial.predictions} == {0.25}
    assert [(one.example, one.side) for one in trial.left_out] == [(one.example, one.side) for one in other.left_out]
    assert "every prediction is 0.250" in trial.card["constant_predictor"]
    assert {key: trial.card[key] for key in ("data_sha256", "split", "held_out")} == {
        key: other.card[key] for key in ("data_sha256", "split", "held_out")
    }
    assert trial.card["facts"] == {"trained": False, "unscored": 0}
    assert trial.card["metrics"]["pearson"] is None


def test_answers_without_a_score_stand_in_no_figure(made: World):
    given = [score(said, None if place % 3 else 0.5, scorer="judge_mine") for place, said in enumerate(made.answers)]
    trial = validation_run_from_scores("mine", ridge(), made, given, EVALUATION, language="zh", seed=1)
    assert trial is not None
    full = validation_run_from_scores("mine", ridge(), made, [score(said, 0.5) for said in made.answers], EVALUATION,
                           language="zh", seed=1)  # fmt: skip
    assert full is not None
    assert 0 < len(trial.predictions) < len(full.predictions)
    assert trial.card["facts"]["unscored"] == len(full.predictions) - len(trial.predictions)


def test_without_scores_or_training_there_is_no_trial(made: World):
    for given, evaluation in (
        ([], EVALUATION),
        ([score(said, 0.5, aspect="interpretability") for said in made.answers], EVALUATION),
        ([score(said, 0.5) for said in made.answers], EVALUATION.model_copy(update={"training": None})),
    ):
        assert validation_run_from_scores("mine", ridge(), made, given, evaluation, language="zh", seed=1) is None
