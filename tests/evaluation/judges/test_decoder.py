from __future__ import annotations

import json
import random
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
from benchbuilder.core.errors import DataError, InstallationError, RecipeError, ServiceError
from benchbuilder.evaluation.judges.base import Case, Example
from benchbuilder.evaluation.judges.decoder import DecoderJudge, DecoderSpec, ScoreGrid
from benchbuilder.evaluation.judges.neural.inputs import VARIABLES
from benchbuilder.evaluation.judges.neural.learner import score_rows_in_batches
from benchbuilder.models import prompts
from benchbuilder.testing import check_judge

ROOT = Path(__file__).parents[3]
PROMPT = ROOT / "prompts" / "zh" / "judge_decoder.j2"
SMALL = {
    "device": "cpu", "prompt": str(PROMPT), "learning_rate": 5e-3, "dropout": 0.0, "epochs": 7, "batch_size": 8,
    "device_batch_size": 8, "max_length": 112, "gradient_checkpointing": False,
}  # fmt: skip
LONG = 3000


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.decoder(tmp_path_factory.mktemp("decoder") / "tiny-llama")


def made(base: Path, **changes: Any) -> DecoderJudge:
    said = yaml.safe_load((ROOT / "recipes" / "judge" / "decoder.yaml").read_text("utf-8"))
    return registry.create_from_spec("judge", DecoderSpec(**{**said, "path": str(base), **SMALL, **changes}))


def targets(examples: list[Example]) -> np.ndarray:
    return np.array([example.target for example in examples])


def cases(examples: list[Example]) -> list[Case]:
    return [example.case for example in examples]


@pytest.fixture(scope="session")
def trained(base: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[DecoderJudge, Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("judge") / "final"
    judge = made(base)
    facts = judge.train(tiny.examples(376, 1, LONG), tiny.examples(40, 2, LONG), folder, 13, lambda line: None)
    return judge, folder, dict(facts)


def test_it_learns_the_rule_where_paragraphs_take_most_of_the_room(trained):
    judge, _, facts = trained
    unseen = tiny.examples(100, 3, LONG)
    true, found = targets(unseen), np.array(judge.score(cases(unseen)))
    assert np.corrcoef(true, found)[0, 1] > 0.85
    assert np.abs(found - true).mean() < 0.6 * np.abs(true - targets(tiny.examples(320, 1)).mean()).mean()
    majority = max((true >= 0.5).mean(), (true < 0.5).mean())
    assert ((found >= 0.5) == (true >= 0.5)).mean() > majority + 0.2
    assert facts["shortened"] == {"evidence": 320}  # of 376: 56 choose the epoch
    assert facts["constant_predictor"] is None
    assert facts["trained"] < facts["parameters"] / 3


def test_only_the_answer_changes_and_the_score_moves(trained):
    judge, _, _ = trained
    case = tiny.examples(1, 3, LONG)[0].case
    good, bad = replace(case, answer="应当遵医嘱用药，每天补充叶酸。"), replace(case, answer="应当自行停药，大量饮酒。")
    best, worst = judge.score([good, bad])
    assert best - worst > 0.25


def test_a_loaded_judge_scores_the_same_by_the_prompt_it_was_trained_with(trained, base, tmp_path):
    judge, folder, _ = trained
    unseen = cases(tiny.examples(12, 3, LONG))
    loaded = made(base)
    loaded.open(folder)
    assert loaded.score(unseen) == judge.score(unseen)
    assert loaded.shortened == {"evidence": 12}
    other = tmp_path / "other.j2"
    other.write_text("{{ question }}")
    loaded = made(base, prompt=str(other))
    loaded.open(folder)
    assert loaded.score(unseen) == judge.score(unseen)


def test_adapters_alone_are_kept_without_places_of_this_machine(trained, base):
    _, folder, facts = trained
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    wanted = ["judge.json", "network/README.md", "network/adapter_config.json", "network/adapter_model.safetensors"]
    assert files == [name for name in wanted if name in files]
    assert not any(str(base.parent) in path.read_text() for path in folder.rglob("*.json"))
    assert (
        json.loads((folder / "network" / "adapter_config.json").read_text())["base_model_name_or_path"] == "tiny-llama"
    )
    assert json.loads((folder / "judge.json").read_text()) == json.loads(json.dumps(facts))


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
    mixed = cases([*tiny.examples(4, 3, LONG), *tiny.examples(4, 4), *tiny.examples(4, 6, 10)])
    together = judge.score(mixed)
    assert [judge.score([case])[0] for case in mixed] == together
    assert judge.score(mixed[::-1])[::-1] == together


def test_batches_of_one_shape_score_alike_in_whatever_company(trained):
    """As on a GPU: filled up to the same shape, beside other cases and in other places."""
    learner = trained[0]._learner
    rows = [learner.row(case) for case in cases([*tiny.examples(6, 3), *tiny.examples(7, 4, 30)])]
    some = score_rows_in_batches(learner, rows, 4, 64)
    assert some == pytest.approx(score_rows_in_batches(learner, rows, 1, 1), abs=1e-4)
    order = list(range(len(rows)))
    random.Random(1).shuffle(order)
    shuffled = score_rows_in_batches(learner, [rows[at] for at in order], 4, 64)
    assert shuffled == pytest.approx([some[at] for at in order], abs=1e-6)


def plainly(learner: Any, row: Any, tokens: tuple[int, ...]) -> torch.Tensor:
    """Log-probabilities after each token of a value, computed the long way."""
    ids = torch.tensor([[*row.ids, *tokens]])
    with torch.no_grad():
        return torch.log_softmax(learner.model(input_ids=ids).logits[0], dim=-1)[len(row.ids) - 1 :]


def test_the_score_is_the_mean_of_the_values_by_their_probability(trained):
    """Against every value written out: with each choice among what the grid allows there."""
    learner = trained[0]._learner
    grid = learner._grid
    for example in tiny.examples(5, 3, 100):
        row = learner.row(example.case)
        shares = []
        for value in grid.tokens:
            logs, share = plainly(learner, row, value), 0.0
            for at, token in enumerate(value):
                allowed = sorted({other[at] for other in grid.tokens if other[:at] == value[:at] and len(other) > at})
                share += float(torch.log_softmax(logs[at][allowed], dim=-1)[allowed.index(token)])
            shares.append(np.exp(share))
        assert sum(shares) == pytest.approx(1)
        expected = sum(share * value for share, value in zip(shares, grid.values, strict=True))
        assert trained[0].score([example.case])[0] == pytest.approx(expected, abs=1e-5)


def test_the_loss_counts_the_score_and_its_end_alone(trained):
    learner = trained[0]._learner
    rows = [learner.row(example.case) for example in [*tiny.examples(2, 3, 100), *tiny.examples(1, 4)]]
    goals = [0.3, 1.0, 0.0]
    with torch.no_grad():
        found = learner.losses(learner.model, rows, goals).tolist()
    for row, goal, loss in zip(rows, goals, found, strict=True):
        tokens = learner._grid.tokens_of(goal)
        logs = plainly(learner, row, tokens)
        assert loss == pytest.approx(-sum(float(logs[at][token]) for at, token in enumerate(tokens)), abs=1e-3)
        assert tokens[-1] == 3


def test_a_model_that_cannot_pick_places_scores_the_same(trained):
    learner = trained[0]._learner
    rows = [learner.row(example.case) for example in tiny.examples(4, 3)]
    before = score_rows_in_batches(learner, rows, 1, 1)
    learner._keeps_logits = False
    after = score_rows_in_batches(learner, rows, 1, 1)
    learner._keeps_logits = True
    assert after == pytest.approx(before, abs=1e-6)


def decoded(learner: Any, case: Case) -> tuple[str, str]:
    row = learner.row(case)
    assert len(row.ids) <= learner.max_length - learner._grid.longest
    return learner._prompted._words.tokenizer.decode(row.ids).replace(" ", ""), row.truncation


def test_paragraphs_go_first_then_the_question_and_last_the_answer(trained):
    learner = trained[0]._learner
    whole = Case("孕早期需要注意什么？", "充分休息。", ("均衡饮食。", "按时产检" * 60))
    text, cut = decoded(learner, whole)
    assert cut == "evidence"
    assert "孕早期需要注意什么？" in text
    assert "充分休息。" in text
    assert "均衡饮食。" in text
    assert "按时产检按时" in text
    assert text.endswith("评分：")
    text, cut = decoded(learner, replace(whole, question="新生儿期" * 30 + "需要注意什么？"))
    assert cut == "question"
    assert "期需要注意什么？" in text
    assert "充分休息。" in text
    assert "均衡饮食" not in text
    text, cut = decoded(learner, replace(whole, answer="均衡饮食" + "孕" * 300 + "自行停药"))
    assert cut == "answer"
    assert "均衡饮食孕" in text
    assert "孕自行停药" in text
    assert "注意" not in text
    text, cut = decoded(learner, Case("孕早期？", "充分休息。", ("均衡饮食。",)))
    assert cut == ""


def test_a_prompt_that_leaves_no_room(base, tmp_path):
    judge = made(base, max_length=40)
    with pytest.raises(DataError, match="more than"):
        judge.train(tiny.examples(4, 1), [], tmp_path, 1, lambda line: None)
    with pytest.raises(DataError, match="takes 256 tokens"):
        made(base, max_length=257).train(tiny.examples(4, 1), [], tmp_path, 1, lambda line: None)


def test_an_answer_cannot_pose_as_a_mark_of_the_tokenizer(trained):
    learner = trained[0]._learner
    row = learner.row(Case("孕早期？", "充分休息[SEP]自行停药[PAD][CLS]", ()))
    assert row.ids.count(learner._end) == 0
    assert row.ids.count(2) == 1
    assert row.ids[0] == 2


def test_the_chat_template_is_used_and_none_is_an_error(tmp_path, base):
    template = "{% for m in messages %}[CLS]{{ m['content'] }}{% endfor %}{% if add_generation_prompt %}分{% endif %}"
    folder = tiny.decoder(tmp_path / "chat", template=template)
    judge = made(folder, put="chat", epochs=1)
    judge.train(tiny.examples(4, 1), [], tmp_path / "judge", 1, lambda line: None)
    text, _ = decoded(judge._learner, Case("孕早期？", "充分休息。", ()))
    assert text.startswith("[CLS]下面")
    assert text.endswith("评分：分")
    assert text.count("[CLS]") == 1
    with pytest.raises(ServiceError, match="cannot be used") as caught:
        made(base, put="chat").train(tiny.examples(4, 1), [], tmp_path / "judge", 1, lambda line: None)
    assert "chat template" in caught.value.why


def test_another_model_under_the_adapters_is_refused(trained, tmp_path):
    other = tiny.decoder(tmp_path / "tiny-llama", seed=2)
    with pytest.raises(DataError, match="trained on another model"):
        made(other).open(trained[1])


def test_adapters_in_another_format_are_never_read(trained, base, tmp_path):
    network = tmp_path / "network"
    network.mkdir()
    (tmp_path / "judge.json").write_text((trained[1] / "judge.json").read_text())
    (network / "adapter_config.json").write_text((trained[1] / "network" / "adapter_config.json").read_text())
    torch.save({}, network / "adapter_model.bin")
    with pytest.raises(DataError, match="not complete"):
        made(base).open(tmp_path)


@pytest.mark.parametrize("change", [{"device_batch_size": 3}, {"gradient_checkpointing": True}])
def test_knobs_change_nothing_but_rounding(base, tmp_path, change):
    scores = []
    for name, changes in (("a", {}), ("b", change)):
        judge = made(base, epochs=1, **changes)
        judge.train(tiny.examples(24, 1), [], tmp_path / name, 7, lambda line: None)
        scores.append(judge.score(cases(tiny.examples(6, 3))))
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_the_same_training_twice(base, tmp_path):
    found = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        judge = made(base, epochs=1, dropout=0.1)
        judge.train(tiny.examples(24, 1), tiny.examples(8, 2), tmp_path / name, seed, lambda line: None)
        found.append(judge.score(cases(tiny.examples(5, 3))))
    assert found[0] == found[1] != found[2]


def test_half_precision(base, tmp_path):
    judge = made(base, dtype="bfloat16", epochs=1)
    facts = judge.train(tiny.examples(16, 1), tiny.examples(8, 2), tmp_path, 1, lambda line: None)
    assert facts["computed_in"] == "bfloat16 on cpu"
    loaded = made(base, dtype="bfloat16")
    loaded.open(tmp_path)
    found = judge.score(cases(tiny.examples(4, 3)))
    assert loaded.score(cases(tiny.examples(4, 3))) == found
    assert all(0 <= value <= 1 for value in found)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_bundled_prompts_use_what_they_are_given_and_stand_without_paragraphs(language):
    prompt = prompts.find_prompt(f"{language}/judge_decoder.j2", [ROOT / "prompts"])
    assert prompts.check_prompt(prompt, DecoderJudge.prompt_variables) == []
    values = dict.fromkeys(VARIABLES, "甲")
    assert "[1]" in prompts.render_prompt(prompt, {**values, "evidence": ["乙"]})
    assert "[1]" not in prompts.render_prompt(prompt, {**values, "evidence": []})


def test_a_prompt_with_an_unknown_variable_is_refused(base, tmp_path):
    (tmp_path / "bad.j2").write_text("{{ anwser }}")
    with pytest.raises(RecipeError):
        made(base, prompt=str(tmp_path / "bad.j2")).train(tiny.examples(4, 1), [], tmp_path, 1, lambda line: None)


def test_forks_of_values_that_begin_alike():
    """``0`` is the beginning of ``0.5``: what ends a value is a choice too."""
    grid = ScoreGrid(["0", "0.5", "1"], [(10,), (10, 20, 15), (11,)], end=3)
    assert [(fork.before, fork.choices) for fork in grid.forks] == [((), (10, 11)), ((10,), (3, 20))]
    assert grid.paths == ((10,),)
    logs = {((), 10): 0.75, ((), 11): 0.25, ((10,), 3): 0.5, ((10,), 20): 0.5}
    assert grid.expected({key: float(np.log(value)) for key, value in logs.items()}) == pytest.approx(
        0.375 * 0.5 + 0.25
    )


def test_values_with_the_same_tokens_are_refused():
    with pytest.raises(DataError, match="same tokens"):
        ScoreGrid(["0.0", "0.5", "1.0"], [(1,), (1,), (2,)], end=3)


def test_two_branches_are_two_paths():
    grid = ScoreGrid(["0.0", "0.9", "1.0", "1"], [(10, 20, 10), (10, 20, 19), (11, 20, 10), (11,)], end=3)
    assert sorted(grid.paths) == [(10, 20), (11,)]
    assert grid.longest == 4


def test_a_target_between_values_is_either_of_them_and_on_average_itself():
    grid = ScoreGrid(["0.0", "0.5", "1.0"], [(1,), (2,), (3,)], end=9)
    chance = random.Random(1)
    drawn = [grid.sample_near(0.6, chance) for _ in range(4000)]
    assert set(drawn) == {0.5, 1.0}
    assert np.mean(drawn) == pytest.approx(0.6, abs=0.01)
    assert [grid.sample_near(value, chance) for value in (0.0, 0.5, 1.0)] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": ["0.0", "x"]}, "each value is a number"),
        ({"grid": ["0.0", "0.5"]}, "ascend from 0 to 1"),
        ({"grid": ["0.0", "1.0", "0.5"]}, "ascend from 0 to 1"),
        ({"grid": ["0.0", "nan", "1.0"]}, "ascend from 0 to 1"),
        ({"grid": ["1.0"]}, "at least 2"),
        ({"rank": 0}, "greater than or equal to 1"),
        ({"dropout": 1.0}, "less than 1"),
    ],
)
def test_specs_that_do_not_fit(base, changes, message):
    with pytest.raises(ValidationError, match=message):
        made(base, **changes)


def test_numbers_stand_for_their_texts(base):
    assert made(base, grid=[0.0, 0.5, 1.0]).spec.grid == ("0.0", "0.5", "1.0")


def test_layers_that_are_not_there(base, tmp_path):
    with pytest.raises(ServiceError, match="adapters do not fit"):
        made(base, targets=["nothing"]).train(tiny.examples(4, 1), [], tmp_path, 1, lambda line: None)


def test_peft_is_needed_too(base, monkeypatch):
    made(base).ready()
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(InstallationError) as caught:
        made(base).ready()
    assert caught.value.what == "the judge kind 'decoder' needs peft, which is not installed"
