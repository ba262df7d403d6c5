"""Training a judge: whole or not at all, the same every time, and with a card that says what it is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from filelock import FileLock
from judge_world import EVALUATION, TRAINING, World, ridge, score, trained_on, world

from benchbuilder.config.spec.annotation import BootstrapSpec
from benchbuilder.config.spec.base import FileRef
from benchbuilder.config.spec.evaluation import EvaluationSpec
from benchbuilder.core.errors import DataError, RecipeError, StoreError
from benchbuilder.evaluation.judge_training.examples import drop_some_evidence, make_examples
from benchbuilder.evaluation.judge_training.predictions import ValidationRun, simple_predictions
from benchbuilder.evaluation.judge_training.splits import split_examples
from benchbuilder.evaluation.judge_training.storage import (
    clean_judge_folders,
    judge_spec,
    load_validation_run,
    read_predictions,
    replacing_judge,
    write_predictions,
)
from benchbuilder.evaluation.judge_training.train import train_judge
from benchbuilder.evaluation.judges.base import JudgeSpec, case_hash, make_case
from benchbuilder.evaluation.judges.card import (
    changed_settings,
    folder_digest,
    plain_spec,
    read_judge_card,
    read_learned_hashes,
    read_trained_judge_card,
    rubric_digest,
    verify_judge_part,
)
from benchbuilder.evaluation.judges.encoder import EncoderSpec
from benchbuilder.evaluation.judges.tfidf_ridge import TfidfRidgeJudge
from benchbuilder.evaluation.stats.accuracy import conformal_half_width

ABLATIONS = ("without_evidence", "answer_only", "question_only")


def train(
    folder: Path, made: World, evaluation: EvaluationSpec = EVALUATION, *, name: str = "ridge",
    said: list[str] | None = None, spec: Any = None, **other: Any,
) -> ValidationRun:  # fmt: skip
    note = (said if said is not None else []).append
    return train_judge(
        name, spec or ridge(), made, evaluation, folder, language="zh", note=note, **{"seed": 1, **other}
    )


@pytest.fixture(scope="module")
def made() -> World:
    return world(60)


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory, made: World) -> Path:
    folder = tmp_path_factory.mktemp("judges")
    train(folder, made, trained_on(ablations=ABLATIONS, reference_drop=0.1))
    return folder


@pytest.mark.push
def test_what_is_said_fits_on_a_few_lines(made: World, tmp_path: Path):
    said: list[str] = []
    train(tmp_path, made, said=said)
    assert 3 <= len(said) <= 6
    assert said[0].startswith("ridge (tfidf_ridge, correctness): trained on ")
    assert "split both: validated on" in said[0]
    assert any(line.startswith("  held out: Pearson 0.") for line in said)
    assert said[-1].startswith("  final: trained on all ")


@pytest.mark.push
def test_the_trial_holds_what_was_not_learned_from(judges: Path, made: World):
    trial = load_validation_run(judges, "ridge")
    examples = make_examples(made.items, made.answers, made.scores, "correctness", TRAINING)
    sides = split_examples(examples, TRAINING, 1)
    assert [prediction.example for prediction in trial.predictions] == list(sides.held_out)
    assert trial.judge is not None
    scores = trial.judge.score([prediction.example.case for prediction in trial.predictions])
    assert scores == [prediction.predicted for prediction in trial.predictions]
    assert [(one.example, one.side) for one in trial.left_out] == sides.partly_seen()
    assert {one.side for one in trial.left_out} == {"known_model", "known_question"}
    scores = trial.judge.score([one.example.case for one in trial.left_out])
    assert scores == [one.predicted for one in trial.left_out]


@pytest.mark.push
def test_a_constant_judge_fails_the_constant_predictor_check(
    made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(TfidfRidgeJudge, "score", lambda self, cases: [0.5] * len(cases))
    said: list[str] = []
    card = train(tmp_path, made, said=said).card
    assert "every prediction is 0.500" in card["constant_predictor"]
    assert any(line.startswith("  WARNING: every prediction is 0.500") for line in said)


@pytest.mark.push
def test_the_final_training_goes_by_what_the_first_chose(made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    applied: list[Any] = []
    monkeypatch.setattr(TfidfRidgeJudge, "apply_choices", lambda self, facts: applied.append(facts))
    card = train(tmp_path, made, trained_on(ablations=ABLATIONS)).card
    assert applied == [card["facts"]["held_out"]]


@pytest.mark.push
def test_few_held_out_answers_and_shared_paragraphs_are_warned_of(made: World, tmp_path: Path):
    said: list[str] = []
    card = train(tmp_path / "few", made, trained_on(held_out=0.1), said=said).card
    assert card["counts"]["held_out"]["rated"] < 30
    assert any("warning: Only" in line and "Below 30" in line for line in said)
    assert any("Below 30" in limit for limit in card["limits"])
    assert not any("share" in line for line in said)
    said = []
    card = train(tmp_path / "shared", made, trained_on(split="by_model"), said=said).card
    assert card["held_out"]["shared_paragraphs"] == dict.fromkeys(("answers", "some", "all"), len(made.items))
    assert any("share at least one with the training data" in line for line in said)
    assert any("share at least one with the training data" in limit for limit in card["limits"])
    assert any("width of its intervals" in limit for limit in card["limits"])


@pytest.mark.push
def test_the_ablations_show_what_it_learns_from(judges: Path):
    predictions = load_validation_run(judges, "ridge", open_judge=False).predictions
    targets = [p.example.target for p in predictions]

    def correlation(values: list[Any]) -> float:
        return float(np.corrcoef(np.array(values), targets)[0, 1]) if len(set(values)) > 1 else 0.0

    full = correlation([p.predicted for p in predictions])
    assert full > 0.9
    assert full > correlation([p.without_evidence for p in predictions]) + 0.15
    assert full > correlation([p.others["answer_only"] for p in predictions]) + 0.15
    assert abs(correlation([p.others["question_only"] for p in predictions])) < 0.4
    assert {tuple(sorted(p.others)) for p in predictions} == {
        ("answer_only", "length_only", "majority", "mean", "question_only")
    }


@pytest.mark.push
def test_ablations_are_left_out_where_they_are_not_asked_for(made: World, tmp_path: Path):
    (prediction, *_) = train(tmp_path, made).predictions
    assert prediction.without_evidence is None
    assert sorted(prediction.others) == ["length_only", "majority", "mean"]
    blind = train(tmp_path, made, trained_on(ablations=("without_evidence",)), spec=ridge(evidence=False), name="blind")
    assert blind.predictions[0].without_evidence is None


@pytest.mark.push
def test_the_card_says_what_the_judge_is(judges: Path, made: World):
    card = load_validation_run(judges, "ridge", open_judge=False).card
    assert {key: card[key] for key in ("name", "kind", "aspect", "language", "split", "evidence", "rubric_sha256")} == {
        "name": "ridge", "kind": "tfidf_ridge", "aspect": "correctness", "language": "zh", "split": "both",
        "evidence": True, "rubric_sha256": "",
    }  # fmt: skip
    predictions = load_validation_run(judges, "ridge", open_judge=False).predictions
    residuals = [p.predicted - p.example.target for p in predictions]
    half = conformal_half_width(residuals, 0.9)
    assert card["conformal"] == {"half_width": half.value, "level": 0.9, "n": len(predictions), "why": half.why}
    assert card["held_out"]["models"] == sorted({p.example.model for p in predictions})
    assert card["counts"]["held_out"]["rated"] == len(predictions)
    assert card["metrics"]["pearson"] > 0.9
    assert {"benchbuilder", "python", "numpy", "scikit-learn"} <= set(card["versions"])
    assert card["raters"] == ["r1", "r2", "r3"]
    assert card["intended_use"]
    assert card["limits"]
    assert card["artefact_sha256"] == folder_digest(judges / "ridge" / "final")
    assert str(judges) not in (judges / "ridge" / "card.json").read_text(encoding="utf-8")


@pytest.mark.push
def test_the_final_judge_learned_from_everything(judges: Path, made: World, tmp_path: Path):
    card = load_validation_run(judges, "ridge", open_judge=False).card
    rated, statements = len(made.scores), 2 * len(made.items)
    (tmp_path / "all").mkdir()
    examples = make_examples(made.items, made.answers, made.scores, "correctness", TRAINING)
    assert len(examples) == rated + statements
    facts = TfidfRidgeJudge(ridge()).train(
        drop_some_evidence(examples, 0.1, 1), (), tmp_path / "all", 1, lambda line: None
    )
    assert dict(facts) == card["facts"]["final"]
    assert folder_digest(tmp_path / "all") == card["artefact_sha256"]


@pytest.mark.full
def test_the_same_arguments_give_the_same_files(made: World, tmp_path: Path):
    for name in ("one", "two"):
        train(tmp_path / name, made, trained_on(ablations=ABLATIONS))
    assert folder_digest(tmp_path / "one" / "ridge") == folder_digest(tmp_path / "two" / "ridge")
    train(tmp_path / "three", made, trained_on(ablations=ABLATIONS), seed=2)
    assert folder_digest(tmp_path / "three" / "ridge") != folder_digest(tmp_path / "one" / "ridge")


@pytest.mark.full
@pytest.mark.parametrize("part", ["card.json", "predictions.parquet", "learned.json", "final/ridge.json"])
def test_a_damaged_judge_is_trained_again(made: World, tmp_path: Path, part: str) -> None:
    train(tmp_path, made, EVALUATION)
    file = tmp_path / "ridge" / part
    whole = file.read_bytes()
    place = whole.index(b"0.") + 2 if part == "card.json" else len(whole) // 2
    file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])  # a figure of the card, or a byte
    said: list[str] = []
    train(tmp_path, made, EVALUATION, said=said, retrain=False)
    assert "it is trained again" in said[0]
    assert file.read_bytes() == whole
    file.unlink()
    train(tmp_path, made, EVALUATION, said=[], retrain=False)
    assert file.read_bytes() == whole


@pytest.mark.full
def test_what_was_trained_before_is_trained_again_only_if_something_changed(made: World, tmp_path: Path):
    def trains(rows: World = made, evaluation: EvaluationSpec = EVALUATION, **other: Any) -> bool:
        said: list[str] = []
        train(tmp_path, rows, evaluation, said=said, retrain=False, **other)
        return "already trained" not in said[0]

    changed = World(made.items, made.answers, [score(made.answers[0], 0.123), *made.scores[1:]])
    rubric = tmp_path / "rubric.md"
    rubric.write_text("right is right", encoding="utf-8")
    bound = EVALUATION.model_copy(update={"rubric": FileRef(path=str(rubric))})
    wider = EVALUATION.model_copy(update={"bootstrap": BootstrapSpec(samples=200, level=0.8, seed=1)})
    assert trains()
    assert not trains()
    for case in (
        {"rows": changed}, {"spec": ridge(longest=1)}, {"seed": 3}, {"evaluation": bound}, {"evaluation": wider},
        {"evaluation": trained_on(split="by_model")},
    ):  # fmt: skip
        assert trains(**case)
        assert not trains(**case)
    rubric.write_text("right is wrong", encoding="utf-8")
    assert trains(evaluation=bound)
    (tmp_path / "ridge" / "card.json").write_text("{}", encoding="utf-8")
    assert trains(evaluation=bound)
    assert not trains(evaluation=bound)


@pytest.mark.push
def test_a_judge_that_fails_to_train_leaves_the_old_one(made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    train(tmp_path, made)
    before = folder_digest(tmp_path / "ridge")

    def fail(self: TfidfRidgeJudge, *args: Any) -> None:
        (args[2] / "half").write_text("half")
        raise DataError("no")

    monkeypatch.setattr(TfidfRidgeJudge, "train", fail)
    with pytest.raises(DataError, match="no"):
        train(tmp_path, made, seed=2)
    assert folder_digest(tmp_path / "ridge") == before
    assert not (tmp_path / "ridge.draft").exists()


KILLED = """
import sys
from pathlib import Path
from benchbuilder.evaluation.judge_training import storage
folder = Path(sys.argv[1])
with storage.replacing_judge(folder, "ridge") as draft:
    (draft / "card.json").write_text("{}")
    print("writing", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.push
def test_a_training_that_is_killed_leaves_the_old_judge(made: World, tmp_path: Path):
    train(tmp_path, made)
    before = folder_digest(tmp_path / "ridge")
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "writing\n"
        with pytest.raises(StoreError, match="being trained by another process"):
            train(tmp_path, made, seed=2)
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    time.sleep(0.05)
    assert folder_digest(tmp_path / "ridge") == before
    assert load_validation_run(tmp_path, "ridge").judge is not None
    train(tmp_path, made, seed=2)
    assert folder_digest(tmp_path / "ridge") != before


def test_a_judge_that_was_taken_away_and_not_replaced_comes_back(tmp_path: Path):
    (tmp_path / "ridge.old").mkdir()
    (tmp_path / "ridge.old" / "card.json").write_text('{"kind": "old"}')
    with pytest.raises(DataError), replacing_judge(tmp_path, "ridge"):
        raise DataError("stopped")
    assert (tmp_path / "ridge" / "card.json").read_text() == '{"kind": "old"}'
    with replacing_judge(tmp_path, "ridge") as draft:
        (draft / "card.json").write_text('{"kind": "new"}')
    assert (tmp_path / "ridge" / "card.json").read_text() == '{"kind": "new"}'
    with FileLock(tmp_path / "other.lock"), pytest.raises(StoreError), replacing_judge(tmp_path, "other"):
        pass


@pytest.mark.push
def test_predictions_come_back_as_they_were(judges: Path, tmp_path: Path):
    predictions = load_validation_run(judges, "ridge", open_judge=False).predictions
    odd = replace(predictions[0], without_evidence=None, others={}, side="known_model")
    write_predictions(tmp_path / "p.parquet", [*predictions, odd])
    assert read_predictions(tmp_path / "p.parquet") == [*predictions, odd]
    (tmp_path / "p.parquet").write_bytes(b"no")
    with pytest.raises(DataError, match="predictions of this judge cannot be read"):
        read_predictions(tmp_path / "p.parquet")


@pytest.mark.full
def test_a_training_that_resumes_finds_its_folders_again(made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Interrupted in its last training: what it had trained before is there, unless something changed."""
    learn, found = TfidfRidgeJudge.train, list[list[str]]()

    def interrupted(self: TfidfRidgeJudge, *args: Any) -> Any:
        found.append(sorted(path.name for path in args[2].iterdir()))
        if args[2].name == "final":
            raise KeyboardInterrupt
        return learn(self, *args)

    monkeypatch.setattr(TfidfRidgeJudge, "resumes", True)
    monkeypatch.setattr(TfidfRidgeJudge, "train", interrupted)
    for seed, before in ((1, False), (1, True), (2, False)):
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path, made, trained_on(ablations=("answer_only",)), seed=seed)
        assert [bool(files) for files in found[-3:]] == [before, before, False]
        clean_judge_folders(tmp_path)
        assert (tmp_path / "ridge.draft" / "held_out").is_dir()
    monkeypatch.setattr(TfidfRidgeJudge, "train", learn)
    train(tmp_path, made, trained_on(ablations=("answer_only",)), seed=2)
    train(tmp_path / "whole", made, trained_on(ablations=("answer_only",)), seed=2)
    assert folder_digest(tmp_path / "ridge") == folder_digest(tmp_path / "whole" / "ridge")
    assert not (tmp_path / "ridge.draft").exists()


def test_what_a_killed_training_left_is_cleared_away_unless_somebody_writes_it(tmp_path: Path):
    for left in ("ridge.draft", "busy.draft", "taken.old"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "card.json").write_text("{}")
    with FileLock(tmp_path / "busy.lock"):
        clean_judge_folders(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["busy.draft", "taken"]
    clean_judge_folders(tmp_path / "none")


@pytest.mark.push
@pytest.mark.parametrize(("part", "key"), [("final", "artefact_sha256"), ("held_out", "held_out_sha256")])
def test_a_changed_artefact_does_not_pass_for_the_judge(judges: Path, tmp_path: Path, part: str, key: str):
    shutil.copytree(judges / "ridge", tmp_path / "ridge")
    card = read_trained_judge_card(tmp_path, "ridge")
    assert card[key] == folder_digest(verify_judge_part(tmp_path / "ridge", part, card))
    with (tmp_path / "ridge" / part / "ridge.json").open("a") as stream:
        stream.write(" ")
    with pytest.raises(DataError, match="'ridge' was changed since it was trained"):
        verify_judge_part(tmp_path / "ridge", part, card)
    if part == "held_out":
        with pytest.raises(DataError, match="was changed since"):
            load_validation_run(tmp_path, "ridge")
    shutil.rmtree(tmp_path / "ridge" / part)
    with pytest.raises(DataError, match="was changed since") as told:
        verify_judge_part(tmp_path / "ridge", part, card)
    assert told.value.why == "it is gone"


@pytest.mark.push
@pytest.mark.parametrize(
    "damage",
    [{"conformal": None}, {"conformal": {"half_width": -1}}, {"spec": []}, {"name": None}, {"artefact_sha256": "no"},
     {"held_out": {"models": "jia"}}],
)  # fmt: skip
def test_a_card_that_lacks_something_is_no_card(judges: Path, tmp_path: Path, damage: dict[str, Any]):
    card = read_trained_judge_card(judges, "ridge")
    (tmp_path / "card.json").write_text(json.dumps({**card, **damage}), encoding="utf-8")
    with pytest.raises(DataError, match="is not a card of a judge") as told:
        read_judge_card(tmp_path)
    assert next(iter(damage)) in told.value.why
    (tmp_path / "card.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match="is not a card of a judge"):
        read_judge_card(tmp_path)


@pytest.mark.push
def test_predictions_without_a_column_are_damaged(judges: Path, tmp_path: Path):
    table = pq.read_table(judges / "ridge" / "predictions.parquet").drop_columns(["target"])
    pq.write_table(table, tmp_path / "p.parquet")
    with pytest.raises(DataError, match="predictions of this judge cannot be read"):
        read_predictions(tmp_path / "p.parquet")


@pytest.mark.push
def test_statements_that_served_as_answers_are_written_down_as_learned(judges: Path, made: World):
    learned = read_learned_hashes(judges / "ridge")
    for item in made.items[:5]:
        for said in (item.payload.answer, item.payload.answer_wrong):
            assert case_hash(make_case(item, said)) in learned


def test_files_of_a_spec_lie_where_the_recipe_found_them():
    at = {"path": "net", "resolved_path": "/somewhere/net"}
    now, card = encoder(path=at), {"name": "e", "spec": plain_spec(encoder(path=at))}
    assert judge_spec(card).path.resolved_path == ""
    assert judge_spec(card, now) is now
    changed = judge_spec(card, encoder(path=at, epochs=9))
    assert (changed.path.resolved_path, changed.epochs) == ("/somewhere/net", 1)


def encoder(**changes: Any) -> Any:
    settings = {"max_length": None, "epochs": 1, "batch_size": 1, "learning_rate": 0.1, "warm_up": 0.0,
                "weight_decay": 0.0, "max_grad_norm": 1.0, "choose": "last", "choose_share": 0.1,
                "patience": None}  # fmt: skip
    return EncoderSpec.model_validate({"kind": "encoder", "aspect": "correctness", **settings, **changes})


@pytest.mark.push
def test_what_is_missing_or_damaged_is_said_with_a_way_on(made: World, tmp_path: Path, judges: Path):
    with pytest.raises(DataError, match="the judge 'ridge' is not trained yet") as told:
        load_validation_run(tmp_path, "ridge")
    assert "benchbuild judge train ridge" in told.value.next
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "card.json").write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        read_trained_judge_card(tmp_path, "bad")
    with pytest.raises(DataError, match="cannot read the rubric"):
        rubric_digest(FileRef(path=str(tmp_path / "none.md")))
    with pytest.raises(RecipeError, match="does not say what judges are trained on"):
        train(tmp_path, made, EVALUATION.model_copy(update={"training": None}))


@pytest.mark.push
def test_other_settings_are_noticed(judges: Path, tmp_path: Path):
    card, now = read_trained_judge_card(judges, "ridge"), trained_on(reference_drop=0.1)
    assert changed_settings(card, ridge(), now, 1) == []
    assert changed_settings(card, ridge(longest=1), now, 1) == ["evaluation.judges.ridge.longest"]
    assert changed_settings(card, ridge(), now, 2) == ["seed"]
    other = trained_on(reference_drop=0.1, split="by_model", near=0.9)
    assert changed_settings(card, ridge(), other, 1) == ["evaluation.training.near", "evaluation.training.split"]
    (tmp_path / "rubric.md").write_text("right is right", encoding="utf-8")
    bound = now.model_copy(update={"rubric": FileRef(path=str(tmp_path / "rubric.md"))})
    assert changed_settings(card, ridge(), bound, 1) == ["evaluation.rubric"]
    wider = now.model_copy(update={"bootstrap": BootstrapSpec(samples=200, level=0.8, seed=1)})
    assert changed_settings(card, ridge(), wider, 1) == ["evaluation.bootstrap.level"]
    assert changed_settings(card, ridge(), now.model_copy(update={"training": None}), 1)


def test_simple_predictors_know_ratings_and_lengths_alone(made: World):
    examples = make_examples(made.items, made.answers, made.scores, "correctness", TRAINING)
    rated = [example for example in examples if not example.synthetic]
    long = [replace(e, target=float(len(e.case.answer) > 12)) for e in rated]
    found = simple_predictions([*long[:150], *(e for e in examples if e.synthetic)], long[150:])
    targets = [example.target for example in long[:150]]
    assert found["mean"] == pytest.approx([sum(targets) / len(targets)] * len(long[150:]))
    assert set(found["majority"]) == {float(sum(targets) >= len(targets) / 2)}
    assert np.corrcoef(found["length_only"], [e.target for e in long[150:]])[0, 1] > 0.9
    assert all(0 <= value <= 1 for value in found["length_only"])
    alike = [replace(e, case=replace(e.case, answer="same")) for e in rated[:20]]
    assert simple_predictions(alike, alike[:3])["length_only"] == pytest.approx(
        [np.mean([e.target for e in alike])] * 3
    )


def test_a_kind_that_a_service_trains_or_that_needs_no_training_is_not_trained_here(made: World, tmp_path: Path):
    for kind, told in (("similarity", "needs no training"), ("openai_finetuned", "benchbuild finetune export ridge")):
        with pytest.raises(RecipeError, match=told):
            train(tmp_path, made, spec=JudgeSpec(kind=kind, aspect="correctness"))
