"""Copies of a tiny model on a cluster: the replies are those of the model in this process."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchbuilder.cli.dispatch import main
from benchbuilder.config import load_recipe
from benchbuilder.core import DataError, RecipeError, ServiceError, create_from_spec
from benchbuilder.models import Message, RefusedRequestError, Request, request_key

import benchbuilder_ray.ray_model as ray_model
from benchbuilder_ray.ray_model import RayModel
from benchbuilder_ray.reply_actor import ReplyActor


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chat model of one thin layer."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {sign: place for place, sign in enumerate(["<pad>", "</s>", *signs])}
    inner = Tokenizer(models.BPE(vocab=words, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>")
    made.chat_template = "{%- for message in messages -%}{{ message['content'] }}\n{%- endfor -%}"
    folder = tmp_path_factory.mktemp("weights")
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=128, pad_token_id=0, eos_token_id=1, initializer_range=0.5,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder, safe_serialization=True)
    made.save_pretrained(folder)
    return folder


def _models(weights: Path, *words: str) -> tuple[RayModel, Any]:
    """The model over the cluster, and the same in this process."""
    inner = f"model.inner.path={weights}"
    recipe = load_recipe(["recipe=care_mi", "model=ray", inner, "model.inner.dtype=float32", *words]).recipe
    model: RayModel = create_from_spec("model", recipe.model)
    return model, create_from_spec("model", recipe.model.inner)


@pytest.fixture(autouse=True)
def _cores_are_free_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    opened: list[RayModel] = []
    begin = RayModel._start

    def start(self: RayModel) -> None:
        opened.append(self)
        begin(self)

    monkeypatch.setattr(RayModel, "_start", start)
    yield
    for model in opened:
        model._timer.cancel()
        model.end_copies()


def _requests(count: int, **sampling: Any) -> list[Request]:
    return [
        Request(
            (Message("user", f"{place} is a number of {'many ' * (place % 5)}signs"),),
            {"max_new_tokens": 6, **sampling},
        )
        for place in range(count)
    ]


def test_two_copies_reply_as_one_model_here(weights: Path, cluster: Any) -> None:
    model, here = _models(weights, "model.copies=2", f"model.address={cluster.address}", "model.inner.batch_size=3")
    assert model.batch_size == 12
    assert (model.label, model.identity(), model.known_settings()) == (
        here.label,
        here.identity(),
        here.known_settings(),
    )
    asked = _requests(11)
    assert [request_key(model, one) for one in asked] == [request_key(here, one) for one in asked]
    bodies = model.generate(asked)
    assert [model.read(body).text for body in bodies] == [here.read(body).text for body in here.generate(asked)]
    assert len({*bodies}) > 5, "the replies differ from each other"
    model.end_copies()
    assert model.ready_copies == []
    drawn = _requests(4, temperature=0.8, seed=5)
    assert model.generate(drawn) == here.generate(drawn), "draws depend on the request alone"


class _FallsOnce(ReplyActor):
    """The first process that is asked dies, as where memory is short."""

    def generate(self, requests: Any) -> list[str]:
        flag = Path(self._spec.path.path).parent / "fell"
        try:
            flag.touch(exist_ok=False)
        except FileExistsError:
            return super().generate(requests)
        os._exit(1)


def test_a_lost_copy_is_replaced_and_too_many_end_the_call(
    weights: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_model, "ReplyActor", _FallsOnce)
    words = ("model.copies=2", f"model.address={cluster.address}", "model.inner.batch_size=2")
    asked = _requests(8)
    model, here = _models(weights, *words)
    assert [model.read(one).text for one in model.generate(asked)] == [
        here.read(one).text for one in here.generate(asked)
    ]
    assert (weights.parent / "fell").exists()
    (weights.parent / "fell").unlink()
    with pytest.raises(ServiceError, match=r"1 copies of .* were lost"):
        _models(weights, *words, "model.retries=0")[0].generate(asked)


def test_faults_reach_who_asked(weights: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"model.address={cluster.address}"
    model, _ = _models(weights, address)
    long = Request((Message("user", "long " * 100),), {"max_new_tokens": 6})
    with pytest.raises(RefusedRequestError, match="the prompt has"):
        model.generate([long])
    other, _ = _models(weights, address)
    monkeypatch.setattr(other._inner, "identity", lambda: {**model.identity(), "sha256": "others"})
    with pytest.raises(DataError, match="another model than this machine") as raised:
        other.generate(_requests(1))
    assert "sha256" in raised.value.why
    with pytest.raises(ServiceError, match=r"no machine of the cluster had room for a copy of .* in 3 seconds"):
        _models(weights, address, "model.gpus=1", "model.patience_s=3")[0].generate(_requests(1))


def test_a_cluster_that_grows_is_waited_for(weights: Path, cluster: Any) -> None:
    words = ("model.copies=5", "model.inner.batch_size=1", f"model.address={cluster.address}")
    model, here = _models(weights, *words)
    asked = _requests(12)
    texts = [here.read(one).text for one in here.generate(asked)]
    assert [model.read(one).text for one in model.generate(asked)] == texts
    assert model.starting_copies, "three machines have no room for five copies"
    cluster.cluster.wait_for_nodes()
    grown = [cluster.add(), cluster.add()]
    assert [model.read(one).text for one in model.generate(asked)] == texts
    for node in grown:
        cluster.cluster.remove_node(node, allow_graceful=False)


def test_only_models_of_the_process_are_copied(weights: Path) -> None:
    spec = load_recipe(["recipe=care_mi", "model=ray", f"model.inner.path={weights}"]).recipe.model
    none = load_recipe(["recipe=care_mi", "model=none"]).recipe.model
    with pytest.raises(RecipeError, match="`none` does not answer in a process"):
        create_from_spec("model", spec.model_copy(update={"inner": none}))


def test_a_build_asks_the_copies(weights: Path, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = [
        "recipe=care_mi", "annotation=none", "source=[mlecqa,textbook]", "model=ray", f"model.inner.path={weights}",
        "model.copies=2", f"model.address={cluster.address}", "model.inner.overflow=truncate",
        "steps.state_choice.sampling.max_new_tokens=12", "steps.ask_oe_choice.sampling.max_new_tokens=12",
    ]  # fmt: skip
    assert main(words) == 0
    first = json.loads((tmp_path / "builds/care_mi/store/outputs.json").read_text(encoding="utf-8"))
    assert first
    assert (tmp_path / "builds/care_mi/replies.sqlite").stat().st_size > 0
    # without Ray nothing is asked again: the model would have to be loaded
    inner = [word.replace("model.inner", "model") for word in words if not word.startswith(("model.copies", "model.a"))]
    inner[inner.index("model=ray")] = "model=transformers"
    monkeypatch.setattr("benchbuilder.models.providers.transformers.TransformersModel.generate", None)
    assert main(inner) == 0
