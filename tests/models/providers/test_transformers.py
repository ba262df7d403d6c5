from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from pydantic import ValidationError

from benchbuilder.config.spec.base import FileRef
from benchbuilder.core import registry
from benchbuilder.core.errors import DataError, InstallationError, ServiceError
from benchbuilder.models.base import Message, RefusedRequestError, Request, request_key
from benchbuilder.models.providers.transformers import TransformersModel, TransformersSpec
from benchbuilder.testing import check_model

CHATYUAN = {"user": "用户：{text}", "assistant": "小元：{text}", "between": "\n", "newline": "\\n", "tab": "\\t"}
GREEDY = {"temperature": 0, "max_new_tokens": 16}
SAMPLED = {"temperature": 1.5, "max_new_tokens": 16}


@pytest.fixture(scope="session")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chat model whose own settings would sample."""
    return tiny_models.causal(tmp_path_factory.mktemp("chat"), do_sample=True, temperature=1.9, top_k=3)


@pytest.fixture(scope="session")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.seq2seq(tmp_path_factory.mktemp("t5"), num_beams=4, max_length=7)


def made(folder: Path, **changes: Any) -> TransformersModel:
    seq2seq = "t5" in folder.name
    given: dict[str, Any] = {
        "kind": "transformers", "path": str(folder), "architecture": "seq2seq" if seq2seq else "causal",
        "dtype": "float32", "device": "cpu", "batch_size": 4, "wrapping": CHATYUAN if seq2seq else None,
    }  # fmt: skip
    return registry.create_from_spec("model", TransformersSpec(**(given | changes)))


def ask(text: str, sampling: dict[str, Any] = GREEDY, **changes: Any) -> Request:
    return Request((Message("user", text),), sampling, **changes)


def texts(model: TransformersModel, requests: list[Request]) -> list[str]:
    return [model.read(body).text for body in model.generate(requests)]


def prompt(model: TransformersModel, request: Request) -> str:
    """What the model reads, as the tokenizer gives it back."""
    model.generate([request])
    engine = model._engine
    assert engine is not None
    return engine.tokenizer.decode(model._prompt(engine, request)[0])


ALL = [
    *(ask(text) for text in tiny_models.TEXTS),
    *(ask(text, SAMPLED) for text in tiny_models.TEXTS[:3]),
    ask(tiny_models.TEXTS[0], SAMPLED, sample=1),
    ask(tiny_models.TEXTS[0], {**SAMPLED, "seed": 7}),
    ask(tiny_models.TEXTS[1], {**GREEDY, "max_new_tokens": 5}),
]


@pytest.mark.full
@pytest.mark.parametrize("which", ["chat", "t5"])
def test_it_keeps_the_contract_of_models(which: str, request: pytest.FixtureRequest):
    folder = request.getfixturevalue(which)
    replies = check_model(lambda: made(folder), ALL)
    assert len({reply.text for reply in replies}) > 10, "the replies differ, or this shows nothing"
    assert replies[8].text != replies[0].text, "sampled replies are not the likeliest"
    assert replies[8].text != replies[11].text, "another sample is another reply"
    assert replies[8].text != replies[12].text, "another seed is another reply"
    assert all(reply.usage is not None and reply.usage.completion <= 16 for reply in replies)


@pytest.mark.full
@pytest.mark.parametrize("which", ["chat", "t5"])
def test_batches_of_any_size_give_the_same(which: str, request: pytest.FixtureRequest):
    folder = request.getfixturevalue(which)
    alone, together = texts(made(folder, batch_size=1), ALL), texts(made(folder, batch_size=64), ALL)
    assert alone == together


@pytest.mark.full
@pytest.mark.parametrize("setting", [{"repetition_penalty": 5.0}, {"no_repeat_ngram_size": 1}])
def test_what_fills_up_short_prompts_does_not_count_as_said(chat: Path, tmp_path: Path, setting: dict[str, Any]):
    """Prompts are filled up with the token that ends replies, where a tokenizer has none of its own for it."""
    folder = tmp_path / "chat"
    shutil.copytree(chat, folder)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"pad_token": None, "eos_token": "Answer"}))
    end = tiny_models.tokenizer(None).convert_tokens_to_ids("Answer")
    for name in ("config.json", "generation_config.json"):
        config = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(config | {"eos_token_id": end, "pad_token_id": None}))
    sampling = {"temperature": 0, "max_new_tokens": 60, **setting}
    requests = [ask(text, sampling) for text in (*tiny_models.TEXTS, "叶酸", "叶")]
    replies = [made(folder, batch_size=64).read(body) for body in made(folder, batch_size=64).generate(requests)]
    assert any(reply.outcome == "complete" for reply in replies)
    assert [reply.text for reply in replies] == texts(made(folder, batch_size=1), requests)


@pytest.mark.push
def test_the_settings_of_the_model_are_not_used(chat: Path, t5: Path, tmp_path: Path):
    plain = tiny_models.causal(tmp_path / "plain")
    unset = ask("叶酸", {"max_new_tokens": 16})
    assert texts(made(chat), [unset]) == texts(made(plain), [ask("叶酸")])
    plain = tiny_models.seq2seq(tmp_path / "plain_t5")
    reply = made(t5).read(made(t5).generate([ask("叶酸")])[0])
    assert reply.text == texts(made(plain), [ask("叶酸")])[0]
    assert reply.usage is not None
    assert reply.usage.completion > 7


@pytest.mark.push
def test_every_setting_shapes_replies(chat: Path):
    model = made(chat)
    plain = texts(model, [ask("叶酸", {**SAMPLED, "max_new_tokens": 40})])[0]
    assert model.settings == {
        "temperature", "top_p", "top_k", "min_p", "max_new_tokens", "repetition_penalty", "no_repeat_ngram_size",
        "stop", "seed",
    }  # fmt: skip
    for name, value in {
        "top_p": 0.2, "top_k": 1, "min_p": 0.9, "repetition_penalty": 3.0, "no_repeat_ngram_size": 1, "seed": 1,
    }.items():  # fmt: skip
        changed = texts(model, [ask("叶酸", {**SAMPLED, "max_new_tokens": 40, name: value})])[0]
        assert changed != plain, name
    likeliest = texts(model, [ask("叶酸")])
    assert texts(model, [ask("叶酸", {"max_new_tokens": 16, "top_k": 1})]) == likeliest, "top_k alone samples"
    assert texts(model, [ask("叶酸", {"max_new_tokens": 16, "top_k": 40})]) != likeliest
    assert texts(model, [ask("叶酸", {"temperature": 0, "max_new_tokens": 16, "top_k": 40})]) == likeliest


@pytest.mark.full
def test_no_tokens_are_left_out_unless_the_recipe_says_so(chat: Path):
    """The library would sample among the 50 likeliest tokens by default."""
    model = made(chat)
    requests = [ask("叶酸", {"temperature": 50.0, "max_new_tokens": 200}, sample=number) for number in range(3)]
    limited = [ask("叶酸", {"temperature": 50.0, "max_new_tokens": 200, "top_k": 50}, sample=n) for n in range(3)]
    assert texts(model, requests) != texts(model, limited)


def test_stop_strings_end_a_reply_and_are_left_out(chat: Path):
    model = made(chat)
    whole = texts(model, [ask("叶酸")])[0]
    stop = next(one for one in whole[3:] if one.isalnum() and one not in whole[:3])
    requests = [ask(text, {**GREEDY, "stop": [stop]}) for text in ("叶酸", *tiny_models.TEXTS)]
    replies = [model.read(body) for body in model.generate(requests)]
    assert replies[0].text == whole[: whole.index(stop)]
    assert replies[0].outcome == "complete"
    assert not any(stop in reply.text for reply in replies)
    assert any(reply.outcome == "truncated" for reply in replies)


def test_outcomes(chat: Path):
    model = made(chat)
    body: dict[str, Any] = json.loads(model.generate([ask("叶酸")])[0])
    assert body["finish"] == "length"
    assert model.read(json.dumps(body)).outcome == "truncated"
    assert model.read(json.dumps(body | {"finish": "end"})).outcome == "complete"
    assert model.read(json.dumps(body | {"finish": "end", "text": " \n"})).outcome == "empty"
    with pytest.raises(ValueError, match="finish"):
        model.read(json.dumps(body | {"finish": "tired"}))


@pytest.mark.full
def test_a_reply_that_the_model_ends_is_complete(chat: Path, t5: Path):
    for folder, end in ((chat, 6), (t5, 1)):
        model = made(folder)
        model.generate([])
        requests = [ask(f"{number}", {**SAMPLED, "max_new_tokens": 200, "temperature": 9.0}) for number in range(12)]
        replies = [model.read(body) for body in model.generate(requests)]
        engine = model._engine
        assert engine is not None
        assert end in engine.ends
        complete = [reply for reply in replies if reply.outcome == "complete"]
        assert complete
        assert len(complete) < len(replies)
        assert all(reply.usage is not None and reply.usage.completion < 200 for reply in complete)
        special = [word for word in tiny_models.SPECIAL if any(word in reply.text for reply in replies)]
        assert special == []


def test_the_chat_template_is_respected(chat: Path):
    turns = (("system", "简短。"), ("user", "叶酸？"), ("assistant", "是"), ("user", "为何？"))
    request = Request(tuple(Message(role, text) for role, text in turns), GREEDY)
    wanted = "<|system|>简短。<|end|><|user|>叶酸？<|end|><|assistant|>是<|end|><|user|>为何？<|end|><|assistant|>"
    assert prompt(made(chat), request) == wanted


def test_system_messages_that_a_template_does_not_take(tmp_path: Path):
    refuses = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + (
        tiny_models.TEMPLATE
    )
    forgets = tiny_models.TEMPLATE.replace("<|{{", "{% if message['role'] != 'system' %}<|{{", 1).replace(
        "<|end|>", "<|end|>{% endif %}", 1
    )
    request = Request((Message("system", "简短。"), Message("user", "叶酸？")), GREEDY)
    for name, template in (("refuses", refuses), ("forgets", forgets)):
        folder = tiny_models.causal(tmp_path / name, template)
        with pytest.raises(ServiceError, match="the conversation does not fit") as raised:
            made(folder).generate([request])
        assert "model.system_role=merge" in raised.value.next
        merged = prompt(made(folder, system_role="merge"), request)
        assert merged == "<|user|>简短。\n\n叶酸？<|end|><|assistant|>"


def test_a_template_gets_its_values_and_no_date(tmp_path: Path):
    dated = "{% if day is not defined %}{% set day = strftime_now('%d') %}{% endif %}{{ day }} " + tiny_models.TEMPLATE
    folder = tiny_models.causal(tmp_path / "dated", dated)
    with pytest.raises(ServiceError, match="does not fit dated") as raised:
        made(folder).generate([ask("叶酸？")])
    assert "depend on the day" in raised.value.why
    assert prompt(made(folder, chat_values={"day": 7}), ask("叶酸？")).startswith("7<|user|>叶酸")


def test_without_template_or_wrapping_nothing_is_asked(tmp_path: Path):
    folder = tiny_models.causal(tmp_path / "plain", template=None)
    with pytest.raises(ServiceError, match="does not fit plain") as raised:
        made(folder).generate([ask("叶酸？")])
    assert raised.value.why == "it has no chat template"


@pytest.mark.push
def test_wrapping_as_chatyuan_has_it(t5: Path):
    model = made(t5)
    request = Request((Message("user", "第一行\n第二行\t完"),), GREEDY)
    assert prompt(model, request) == "用户：第一行\\n第二行\\t完\\n小元：</s>"
    body: dict[str, Any] = json.loads(model.generate([request])[0])
    assert model.read(json.dumps(body | {"text": "一\\n二\\t三"})).text == "一\n二\t三"
    talk = Request((Message("user", "甲"), Message("assistant", "乙"), Message("user", "丙")), GREEDY)
    assert prompt(model, talk) == "用户：甲\\n小元：乙\\n用户：丙\\n小元：</s>"
    system = Request((Message("system", "简短。"), Message("user", "甲")), GREEDY)
    with pytest.raises(ServiceError, match="the conversation does not fit"):
        model.generate([system])
    assert prompt(made(t5, system_role="merge"), system) == "用户：简短。\\n\\n甲\\n小元：</s>"
    own = made(t5, wrapping=CHATYUAN | {"start": "开始 ", "system": "设定：{text}"})
    assert prompt(own, system) == "开始 设定：简短。\\n用户：甲\\n小元：</s>"


@pytest.mark.parametrize(
    ("wrapping", "fault"),
    [
        ({"user": "用户："}, r"user: a template uses \{text\} exactly once"),
        ({"assistant": "{text}{text}"}, r"assistant: a template uses \{text\} exactly once"),
        ({"user": "{question}"}, r"user: unknown placeholder \{question\}"),
        ({"newline": ""}, "newline"),
        ({"prefix": "x"}, "prefix"),
    ],
)
def test_a_wrapping_that_loses_text_is_refused(wrapping: dict[str, Any], fault: str):
    with pytest.raises(ValidationError, match=fault):
        TransformersSpec(
            kind="transformers", name="a/b", architecture="causal", dtype="auto", wrapping=CHATYUAN | wrapping
        )  # fmt: skip


@pytest.mark.push
def test_prompts_that_are_too_long(chat: Path, t5: Path):
    long = ask("叶酸。" * 40)
    for folder in (chat, t5):
        model = made(folder, max_input_tokens=30)
        with pytest.raises(RefusedRequestError, match=r"\d+ tokens, and \S+ accepts 30 \(max_input_tokens\)"):
            model.generate([ask("短"), long])
        cut = made(folder, max_input_tokens=30, overflow="truncate")
        body: dict[str, Any] = json.loads(cut.generate([long])[0])
        assert (body["cut"], body["prompt_tokens"]) == (True, 30)
        assert json.loads(cut.generate([ask("短")])[0])["cut"] is False
        kept = prompt(cut, long)
        assert kept.endswith("<|assistant|>" if folder is chat else "</s>")
        assert kept.startswith("用户：") == (folder is t5)


def test_prompts_that_leave_no_room_in_the_context(chat: Path):
    with pytest.raises(RefusedRequestError, match=r"chat\d* accepts 56 \(its context minus 200 new ones\)"):
        made(chat).generate([ask("叶酸。" * 20, {"temperature": 0, "max_new_tokens": 200})])


def test_a_limit_of_new_tokens_is_needed(chat: Path):
    with pytest.raises(ServiceError, match="needs a limit of new tokens") as raised:
        made(chat).generate([ask("叶酸", {"temperature": 0})])
    assert "sampling.max_new_tokens" in raised.value.next


def test_a_schema_stands_at_the_end_of_the_prompt(chat: Path):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    told = '{"properties": {"text": {"type": "string"}}, "type": "object"}'
    read = prompt(made(chat), ask("叶酸？", schema=schema))
    assert read.startswith("<|user|>叶酸？\n\nAnswer with one JSON object")
    assert read.endswith(f"{told}<|end|><|assistant|>")


def test_what_the_model_is(chat: Path, tmp_path: Path):
    folder = tmp_path / "chat"
    shutil.copytree(chat, folder)
    base = made(folder)
    identity, key = base.identity(), request_key(base, ask("叶酸"))
    assert base.label == "chat"
    assert made(chat).identity() == identity, "where it lies does not matter"
    for knob in ({"device": "cuda:3"}, {"batch_size": 1}):
        assert made(folder, **knob).identity() == identity
    for change in (
        {"dtype": "bfloat16"}, {"architecture": "seq2seq"}, {"wrapping": CHATYUAN}, {"system_role": "merge"},
        {"max_input_tokens": 9}, {"overflow": "truncate"}, {"chat_values": {"enable_thinking": False}},
    ):  # fmt: skip
        assert made(folder, **change).identity() != identity, change
    for name, edit in {
        "README.md": None, "chat_template.jinja": "x", "tokenizer_config.json": " ", "model.safetensors": "\0",
    }.items():  # fmt: skip
        before = made(folder).identity()
        with (folder / name).open("a") as stream:
            stream.write(edit or "text")
        assert (made(folder).identity() == before) == (edit is None), name
    assert request_key(base, ask("叶酸")) == key, "a model stays what it was"


def test_names_on_the_hub():
    given = {"kind": "transformers", "architecture": "causal", "dtype": "auto"}
    model = registry.create_from_spec("model", TransformersSpec(**given, name="org/model", revision="0123abc"))
    assert model.label == "org/model"
    assert (model.identity()["name"], model.identity()["revision"]) == ("org/model", "0123abc")
    for wrong in (
        {}, {"name": "org/model", "path": "folder"}, {"path": "folder", "revision": "main"}, {"name": "../model"},
        {"name": "/models/x"}, {"name": "a/b/c"}, {"name": "a/b", "structured": "json_schema"},
        {"name": "a/b", "chat_values": {"tokenize": True}}, {"name": "a/b", "trust_remote_code": True},
        {"name": "a/b", "chat_values": {"x": 1}, "wrapping": CHATYUAN},
    ):  # fmt: skip
        with pytest.raises(ValidationError):
            TransformersSpec(**given, **wrong)


def test_a_model_that_is_not_in_the_cache_and_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    model = registry.create_from_spec(
        "model", TransformersSpec(kind="transformers", name="no-such/model", architecture="causal", dtype="auto")
    )
    with pytest.raises(ServiceError, match="no-such/model cannot be loaded") as raised:
        model.generate([ask("叶酸")])
    assert "hf download no-such/model" in raised.value.next
    (tmp_path / "no-such" / "model").mkdir(parents=True)
    with pytest.raises(ServiceError, match="also a folder here"):
        model.generate([ask("叶酸")])


def test_weights_that_are_not_safetensors_are_not_read(chat: Path, tmp_path: Path):
    import torch

    folder = tmp_path / "chat"
    shutil.copytree(chat, folder)
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(ServiceError, match="cannot be loaded") as raised:
        made(folder).generate([ask("叶酸")])
    assert "safetensors" in raised.value.next


def test_models_with_code_of_their_own_are_not_run(chat: Path, tmp_path: Path):
    folder = tmp_path / "chat"
    shutil.copytree(chat, folder)
    config = json.loads((folder / "config.json").read_text())
    ours = "configuration_own.Own"
    config |= {"model_type": "own", "auto_map": {"AutoConfig": ours, "AutoModelForCausalLM": "modeling_own.Own"}}
    (folder / "config.json").write_text(json.dumps(config))
    for name in ("configuration_own.py", "modeling_own.py"):
        (folder / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(ServiceError, match="cannot be loaded"):
        made(folder).generate([ask("叶酸")])
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("damage", ["{", "device", "folder", "weights"])
def test_what_cannot_be_loaded_is_said(chat: Path, tmp_path: Path, damage: str):
    folder = tmp_path / "chat"
    shutil.copytree(chat, folder)
    if damage == "{":
        (folder / "config.json").write_text("{")
    if damage == "weights":
        (folder / "model.safetensors").write_bytes(b"\xff" * 64)
    if damage == "folder":
        shutil.rmtree(folder)
        with pytest.raises(DataError, match="cannot read the model folder"):
            made(folder).identity()
    model = made(folder, device="abacus" if damage == "device" else "cpu")
    with pytest.raises(ServiceError, match="the model chat cannot be loaded") as raised:
        model.generate([ask("叶酸")])
    assert raised.value.next
    assert "\n" not in raised.value.why


def test_too_little_memory(chat: Path, monkeypatch: pytest.MonkeyPatch):
    import torch

    model = made(chat)
    model.generate([])
    engine = model._engine
    assert engine is not None

    def full(*_args: Any, **_kwargs: Any) -> None:
        raise torch.OutOfMemoryError("out of memory\nmore")

    monkeypatch.setattr(engine.model, "generate", full)
    with pytest.raises(ServiceError, match="not enough memory") as raised:
        model.generate([ask("一"), ask("二")])
    assert raised.value.next == "set a lower model.batch_size (here: 2 at a time)"
    assert raised.value.why == "out of memory"

    def broken(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(engine.model, "generate", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        model.generate([ask("一")])


def test_the_extra_is_named_where_it_is_missing(chat: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InstallationError) as raised:
        made(chat).generate([ask("叶酸")])
    assert "benchbuilder[hf]" in raised.value.next


def test_nothing_reaches_the_terminal(chat: Path, t5: Path, capfd: pytest.CaptureFixture[str]):
    for folder in (chat, t5):
        made(folder).generate([ask("叶酸。" * 30, SAMPLED), ask("短", {**GREEDY, "stop": ["。"]})])
    assert capfd.readouterr() == ("", "")


def test_random_numbers_of_others_are_left_alone(chat: Path):
    import torch

    model = made(chat)
    model.generate([])
    torch.manual_seed(3)
    wanted = torch.rand(1)
    torch.manual_seed(3)
    model.generate([ask("叶酸", SAMPLED)])
    assert torch.equal(torch.rand(1), wanted)


@pytest.mark.parametrize("name", ["transformers", "chatyuan"])
def test_bundled_models(name: str):
    import yaml

    from benchbuilder.config.search_path import bundled_folder

    given = yaml.safe_load((bundled_folder("recipes") / "model" / f"{name}.yaml").read_text(encoding="utf-8"))
    spec = TransformersSpec(**(given | ({"path": "folder"} if name == "transformers" else {})))
    if name == "chatyuan":
        assert spec.wrapping is not None
        assert spec.wrapping.model_dump() == {"start": "", "system": None, **CHATYUAN}
        assert (spec.architecture, spec.max_input_tokens, spec.overflow) == ("seq2seq", 768, "truncate")
        assert {"temperature", "max_new_tokens", "no_repeat_ngram_size"} <= registry.create_from_spec(
            "model", spec
        ).known_settings()
    unused = FileRef(path="folder")
    assert spec.path in (None, unused)
