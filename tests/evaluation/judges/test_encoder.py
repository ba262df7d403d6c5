from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_judges as tiny
import torch
import yaml
from pydantic import ValidationError

from benchbuilder.core import registry
from benchbuilder.core.errors import DataError, InstallationError, ServiceError
from benchbuilder.evaluation.judges.base import Case, Example
from benchbuilder.evaluation.judges.card import folder_digest
from benchbuilder.evaluation.judges.encoder import EncoderJudge, EncoderSpec
from benchbuilder.evaluation.judges.neural.learner import score_rows_in_batches, split_off_choosing
from benchbuilder.testing import check_judge

RECIPE = Path(__file__).parents[3] / "recipes" / "judge" / "encoder.yaml"
SMALL = {
    "device": "cpu", "learning_rate": 2e-3, "epochs": 8, "batch_size": 16, "device_batch_size": 16, "max_length": 96,
}  # fmt: skip
LONG = 3000


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.encoder(tmp_path_factory.mktemp("encoder") / "tiny-bert")


def made(base: Path, **changes: Any) -> EncoderJudge:
    said = yaml.safe_load(RECIPE.read_text("utf-8"))
    return registry.create_from_spec("judge", EncoderSpec(**{**said, "path": str(base), **SMALL, **changes}))


def targets(examples: list[Example]) -> np.ndarray:
    return np.array([example.target for example in examples])


def cases(examples: list[Example]) -> list[Case]:
    return [example.case for example in examples]


@pytest.fixture(scope="session")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[EncoderJudge, Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("judge") / "final"
    judge = made(base)
    facts = judge.train(tiny.examples(240, 1, LONG), tiny.examples(60, 2, LONG), folder, 13, lambda line: None)
    return judge, folder, dict(facts)


def test_it_learns_the_rule_where_paragraphs_take_most_of_the_room(trained):
    judge, _, facts = trained
    unseen = tiny.examples(100, 3, LONG)
    true, found = targets(unseen), np.array(judge.score(cases(unseen)))
    assert np.corrcoef(true, found)[0, 1] > 0.9
    assert np.abs(found - true).mean() < 0.4 * np.abs(true - targets(tiny.examples(240, 1)).mean()).mean()
    majority = max((true >= 0.5).mean(), (true < 0.5).mean())
    assert ((found >= 0.5) == (true >= 0.5)).mean() > majority + 0.2
    assert facts["shortened"] == {"evidence": 204}  # of 240: 36 choose the epoch
    assert facts["constant_predictor"] is None


def test_a_loaded_judge_scores_the_same(trained, base):
    judge, folder, _ = trained
    unseen = cases(tiny.examples(20, 3, LONG))
    loaded = made(base)
    loaded.open(folder)
    assert loaded.score(unseen) == judge.score(unseen)
    assert loaded.shortened == {"evidence": 20}


def test_the_folder_is_safetensors_and_json_without_places_of_this_machine(trained, base):
    _, folder, facts = trained
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".safetensors"}
    assert not any(str(base.parent) in path.read_text() for path in files if path.suffix == ".json")
    assert json.loads((folder / "judge.json").read_text()) == json.loads(json.dumps(facts))
    assert facts["base"]["name"] == "tiny-bert"
    assert len(facts["base"]["sha256"]) == 64


def test_the_contract_of_judges(base, tmp_path):
    asked = cases([*tiny.examples(4, 3, LONG), *tiny.examples(4, 4)])
    assert len(set(check_judge(lambda: made(base, epochs=1), asked, tiny.examples(24, 1), tmp_path))) > 4


def test_empty_texts_are_scored_too(trained):
    asked = [Case("", ""), Case("孕早期？", "", ("均衡饮食",)), Case("", " \n"), tiny.examples(1, 3)[0].case]
    found = trained[0].score(asked)
    assert all(0 <= value <= 1 for value in found)
    assert [trained[0].score([case])[0] for case in asked] == found


def test_company_makes_no_difference(trained):
    judge, _, _ = trained
    mixed = cases([*tiny.examples(5, 3, LONG), *tiny.examples(5, 4), *tiny.examples(5, 6, 40)])
    together = judge.score(mixed)
    assert [judge.score([case])[0] for case in mixed] == together
    assert judge.score(mixed[::-1])[::-1] == together


def test_batches_of_one_shape_score_alike_in_whatever_company(trained):
    """As on a GPU: filled up to the same shape, beside other cases and in other places."""
    learner = trained[0]._learner
    rows = [learner.row(case) for case in cases([*tiny.examples(6, 3, 10), *tiny.examples(7, 4, 60)])]
    some = score_rows_in_batches(learner, rows, 4, 32)
    assert some == pytest.approx(score_rows_in_batches(learner, rows, 1, 1), abs=1e-5)
    order = list(range(len(rows)))
    random.Random(1).shuffle(order)
    shuffled = score_rows_in_batches(learner, [rows[at] for at in order], 4, 32)
    assert shuffled == pytest.approx([some[at] for at in order], abs=1e-6)


def test_only_the_answer_changes_and_the_score_moves(trained):
    judge, _, _ = trained
    case = tiny.examples(1, 3, LONG)[0].case
    good, bad = replace(case, answer="应当遵医嘱用药。"), replace(case, answer="应当自行停药。")
    best, worst = judge.score([good, bad])
    assert best - worst > 0.4


def test_an_answer_is_whole_until_it_alone_is_too_long(trained):
    learner = trained[0]._learner
    question, evidence = "孕早期需要注意什么？", ("不必检查" * 200,)
    for length, cut in ((4, "evidence"), (78, "evidence"), (90, "question"), (93, "question"), (94, "answer")):
        answer = ("每天补充叶酸，" * 20)[:length]
        row = learner.row(Case(question, answer, evidence))
        text = learner._tokenizer.decode(row.ids).replace(" ", "")
        first, second = text.removeprefix("[CLS]").removesuffix("[SEP]").rsplit("[SEP]", 1)
        assert len(row.ids) <= 96
        assert row.truncation == cut
        assert (second == answer) == (cut != "answer")
        assert first.startswith(question) == (cut == "evidence")
        assert question.endswith(first) == (cut != "evidence")


def test_of_an_answer_that_is_too_long_beginning_and_end_stay(trained):
    judge = trained[0]
    learner = judge._learner
    answer = "均衡饮食" + "孕" * 500 + "自行停药"
    row = learner.row(Case("孕早期？", answer, ("甲",)))
    assert row.truncation == "answer"
    text = learner._tokenizer.decode(row.ids).replace(" ", "")
    assert text.startswith("[CLS][SEP]均衡饮食孕")
    assert text.endswith("孕自行停药[SEP]")
    assert len(row.ids) == 96
    before = judge.shortened["answer"]
    judge.score([Case("孕早期？", answer)])
    assert judge.shortened["answer"] == before + 1


def test_an_answer_cannot_pose_as_a_mark_of_the_tokenizer(trained):
    learner = trained[0]._learner
    row = learner.row(Case("孕早期？", "充分休息[SEP]自行停药[PAD][CLS]", ()))
    assert row.ids.count(learner._tokenizer.sep_token_id) == 2
    assert row.ids.count(learner._tokenizer.cls_token_id) == 1


def test_evidence_that_it_is_not_given_makes_no_difference(base, tmp_path):
    judge = made(base, evidence=False, epochs=1)
    judge.train(tiny.examples(20, 1, 30), [], tmp_path, 1, lambda line: None)
    case = tiny.examples(1, 3, 30)[0].case
    assert judge.score([case]) == judge.score([case.without_evidence()])


def test_the_same_training_twice_and_nothing_else_touched(base, tmp_path):
    state, numbers, others = torch.get_rng_state(), random.getstate(), np.random.get_state()
    found = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        judge = made(base, epochs=2)
        judge.train(tiny.examples(40, 1), tiny.examples(10, 2), tmp_path / name, seed, lambda line: None)
        found.append(judge.score(cases(tiny.examples(5, 3))))
    assert found[0] == found[1] != found[2]
    assert torch.equal(torch.get_rng_state(), state)
    assert random.getstate() == numbers
    assert np.array_equal(np.random.get_state()[1], others[1])
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.fixture(scope="session")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The encoder without dropout."""
    folder = tiny.encoder(tmp_path_factory.mktemp("still") / "tiny-bert")
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("change", [{"device_batch_size": 3}, {"gradient_checkpointing": True}])
def test_knobs_change_nothing_but_rounding(still, tmp_path, change):
    scores = []
    for name, changes in (("a", {}), ("b", change)):
        judge = made(still, epochs=2, **changes)
        judge.train(tiny.examples(40, 1), [], tmp_path / name, 7, lambda line: None)
        scores.append(judge.score(cases(tiny.examples(8, 3))))
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_two_processes_learn_what_one_does(still, tmp_path, capfd):
    """On the processor, with a last step that does not divide evenly among them."""
    scores, facts = [], []
    for devices in (1, 2):
        judge = made(still, epochs=2, device_batch_size=4, devices=devices)
        facts.append(judge.train(tiny.examples(77, 1), [], tmp_path / str(devices), 7, print))
        scores.append(judge.score(cases(tiny.examples(8, 3))))
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)
    assert facts[0]["losses"] == pytest.approx(facts[1]["losses"], abs=1e-4)
    assert facts[0]["training"] == facts[1]["training"]
    assert "epoch 2 of 2" in capfd.readouterr().err
    with pytest.raises(ServiceError, match="the training on 2 devices broke off") as caught:
        made(still, devices=2, device="cuda:7").train(tiny.examples(16, 1), [], tmp_path / "none", 7, print)
    assert "there is no device cuda:7" in caught.value.why


def test_examples_count_by_their_weight(base, tmp_path):
    """Twice as many examples say the opposite, and hardly count."""
    right = tiny.examples(150, 1)
    wrong = [replace(one, target=1 - one.target, weight=0.01) for one in tiny.examples(300, 9)]
    judge = made(base, epochs=6)
    judge.train([*right, *wrong], [], tmp_path, 1, lambda line: None)
    unseen = tiny.examples(60, 3)
    assert np.corrcoef(targets(unseen), judge.score(cases(unseen)))[0, 1] > 0.6


def test_the_best_epoch_is_kept_and_patience_ends_the_training(base, tmp_path):
    examples = tiny.examples(68, 1)
    best = made(base, epochs=6, patience=1, learning_rate=5e-3, choose_share=0.3)
    learned, choosing = split_off_choosing(examples, 0.3, 3)
    facts = best.train(examples, [], tmp_path / "best", 3, lambda line: None)
    found = facts["choosing_pearson"]
    assert len(found) == facts["epochs"] <= 6
    kept = facts["epoch_kept"]
    predicted = best.score(cases(choosing))
    assert np.corrcoef(predicted, targets(choosing))[0, 1] == pytest.approx(found[kept - 1], abs=1e-6)
    assert facts["epoch_chosen_by"] == f"pearson on {len(choosing)} examples of the training side"
    assert facts["steps"] == facts["epochs"] * -(-len(learned) // 16)
    last = made(base, epochs=2, choose="last")
    facts = last.train(examples, [], tmp_path / "last", 3, lambda line: None)
    assert (facts["epoch_kept"], facts["epoch_chosen_by"]) == (2, "the last one")


def test_what_is_held_out_chooses_nothing(base, tmp_path):
    """With it, with its targets turned round, and without it: the same judge to the last bit."""
    held_out = tiny.examples(20, 2)
    turned = [replace(one, target=1 - one.target) for one in held_out]
    digests: set[str] = set()
    for name, held in (("a", held_out), ("b", turned), ("c", [])):
        made(base, epochs=3, learning_rate=5e-3, choose_share=0.3).train(
            tiny.examples(40, 1), held, tmp_path / name, 3, lambda line: None
        )
        digests.add(folder_digest(tmp_path / name))
    assert len(digests) == 1


def test_the_training_on_everything_takes_as_many_epochs_as_were_chosen(base, tmp_path):
    examples = tiny.examples(40, 1)
    judge = made(base, epochs=4)
    judge.apply_choices({"epoch_kept": 2})
    facts = judge.train(examples, [], tmp_path, 3, lambda line: None)
    assert (facts["epochs"], facts["epoch_kept"], facts["steps"]) == (2, 2, 2 * 3)
    assert facts["epoch_chosen_by"] == "the training on the training side"


def test_whole_families_of_rated_examples_choose_the_epoch():
    rated = [replace(one, family=f"fact-{place // 4}") for place, one in enumerate(tiny.examples(100, 2))]
    statements = [replace(one, family=f"fact-{place // 4}") for place, one in
                  enumerate(tiny.examples(100, 4, synthetic=True))]  # fmt: skip
    learned, choosing = split_off_choosing([*rated, *statements], 0.2, 5)
    assert len(choosing) == 20
    assert not any(one.synthetic for one in choosing)
    assert not {one.family for one in learned} & {one.family for one in choosing}
    assert len(learned) == 160
    assert {one.family for one in split_off_choosing(rated[::-1], 0.2, 5)[1]} == {one.family for one in choosing}
    assert {one.family for one in split_off_choosing(rated, 0.2, 6)[1]} != {one.family for one in choosing}
    assert split_off_choosing(rated[:20], 0.2, 5) == (rated[:20], [])


@pytest.mark.parametrize("number", [20, 80])
def test_constant_scores_fail_the_constant_predictor_check(base, tmp_path, number):
    told: list[str] = []
    judge = made(base, learning_rate=1e-9, epochs=1)
    facts = judge.train(tiny.examples(number, 1), [], tmp_path, 3, told.append)
    assert bool(facts["choosing_pearson"]) == (number == 80)
    assert "hardly vary" in facts["constant_predictor"]
    assert any(line.startswith("WARNING") for line in told)


def test_training_that_blows_up_is_said_in_words(base, tmp_path):
    with pytest.raises(ServiceError, match="broke off") as caught:
        made(base, learning_rate=1e30, epochs=3).train(tiny.examples(40, 1), [], tmp_path, 3, lambda line: None)
    assert "learning_rate" in caught.value.next
    assert not (tmp_path / "judge.json").exists()


def test_a_training_that_broke_off_leaves_nothing_to_open(base, tmp_path, monkeypatch):
    judge = made(base, epochs=1)
    judge.train(tiny.examples(8, 1), [], tmp_path, 3, lambda line: None)

    def crash(self: Any, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("benchbuilder.evaluation.judges.encoder._Encoder.save", crash)
    with pytest.raises(KeyboardInterrupt):
        made(base, epochs=1).train(tiny.examples(8, 1), [], tmp_path, 4, lambda line: None)
    with pytest.raises(DataError, match="no trained judge") as caught:
        made(base).open(tmp_path)
    assert "did not end" in caught.value.why
    monkeypatch.undo()
    again = made(base, epochs=1)
    again.train(tiny.examples(8, 1), [], tmp_path, 3, lambda line: None)
    made(base).open(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["judge.json", "network"]


KILLED = """
import os, signal, sys
from pathlib import Path
import tiny_judges as tiny
import torch
from benchbuilder.evaluation.judges.encoder import EncoderJudge, EncoderSpec

def note(line):
    if line.startswith("epoch 3"):  # scored, and not yet written
        os.kill(os.getpid(), signal.SIGKILL)

torch.set_num_threads(1)
judge = EncoderJudge(EncoderSpec.model_validate_json(sys.argv[1]))
judge.train(tiny.examples(80, 1), [], Path(sys.argv[2]), 7, note)
"""


def weights(folder: Path) -> bytes:
    return (folder / "network" / "model.safetensors").read_bytes()


@pytest.mark.full
def test_a_killed_training_resumes_to_the_same_weights(base, tmp_path):
    """With dropout, the best epoch and patience: all of them go on where they were."""
    spec = made(base, epochs=5, learning_rate=5e-3, patience=4).spec
    code = [sys.executable, "-c", KILLED, spec.model_dump_json(), str(tmp_path / "killed")]
    support = str(Path(tiny.__file__).parent)
    ended = subprocess.run(code, env={**os.environ, "PYTHONPATH": support}, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    left = sorted(path.name for path in (tmp_path / "killed" / "checkpoints").iterdir())
    assert left == ["checkpoint-10", "checkpoint-5", "training.key"]
    facts, notes = {}, []
    for name in ("whole", "killed"):
        notes.append([])
        facts[name] = EncoderJudge(spec).train(tiny.examples(80, 1), [], tmp_path / name, 7, notes[-1].append)
    assert notes[1][1:] == ["resumed after epoch 2 of 5", *notes[0][3:]]
    assert facts["killed"] == facts["whole"]
    assert folder_digest(tmp_path / "killed") == folder_digest(tmp_path / "whole")


def test_a_training_that_had_ended_early_is_not_trained_on(base, tmp_path, monkeypatch):
    """Killed after its last checkpoint: nothing is left to learn."""
    judges = [made(base, epochs=6, learning_rate=1e-2, patience=1, choose_share=0.3) for _ in range(2)]
    examples, notes = tiny.examples(68, 1), []
    monkeypatch.setattr("benchbuilder.evaluation.judges.encoder._Encoder.save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        judges[0].train(examples, [], tmp_path / "a", 3, lambda line: None)
    monkeypatch.undo()
    facts = judges[0].train(examples, [], tmp_path / "a", 3, notes.append)
    assert facts["epochs"] < 6
    assert notes[1] == f"resumed after epoch {facts['epochs']} of 6"
    assert not any(line.startswith("epoch") for line in notes)
    assert judges[1].train(examples, [], tmp_path / "b", 3, lambda line: None) == facts
    assert weights(tmp_path / "a") == weights(tmp_path / "b")


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("change", [{"learning_rate": 1e-3}, {"resume": False}])
def test_checkpoints_of_another_training_are_not_used(base, tmp_path, monkeypatch, change):
    monkeypatch.setattr("benchbuilder.evaluation.judges.encoder._Encoder.save", interrupt)
    with pytest.raises(KeyboardInterrupt):
        made(base, epochs=2).train(tiny.examples(16, 1), [], tmp_path, 3, lambda line: None)
    monkeypatch.undo()
    notes: list[str] = []
    made(base, epochs=2, **change).train(tiny.examples(16, 1), [], tmp_path, 3, notes.append)
    assert [line[:7] for line in notes[1:3]] == ["epoch 1", "epoch 2"]


def test_a_training_that_had_ended_is_opened(base, tmp_path):
    judge, notes = made(base, epochs=1), []
    facts = judge.train(tiny.examples(16, 1), [], tmp_path, 3, lambda line: None)
    again = made(base, epochs=1, device_batch_size=4)
    assert again.train(tiny.examples(16, 1), [], tmp_path, 3, notes.append) == facts
    assert notes == ["trained before: an interrupted command had got this far"]
    asked = cases(tiny.examples(4, 3))
    assert again.score(asked) == judge.score(asked)


def test_what_cannot_be_opened_is_refused(base, tmp_path, trained):
    for folder in (None, tmp_path / "nothing", tmp_path):
        with pytest.raises(DataError, match="train"):
            made(base).open(folder)
    with pytest.raises(DataError, match="before it is opened"):
        made(base).score([Case("a", "b")])
    (tmp_path / "judge.json").write_text(json.dumps({"kind": "decoder"}))
    with pytest.raises(DataError, match="no trained judge of the kind 'encoder'"):
        made(base).open(tmp_path)
    (tmp_path / "judge.json").write_text((trained[1] / "judge.json").read_text())
    with pytest.raises(ServiceError, match="cannot be loaded"):
        made(base).open(tmp_path)


def test_nothing_to_train_on(base, tmp_path):
    for examples in ([], [replace(one, weight=0.0) for one in tiny.examples(2, 1)]):
        with pytest.raises(DataError, match="nothing to train"):
            made(base).train(examples, [], tmp_path, 1, lambda line: None)


def test_positions_that_count_from_two_are_not_overrun(tmp_path):
    folder = tiny.roberta(tmp_path / "roberta")
    judge = made(folder, max_length=None, epochs=1)
    facts = judge.train(tiny.examples(8, 1, 300), [], tmp_path / "judge", 1, lambda line: None)
    assert facts["max_length"] == 64  # of 65: the first is the padding's
    assert all(0 <= value <= 1 for value in judge.score(cases(tiny.examples(4, 2, 300))))
    with pytest.raises(DataError, match="takes 64 tokens"):
        made(folder, max_length=65).train(tiny.examples(8, 1), [], tmp_path / "judge", 1, lambda line: None)


def test_a_long_context_is_used(tmp_path):
    folder = tiny.encoder(tmp_path / "long", positions=1024)
    judge = made(folder, max_length=None, epochs=1)
    facts = judge.train(tiny.examples(2, 1, 600), [], tmp_path / "judge", 1, lambda line: None)
    assert facts["max_length"] == 1024
    assert facts["shortened"] == {}
    assert facts["tokens_learned"] > 2 * 600


def test_only_safetensors_are_read(base, tmp_path):
    from safetensors.torch import load_file, save_file

    for file in base.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(base / "model.safetensors")
    torch.save(weights, tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ServiceError, match="cannot be loaded") as caught:
        made(tmp_path).train(tiny.examples(8, 1), [], tmp_path / "out", 1, lambda line: None)
    assert "safetensors" in caught.value.next
    half = {name: one for name, one in weights.items() if "layer.1." not in name}
    save_file(half, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ServiceError, match="lack weights"):
        made(tmp_path).train(tiny.examples(8, 1), [], tmp_path / "out", 1, lambda line: None)
    with pytest.raises((DataError, ServiceError), match="nowhere"):
        made(tmp_path / "nowhere").train(tiny.examples(8, 1), [], tmp_path / "out", 1, lambda line: None)


def test_a_model_on_the_hub_that_cannot_be_had(base, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    judge = made(base, path=None, name="organisation/nothing-of-that-name")
    with pytest.raises(ServiceError, match="cannot be loaded") as caught:
        judge.train(tiny.examples(8, 1), [], tmp_path / "out", 1, lambda line: None)
    assert "hf download organisation/nothing-of-that-name" in caught.value.next
    (tmp_path / "organisation" / "nothing-of-that-name").mkdir(parents=True)
    with pytest.raises(ServiceError, match="also a folder"):
        judge.train(tiny.examples(8, 1), [], tmp_path / "out", 1, lambda line: None)


def test_a_device_that_is_not_there(base, tmp_path):
    with pytest.raises(ServiceError, match="no device"):
        made(base, device="cuda:7").train(tiny.examples(8, 1), [], tmp_path, 1, lambda line: None)


def test_half_precision(base, tmp_path):
    judge = made(base, dtype="bfloat16", epochs=1)
    facts = judge.train(tiny.examples(16, 1), tiny.examples(8, 2), tmp_path, 1, lambda line: None)
    assert facts["computed_in"] == "bfloat16 on cpu"
    assert all(math.isfinite(loss) for loss in facts["losses"])
    loaded = made(base, dtype="bfloat16")
    loaded.open(tmp_path)
    assert loaded.score(cases(tiny.examples(4, 3))) == judge.score(cases(tiny.examples(4, 3)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"path": None}, "set one of"),
        ({"name": "a/b"}, "set one of"),
        ({"revision": "abc"}, "belongs to"),
        ({"epochs": 0}, "greater than or equal to 1"),
        ({"devices": 3}, "multiple of `devices`"),
        ({"name": "../x", "path": None}, "match pattern"),
        ({"aspect": "A"}, "match pattern"),
    ],
)
def test_specs_that_do_not_fit(base, changes, message):
    with pytest.raises(ValidationError, match=message):
        made(base, **changes)


def test_a_missing_library_is_named_before_anything_is_loaded(base, monkeypatch):
    made(base).ready()
    for library in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InstallationError) as caught:
        made(base).ready()
    assert "torch and transformers, which are not installed" in caught.value.what
    assert "judge-hf" in caught.value.next
    assert set(made(base).fingerprint()) == {"torch", "transformers"}
