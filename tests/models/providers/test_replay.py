from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from benchbuilder.config.spec.base import FileRef
from benchbuilder.config.spec.model import Sampling
from benchbuilder.core import registry
from benchbuilder.core.errors import DataError
from benchbuilder.models.base import Message, RefusedRequestError, Reply, Request, Usage, request_key
from benchbuilder.models.providers.replay import RecordedReply, ReplayModel, ReplaySpec, request_hash, write_replies
from benchbuilder.testing import check_model

SAMPLING = {"temperature": 0.0, "max_new_tokens": 128, "stop": ["\n"]}
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def request(text: str = "叶酸有什么作用？", **changes: Any) -> Request:
    given: dict[str, Any] = {"messages": (Message("system", "简短。"), Message("user", text)), "sampling": SAMPLING}
    return Request(**(given | changes))


def recorded(asked: Request, text: str = "预防神经管缺陷。", model: str = "gpt", **changes: Any) -> RecordedReply:
    reply = Reply(text, changes.pop("outcome", "complete"), changes.pop("usage", Usage(12, 7, 3)))
    return RecordedReply.from_reply(asked, reply, model=model, **changes)


def replay(path: Path, *replies: RecordedReply, name: str | None = None) -> ReplayModel:
    if replies:
        write_replies(path, replies)
    return registry.create_from_spec("model", ReplaySpec(kind="replay", replies=FileRef(path=str(path)), name=name))


ASKED = [request(), request("妊娠多少周？"), request(sample=1), request(schema=SCHEMA)]


@pytest.mark.push
def test_it_keeps_the_contract_of_models(tmp_path: Path):
    replies = [recorded(asked, f"第{number}个回答") for number, asked in enumerate(ASKED)]
    found = check_model(lambda: replay(tmp_path / "replies.jsonl", *replies), ASKED)
    assert [reply.text for reply in found] == [f"第{number}个回答" for number in range(4)]
    assert found[0] == Reply("第0个回答", "complete", Usage(12, 7, 3))


def test_it_knows_every_setting(tmp_path: Path):
    assert replay(tmp_path / "replies.jsonl", recorded(request())).known_settings() == frozenset(Sampling.model_fields)


@pytest.mark.parametrize(
    "other",
    [
        request("叶酸有什么用？"),
        request(sample=1),
        request(schema=SCHEMA),
        request(sampling={**SAMPLING, "temperature": 0.1}),
        request(sampling={**SAMPLING, "stop": None}),
        request(messages=(Message("user", "叶酸有什么作用？"),)),
    ],
)
def test_what_was_not_recorded_is_refused(tmp_path: Path, other: Request):
    model = replay(tmp_path / "replies.jsonl", recorded(request()))
    model.generate([request()])
    with pytest.raises(RefusedRequestError, match=r"is not in replies\.jsonl: was it recorded with the same"):
        model.generate([other])


def test_numbers_and_settings_that_are_left_out_are_compared_by_meaning(tmp_path: Path):
    line = {
        "messages": [{"role": "system", "content": "简短。"}, {"role": "user", "content": "叶酸有什么作用？"}],
        "sampling": {"stop": ["\n"], "max_new_tokens": 128, "temperature": 0, "top_p": None},
        "model": "by hand", "outcome": "refused", "text": "",
    }  # fmt: skip
    path = tmp_path / "replies.jsonl"
    path.write_text(f"\n{json.dumps(line)}\n\n", encoding="utf-8")
    model = replay(path)
    assert model.read(model.generate([request()])[0]) == Reply("", "refused", None)


def test_the_file_is_part_of_what_the_model_is(tmp_path: Path):
    one = replay(tmp_path / "replies.jsonl", recorded(request()))
    key = request_key(one, request())
    two = replay(tmp_path / "replies.jsonl", recorded(request(), "另一个回答"))
    assert request_key(one, request()) == key, "a model stays what it was"
    assert request_key(two, request()) != key
    three = replay(tmp_path / "moved.jsonl", recorded(request(), "另一个回答"))
    assert two.identity() == three.identity()
    assert two.identity() != replay(tmp_path / "moved.jsonl", name="gpt").identity()


def test_several_models_in_one_file(tmp_path: Path):
    path = tmp_path / "replies.jsonl"
    only = request("只有一个模型回答过")
    unclear = replay(path, recorded(request(), "甲"), recorded(request(), "乙", model="local"), recorded(only, "甲"))
    assert unclear.read(unclear.generate([only])[0]).text == "甲"
    with pytest.raises(DataError, match="several models are recorded for one request: gpt, local") as raised:
        unclear.generate([request()])
    assert raised.value.next == "set model.name to one of them"

    chosen = replay(path, name="local")
    assert chosen.label == "local"
    assert chosen.read(chosen.generate([request()])[0]).text == "乙"
    with pytest.raises(RefusedRequestError, match=r"not in replies\.jsonl as one of local"):
        chosen.generate([only])
    with pytest.raises(DataError, match="no reply of other is recorded") as raised:
        replay(path, name="other").generate([request()])
    assert raised.value.why == "recorded: gpt, local"


def test_the_order_of_a_written_file_depends_on_the_replies_alone(tmp_path: Path):
    replies = [recorded(asked, text) for asked in ASKED for text in ("答",)]
    assert write_replies(tmp_path / "a", replies) == 4
    assert write_replies(tmp_path / "b", [*reversed(replies), replies[0]]) == 4
    written = (tmp_path / "a").read_bytes()
    assert written == (tmp_path / "b").read_bytes()
    hashes = [request_hash(RecordedReply.model_validate_json(line).request()) for line in written.splitlines()]
    assert hashes == sorted(request_hash(asked) for asked in ASKED)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_two_answers_to_one_request_are_not_written(tmp_path: Path):
    with pytest.raises(DataError, match="gpt has two answers to one request: '甲' and '乙'"):
        write_replies(tmp_path / "replies.jsonl", [recorded(request(), "甲"), recorded(request(), "乙")])
    assert list(tmp_path.iterdir()) == []


def test_usage_may_differ_between_two_recordings(tmp_path: Path):
    replies = [recorded(request(), usage=Usage(12, 7, cached)) for cached in (0, 8)]
    write_replies(tmp_path / "a", replies)
    write_replies(tmp_path / "b", replies[::-1])
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "Invalid JSON"),
        ('{"model": "m", "outcome": "complete", "text": ""}', "messages: Field required"),
        ('{"messages": [], "model": "m", "outcome": "complete", "text": ""}', "messages: Tuple should have at least 1"),
        (recorded(request()).line().replace('"complete"', '"fine"'), "outcome: Input should be"),
        (recorded(request()).line().replace("max_new_tokens", "max_tokens"), "sampling.max_tokens: Extra inputs"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, why: str):
    path = tmp_path / "replies.jsonl"
    path.write_text(f"{recorded(request('另一个')).line()}\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError) as raised:
        replay(path).generate([request()])
    assert raised.value.where == f"{path}:2"
    assert why in raised.value.why


def test_one_request_twice_for_one_model_is_an_error(tmp_path: Path):
    path = tmp_path / "replies.jsonl"
    path.write_text(f"{recorded(request()).line()}\n" * 2, encoding="utf-8")
    with pytest.raises(DataError, match="gpt is recorded twice for one request") as raised:
        replay(path).generate([request()])
    assert raised.value.where == f"{path}:2"


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(DataError, match="cannot read"):
        replay(tmp_path / "nothing.jsonl").generate([request()])
    with pytest.raises(DataError, match="cannot read"):
        replay(tmp_path / "nothing.jsonl").identity()


def test_a_file_that_changes_meanwhile_gives_no_other_reply(tmp_path: Path):
    path = tmp_path / "replies.jsonl"
    model = replay(path, recorded(request()))
    model.generate([request()])
    write_replies(path, [recorded(request("换掉的"))])
    with pytest.raises(DataError, match="changed while they were read"):
        model.generate([request()])


def test_texts_do_not_stay_in_memory(tmp_path: Path):
    model = replay(tmp_path / "replies.jsonl", *(recorded(request(f"{n}"), "长" * 1000) for n in range(20)))
    model.generate([request("7")])
    assert "长" not in repr(vars(model))


def test_a_spec_names_its_file():
    with pytest.raises(ValidationError):
        ReplaySpec(kind="replay")  # pyright: ignore[reportCallIssue]


def test_it_is_called_by_the_models_in_its_file(tmp_path: Path):
    file = tmp_path / "replies.jsonl"
    model = replay(file, recorded(request()))
    assert model.label == recorded(request()).model
    assert model.replies_file == "replies.jsonl"
    assert (
        ReplayModel(ReplaySpec(kind="replay", replies=FileRef(path="gone", resolved_path=str(tmp_path / "gone")))).label
        == "gone"
    )
