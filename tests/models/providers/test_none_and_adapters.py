"""The model kind `none`, and low-rank adapters of local models."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_models
from pydantic import ValidationError

from benchbuilder.core.errors import ServiceError
from benchbuilder.core.registry import create_from_spec
from benchbuilder.evaluation.judges.neural.libraries import ignore_future_warnings
from benchbuilder.models.base import Message, Request
from benchbuilder.models.providers.none import NoModelSpec
from benchbuilder.models.providers.transformers import TransformersSpec
from benchbuilder.testing import check_model


@pytest.mark.push
def test_none_keeps_the_contract_of_models() -> None:
    assert check_model(lambda: create_from_spec("model", NoModelSpec(kind="none"))) == []


def test_none_answers_nothing() -> None:
    model = create_from_spec("model", NoModelSpec(kind="none"))
    assert not model.can_answer
    with pytest.raises(ValueError, match="wrote nothing"):
        model.read("Water is wet.")


def test_none_has_no_settings() -> None:
    assert not create_from_spec("model", NoModelSpec(kind="none")).known_settings()
    with pytest.raises(ValidationError):
        NoModelSpec(kind="none", temperature=0)  # pyright: ignore[reportCallIssue]


ASK = Request((Message("user", "Is it true?"),), {"temperature": 0.0, "max_new_tokens": 12})


def adapters(base: Path, folder: Path) -> Path:
    """Adapters with weights of their own, as if they had learned something."""
    peft = pytest.importorskip("peft")
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(3)
    config = peft.LoraConfig(task_type="CAUSAL_LM", r=4, target_modules="all-linear", init_lora_weights=False)
    with ignore_future_warnings():
        peft.get_peft_model(AutoModelForCausalLM.from_pretrained(base), config).save_pretrained(folder)
    return folder


def model(base: Path, adapter: Path | None):
    given = {"kind": "transformers", "path": str(base), "architecture": "causal", "dtype": "float32", "device": "cpu"}
    return create_from_spec("model", TransformersSpec.model_validate({**given, "adapter": adapter and str(adapter)}))


@pytest.mark.full
def test_adapters_are_loaded_and_make_another_model(tmp_path: Path) -> None:
    base = tiny_models.causal(tmp_path / "base")
    folder = adapters(base, tmp_path / "adapter")
    plain, adapted = model(base, None), model(base, folder)
    assert plain.generate([ASK]) != adapted.generate([ASK])
    assert adapted.generate([ASK]) == model(base, folder).generate([ASK])
    assert "adapter_sha256" not in plain.identity()
    before = adapted.identity()
    (folder / "adapter_config.json").write_text((folder / "adapter_config.json").read_text() + "\n")
    assert model(base, folder).identity() != before


@pytest.mark.push
def test_adapters_that_are_not_whole_are_refused(tmp_path: Path) -> None:
    base = tiny_models.causal(tmp_path / "base")
    folder = adapters(base, tmp_path / "adapter")
    (folder / "adapter_model.safetensors").unlink()
    with pytest.raises(ServiceError, match="cannot be loaded") as caught:
        model(base, folder).generate([ASK])
    assert "adapter_model.safetensors" in caught.value.why
