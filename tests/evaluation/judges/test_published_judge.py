"""A judge that others published as a whole language model, named by an option and asked with a prompt of the user."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tiny_models import tokenizer

from benchbuilder.cli.dispatch import main
from benchbuilder.config import load_recipe
from benchbuilder.core import RecipeError

pytestmark = pytest.mark.full
OPTION = "+judge@evaluation.judges.theirs=published"
PLACE = "evaluation.judges.theirs"


def judge_that_writes(folder: Path, digit: str) -> Path:
    """A causal model of the shape of LLaMA that writes one digit after every prompt, and ends."""
    torch = pytest.importorskip("torch")
    from transformers import LlamaConfig, LlamaForCausalLM

    words = tokenizer(None)
    end, written = words.convert_tokens_to_ids(["</s>", digit])
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=512, bos_token_id=2, eos_token_id=end, pad_token_id=0,
    ))  # fmt: skip
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        model.model.norm.weight.fill_(1)
        model.model.embed_tokens.weight[:, 0] = 1
        model.model.embed_tokens.weight[written] = torch.eye(32)[1]
        model.lm_head.weight[written, 0] = 1
        model.lm_head.weight[end, 1] = 1
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "prompts" / "theirs").mkdir(parents=True)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "prompts/theirs/b6.j2").write_text("{{ question }} {{ evidence|join }} {{ answer }}", "utf-8")
    head = "q-type\tsource\tfull-question\tanswer\tanswer-wrong\tevidence\n"
    row = "open\tmedqa\t孕妇要补充什么？\t孕妇要补充叶酸\t孕妇要补充铁\t叶酸\n"
    (tmp_path / "items.tsv").write_text(head + row, "utf-8")
    answer = {"question": "孕妇要补充什么？", "model": "Their-Model", "answer": "叶酸"}
    (tmp_path / "answers.jsonl").write_text(json.dumps(answer), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("digit", ["1", "0"])
def test_a_published_judge_scores_with_the_prompt_of_the_user(home: Path, digit: str) -> None:
    folder = judge_that_writes(home / "judge", digit)
    words = ["evaluate", "recipe=care_mi", "--benchmark", "items.tsv", "evaluation.answers=answers.jsonl", OPTION,
             f"{PLACE}.model.path={folder}", f"{PLACE}.prompt=theirs/b6.j2"]  # fmt: skip
    assert main(words) == 0
    (table,) = home.glob("builds/**/means_correctness_judge_theirs.csv")
    with table.open(encoding="utf-8-sig", newline="") as stream:
        rows = {row["model"]: row["all"] for row in csv.DictReader(stream)}
    assert rows["Their-Model"] == digit


def test_its_prompt_is_the_users_to_give(home: Path) -> None:
    assert home.is_dir()
    with pytest.raises(RecipeError, match=r"evaluation\.judges\.theirs\.prompt"):
        load_recipe(["recipe=care_mi", OPTION, f"{PLACE}.model.name=OWNER/llama-13b-T-caremi-judgment-correctness"])
