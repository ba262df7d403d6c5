"""A model that brings code of its own: asked for, in a process without keys, and whatever that code does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from pydantic import ValidationError

from benchbuilder.cli.dispatch import main
from benchbuilder.config.load import load_recipe
from benchbuilder.core import RecipeError, registry
from benchbuilder.core.errors import ServiceError
from benchbuilder.models.base import Message, RefusedRequestError, Request
from benchbuilder.models.providers.transformers import TransformersModel, TransformersSpec

CODE = """
import json, os, sys
from pathlib import Path
from transformers import LlamaConfig, LlamaForCausalLM

print("what the code prints is no reply")

class OwnConfig(LlamaConfig):
    model_type = "own_tiny"

class OwnForCausalLM(LlamaForCausalLM):
    config_class = OwnConfig

    def generate(self, *args, **more):
        Path(os.environ["SEEN"]).write_text(json.dumps([os.getpid(), sorted(os.environ)]))
        {trick}
        return super().generate(*args, **more)
"""


def own_model(folder: Path, trick: str = "pass") -> Path:
    """A tiny model that only its own code can load, and which does a `trick` before each reply."""
    tiny_models.causal(folder)
    (folder / "own.py").write_text(CODE.replace("{trick}", trick), encoding="utf-8")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {"model_type": "own_tiny", "architectures": ["OwnForCausalLM"]}
    config["auto_map"] = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnForCausalLM"}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the code writes what it sees; its modules are cached elsewhere."""
    monkeypatch.setenv("SEEN", str(tmp_path / "seen.json"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never")
    monkeypatch.setenv("HF_TOKEN", "hf-never")
    return tmp_path / "seen.json"


def made(folder: Path, **more: Any) -> TransformersModel:
    given: dict[str, Any] = {"kind": "transformers", "path": str(folder), "architecture": "causal",
                             "dtype": "float32", "device": "cpu", "trust_remote_code": True}  # fmt: skip
    return registry.create_from_spec("model", TransformersSpec(**(given | more)))


def ask(text: str, most: int = 8) -> Request:
    return Request((Message("user", text),), {"temperature": 0, "max_new_tokens": most})


@pytest.mark.full
def test_without_leave_its_code_does_not_run(tmp_path: Path, seen: Path) -> None:
    with pytest.raises(ServiceError, match="cannot be loaded") as caught:
        made(own_model(tmp_path / "own"), trust_remote_code=False).generate([ask("a")])
    assert "model.trust_remote_code=true" in caught.value.next
    assert not seen.exists()


@pytest.mark.full
def test_it_answers_in_a_process_without_keys(tmp_path: Path, seen: Path) -> None:
    model = made(own_model(tmp_path / "own"))
    bodies = model.generate([ask("a"), ask("b")])
    plain = made(tiny_models.causal(tmp_path / "plain"), trust_remote_code=False)
    assert [model.read(body).text for body in bodies] == [
        plain.read(body).text for body in plain.generate([ask("a"), ask("b")])
    ]
    pid, names = json.loads(seen.read_text(encoding="utf-8"))
    assert pid != os.getpid()
    assert not {"OPENAI_API_KEY", "HF_TOKEN"} & set(names)
    assert model.generate([ask("c")])
    assert json.loads(seen.read_text(encoding="utf-8"))[0] == pid


@pytest.mark.full
def test_other_code_is_another_model(tmp_path: Path) -> None:
    folder = own_model(tmp_path / "own")
    before = made(folder).identity()
    assert before["trust_remote_code"] == "true"
    (folder / "own.py").write_text(CODE.replace("{trick}", "more.clear()"), encoding="utf-8")
    assert made(folder).identity() != before
    assert "trust_remote_code" not in made(folder, trust_remote_code=False).identity()


@pytest.mark.full
@pytest.mark.parametrize(
    ("trick", "message"),
    [
        ("os._exit(7)", r"the process of .* ended"),
        ("raise SystemError('no')", "the model's own code failed"),
        ("os.write(1, b'x' * 99)", ""),
        ("os.kill(os.getpid(), 9)", r"the process of .* ended"),
    ],
)
def test_whatever_its_code_does_is_an_error_or_a_reply(tmp_path: Path, trick: str, message: str) -> None:
    model = made(own_model(tmp_path / "own", trick))
    if not message:
        assert len(model.generate([ask("a")])) == 1
        return
    with pytest.raises(ServiceError, match=message):
        model.generate([ask("a")])


@pytest.mark.full
def test_a_request_that_it_refuses_is_refused_here(tmp_path: Path) -> None:
    with pytest.raises(RefusedRequestError, match="accepts"):
        made(own_model(tmp_path / "own")).generate([ask("a" * 600)])


@pytest.mark.parametrize("revision", [None, "main", "abc123"])
def test_a_name_needs_a_commit(revision: str | None) -> None:
    with pytest.raises(ValidationError, match="another commit is other code"):
        TransformersSpec(kind="transformers", name="some/model", revision=revision, architecture="causal",
                         dtype="auto", trust_remote_code=True)  # fmt: skip


@pytest.mark.push
def test_a_recipe_of_others_cannot_let_code_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "recipes" / "recipe").mkdir(parents=True)
    text = """# @package _global_
defaults: [care_mi, override /model: transformers, _self_]
name: theirs
model: {name: a/b, trust_remote_code: true}
"""
    (tmp_path / "recipes/recipe/theirs.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecipeError, match="cannot let a model run code of its own"):
        load_recipe(["recipe=theirs", f"model.revision={'0' * 40}"])
    assert main(["show", "model", "recipe=care_mi", "model=transformers", "model.name=a/b",
                 f"model.revision={'0' * 40}", "model.trust_remote_code=true"]) == 0  # fmt: skip
