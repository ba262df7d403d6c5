"""Asking a model again, about what it answered before."""

from __future__ import annotations

from pathlib import Path

from test_answering import CONTEXT, MADE, driven, item, made

from benchbuilder.core.records.roles import Answer
from benchbuilder.core.registry import find_kind
from benchbuilder.models.base import Reply

MODEL = find_kind("model", "openai").load().spec_class(kind="openai", name="some-model")


def follow_up(folder: Path, text="{{ question }} 之前：{{ earlier }}"):
    (folder / "again.j2").write_text(text, encoding="utf-8")
    prompt = {"path": "again.j2", "resolved_path": str(folder / "again.j2")}
    return made("follow_up", name="tried", model=MODEL, prompt=prompt)


def earlier(text, outcome="complete"):
    return Answer.child(item(), produced_by=MADE, model="tried", text=text, outcome=outcome)


def test_the_prompt_sees_the_item_and_the_earlier_answer(tmp_path):
    first = earlier("应补充。")
    (outcome,), (request,) = driven(follow_up(tmp_path), first, Reply("确实。", "complete"), item=item())
    assert request.messages[0].content == "孕妇，28岁。应补充叶酸吗？ 之前：应补充。"
    assert (outcome.row.text, outcome.row.of, outcome.row.parents[:2]) == ("确实。", first.id, (first.id, item().id))
    assert outcome.row.find_item({item().id: item()}) == item()


def test_nothing_is_asked_about_an_answer_without_text(tmp_path):
    for outcome, then in (("refused", "refused"), ("truncated", "empty"), ("missing", "missing")):
        (row_outcome,), asked = driven(follow_up(tmp_path), earlier("", outcome), item=item())
        assert not asked
        assert (row_outcome.row.text, row_outcome.row.outcome) == ("", then)


def test_a_follow_up_without_a_prompt_is_a_complaint():
    stage = find_kind("step", "follow_up").load()
    spec = stage.spec_class.model_validate({"kind": "follow_up", "from": "answer", "name": "tried", "model": MODEL})
    (complaint,) = stage(spec, CONTEXT).validate_inputs({})
    assert (complaint.key, complaint.found) == ("prompt", "null")
