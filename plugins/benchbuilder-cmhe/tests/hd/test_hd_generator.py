"""The generator: a tiny model learns the answers of a few pairs, and answers by its adapters in a build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchbuilder.cli.dispatch import main as benchbuild
from benchbuilder.core.errors import DataError
from benchbuilder.core.registry import create_from_spec
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.models.base import Message, Request
from benchbuilder.models.providers.transformers import TransformersSpec

pytest.importorskip("peft")
pytest.importorskip("transformers")

from benchbuilder_cmhe.hd import generator
from benchbuilder_cmhe.hd.generator_learner import GeneratorSpec

PAIRS = [Case(f"患者：{what}怎么办？\n医生：", f"{what}要多喝水。") for what in ("头痛", "咳嗽", "腹泻", "失眠")]
WRAPPING = {"system": None, "user": "{text}", "assistant": "{text}", "between": ""}


def tiny(folder: Path) -> Path:
    """A Llama of one thin layer with a tokenizer of single characters."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted({letter for pair in PAIRS for letter in pair.question + pair.answer})
    vocabulary = {token: at for at, token in enumerate(["[PAD]", "[UNK]", "[END]", *letters])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    from tokenizers import decoders

    inner.decoder = decoders.Fuse()
    words = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", eos_token="[END]",
        clean_up_tokenization_spaces=False,
    )  # fmt: skip
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=512, eos_token_id=2, pad_token_id=0, bos_token_id=None, initializer_range=0.2,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def settings(base: Path, **changes: Any) -> GeneratorSpec:
    small = {"path": str(base), "device": "cpu", "gradient_checkpointing": False, "dropout": 0.0, "batch_size": 4}
    return generator.read_generator_settings(generator.DEFAULT_SETTINGS_FILE, {**small, **changes})


def asked(base: Path, adapter: Path | None, *questions: str) -> list[str]:
    spec = TransformersSpec.model_validate({
        "kind": "transformers", "path": str(base), "architecture": "causal", "dtype": "float32", "device": "cpu",
        "wrapping": WRAPPING, "adapter": None if adapter is None else str(adapter),
    })  # fmt: skip
    model = create_from_spec("model", spec)
    model.ready()
    requests = [Request((Message("user", text),), {"temperature": 0.0, "max_new_tokens": 12}) for text in questions]
    return [model.read(body).text for body in model.generate(requests)]


def test_it_learns_the_answers_and_the_model_alone_does_not_know_them(tmp_path: Path) -> None:
    base, notes = tiny(tmp_path / "base"), []
    spec = settings(base, epochs=120, learning_rate=1e-2, rank=16, alpha=32)
    generator.train_generator(PAIRS, spec, tmp_path / "adapter", 5, notes.append)
    card = json.loads((tmp_path / "adapter" / generator.CARD_FILE).read_text("utf-8"))
    assert card["pairs"] == 4
    assert card["losses"][-1] < 0.2 < card["losses"][0]
    assert sorted(path.name for path in (tmp_path / "adapter").iterdir() if path.suffix == ".safetensors")
    questions = [pair.question for pair in PAIRS]
    answers = [pair.answer for pair in PAIRS]
    assert asked(base, tmp_path / "adapter", *questions) == answers
    assert asked(base, None, *questions) != answers
    with pytest.raises(DataError, match="not empty"):
        generator.train_generator(PAIRS, spec, tmp_path / "adapter", 5, notes.append)


def test_the_same_seed_gives_the_same_adapters(tmp_path: Path) -> None:
    base = tiny(tmp_path / "base")
    files: list[bytes] = []
    for name in ("a", "b"):
        generator.train_generator(PAIRS, settings(base), tmp_path / name, 5, lambda _: None)
        files.append((tmp_path / name / "adapter_model.safetensors").read_bytes())
    assert files[0] == files[1]


def test_long_texts_are_cut_where_it_hurts_least(tmp_path: Path) -> None:
    import torch
    from benchbuilder.evaluation.judges.neural.base_model import resolve_base_model
    from benchbuilder.evaluation.judges.neural.learner import ComputePlace

    from benchbuilder_cmhe.hd.generator_learner import AnswerLearner

    spec = settings(tiny(tmp_path / "base"), max_length=20)
    learner = AnswerLearner(resolve_base_model(spec), ComputePlace(torch, torch.device("cpu"), torch.float32), spec)
    row = learner.row(Case("头" * 30 + "痛", "咳" * 30))
    assert len(row.ids) == 20
    assert sum(row.types) == 11  # half of them, and the end
    assert row.truncation == "question"


def test_the_command_trains_on_a_built_step_and_the_adapters_answer_in_the_build(own_build: Path, capsys: Any) -> None:
    base, words = tiny(own_build / "base"), ["recipe=cmhe", "annotation=none"]
    command = ["train", *words, "--base", str(base), "--output", "adapter"]
    assert generator.main(["train", "run.dir=elsewhere", *command[1:]]) == 3
    assert "is not built" in capsys.readouterr().err
    settings_file = own_build / "settings.yaml"
    text = generator.DEFAULT_SETTINGS_FILE.read_text("utf-8").replace("device: auto", "device: cpu")
    settings_file.write_text(text, encoding="utf-8")
    assert generator.main([*command, "--settings", str(settings_file)]) == 0, capsys.readouterr().err
    card = json.loads((own_build / "adapter" / generator.CARD_FILE).read_text("utf-8"))
    assert card["pairs"] == 68
    model = "model@steps.hd_answered.model=transformers"
    own = [
        "path=base",
        "adapter=adapter",
        "device=cpu",
        "wrapping={user: '{text}', assistant: '{text}', between: ''}",
    ]
    more = [model, *(f"steps.hd_answered.model.{word}" for word in own), "steps.hd_answered.least=1"]
    more += ["steps.hd_answered.sampling={temperature: 1.0, max_new_tokens: 24}"]
    capsys.readouterr()
    assert benchbuild([*words, *more]) == 0
    assert "hd_answered" in capsys.readouterr().out


def test_settings_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the settings are wrong"):
        generator.read_generator_settings(generator.DEFAULT_SETTINGS_FILE, {})
    with pytest.raises(DataError, match="cannot be read"):
        generator.read_generator_settings(tmp_path / "none.yaml", {})
    with pytest.raises(DataError, match="nothing to train"):
        generator.train_generator([], settings(tmp_path), tmp_path / "out", 1, lambda _: None)
