"""Steps that ask a model: about items, about earlier answers, and about scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchbuilder.config.spec.model import ReasoningSpec
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Claim, Item
from benchbuilder.core.records.roles import Answer, Score
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.core.registry import find_kind
from benchbuilder.models.base import Reply, Request
from benchbuilder.models.providers.openai import OpenAIModel
from benchbuilder.pipeline.accounting.shard import check_outcomes

PROMPTS = Path(__file__).parents[3] / "prompts" / "zh"
CONTEXT = StepContext(1, "zh", "step", Path("cache"), Path("people"))
MADE = ProducedBy(rule="test")
MODEL = find_kind("model", "openai").load().spec_class(kind="openai", name="some-model")


def item() -> Item[Claim]:
    payload = Claim(
        type="tf", expected="yes", context="孕妇，28岁。", question="应补充叶酸吗？", answer="应补充叶酸。",
        answer_wrong="不应补充叶酸。",
    )  # fmt: skip
    return Item[Claim].build(
        origin=Origin(file="f", line=1), produced_by=MADE, language="zh", partition="medqa", payload=payload,
        candidate="c", fact="fact-1", reviewed=True,
    )  # fmt: skip


def step_of(kind: str, **spec: Any) -> Any:
    cls = find_kind("step", kind).load()
    step = cls(cls.spec_class.model_validate({"kind": kind, "from": "sources.benchmark", **spec}), CONTEXT)
    step.open({})
    return step


def driven(step: Any, row: Any, *replies: Reply, **parents: Any) -> tuple[list[Any], list[Request]]:
    talk, asked, waiting = step.converse(row, parents), [], list(replies)
    try:
        request = next(talk)
        while True:
            asked.append(request)
            request = talk.send(waiting.pop(0))
    except StopIteration as end:
        check_outcomes(step, row.id, end.value, step.output)
        return end.value, asked


def answers(**spec: Any) -> Any:
    return step_of("answer", name="tried", model=MODEL, **spec)


def test_the_question_alone_is_asked_with_its_context_and_nothing_else():
    outcomes, asked = driven(
        answers(sampling={"temperature": 0.0, "max_new_tokens": 2048}), item(), Reply("应该。", "complete")
    )
    (request,) = asked
    assert [(m.role, m.content) for m in request.messages] == [("user", "孕妇，28岁。应补充叶酸吗？")]
    assert request.sampling == {"temperature": 0.0, "max_new_tokens": 2048}
    (outcome,) = outcomes
    assert isinstance(outcome, Kept)
    assert isinstance(outcome.row, Answer)
    assert (outcome.row.model, outcome.row.text, outcome.row.outcome, outcome.row.of) == (
        "tried",
        "应该。",
        "complete",
        item().id,
    )


@pytest.mark.parametrize(
    ("reply", "text", "outcome"),
    [
        (Reply("  应该。\n", "complete"), "应该。", "complete"),
        (Reply("应该，因为", "truncated"), "应该，因为", "truncated"),
        (Reply("", "refused"), "", "refused"),
        (Reply("", "filtered"), "", "filtered"),
        (Reply(" \n", "complete"), "", "empty"),
        (Reply("<think>想一想</think>应该。", "complete"), "应该。", "complete"),
        (Reply("<think>想一想，还没想完", "complete"), "", "truncated"),
    ],
)
def test_every_item_gets_an_answer_whatever_becomes_of_the_request(reply, text, outcome):
    (row_outcome,), _ = driven(answers(), item(), reply)
    assert (row_outcome.row.text, row_outcome.row.outcome) == (text, outcome)


def test_a_model_that_only_thought_is_asked_once_more_if_the_recipe_says_so():
    out = Reply("", "thought_out")
    settings = {"temperature": 0.0, "max_new_tokens": 100}
    (once,), asked = driven(answers(sampling=settings), item(), out)
    assert (once.row.text, once.row.outcome, len(asked)) == ("", "thought_out", 1)
    patient = MODEL.model_copy(update={"reasoning": ReasoningSpec(max_tokens=500, retry=True)})
    for replies, outcome in (((out, Reply("应该。", "complete")), "complete"), ((out, out), "thought_out")):
        step = step_of("answer", name="tried", model=patient, sampling=settings)
        (found,), asked = driven(step, item(), *replies)
        assert found.row.outcome == outcome
        sent = [OpenAIModel(patient).body(request)["max_completion_tokens"] for request in asked]
        assert sent == [600, 1100]


def test_an_answer_names_the_model_that_the_service_says_it_used():
    (silent,), _ = driven(answers(), item(), Reply("应该。", "complete"))
    (named,), _ = driven(answers(), item(), Reply("应该。", "complete", model="gpt-4o-2024-08-06"))
    assert silent.row.produced_by.rule == "answer"
    assert named.row.produced_by.rule == "answer/by gpt-4o-2024-08-06"
    assert (named.row.id, named.row.model) == (silent.row.id, silent.row.model)


def test_unsupported_sampling_settings_are_reported():
    step = answers(sampling={"temperature": 0.0, "no_repeat_ngram_size": 3})
    assert [issue.key for issue in step.validate_inputs({})] == ["sampling.no_repeat_ngram_size"]


def judged() -> Any:
    judge = {
        "kind": "prompted", "aspect": "correctness", "max_evidence_chars": 500, "reply": "json",
        "prompt": {"path": "zh/judge_correctness.j2", "resolved_path": str(PROMPTS / "judge_correctness.j2")},
        "model": find_kind("model", "openai").load().spec_class(kind="openai", name="some-model"),
    }  # fmt: skip
    spec = find_kind("judge", "prompted").load().spec_class.model_validate(judge)
    scorer = find_kind("scorer", "judged").load().spec_class(kind="judged", judge=spec, language="zh")
    return step_of("score_by_model", name="judge_prompted", scorer=scorer)


def answer(text: str, outcome: Any = "complete") -> Answer:
    return Answer.child(item(), produced_by=MADE, model="tried", text=text, outcome=outcome)


def test_a_model_that_is_asked_about_an_answer_gives_it_a_score():
    (outcome,), asked = driven(judged(), answer("应该补充。"), Reply('{"score": 0.75}', "complete"), item=item())
    assert isinstance(outcome.row, Score)
    assert (outcome.row.value, outcome.row.aspect, outcome.row.scorer) == (0.75, "correctness", "judge_prompted")
    assert (outcome.row.model, outcome.row.item) == ("tried", item().id)
    assert "应该补充。" in asked[0].messages[-1].content


def test_what_a_judge_cannot_say_is_dropped_with_its_reason():
    (outcome,), _ = driven(judged(), answer("应该补充。"), Reply("很好的回答！", "complete"), item=item())
    assert isinstance(outcome, Dropped)
    assert outcome.reason in judged().reasons


def test_an_answer_without_text_scores_nothing_and_asks_nothing():
    (outcome,), asked = driven(judged(), answer("", "refused"), item=item())
    assert (outcome.row.value, outcome.row.label, asked) == (0.0, "refused", [])


def follow_up(folder: Path, text="{{ question }} 之前：{{ earlier }}"):
    (folder / "again.j2").write_text(text, encoding="utf-8")
    prompt = {"path": "again.j2", "resolved_path": str(folder / "again.j2")}
    return step_of("follow_up", name="tried", model=MODEL, prompt=prompt)


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


def test_a_follow_up_without_a_prompt_is_an_issue():
    step_class = find_kind("step", "follow_up").load()
    spec = step_class.spec_class.model_validate(
        {"kind": "follow_up", "from": "answer", "name": "tried", "model": MODEL}
    )
    (issue,) = step_class(spec, CONTEXT).validate_inputs({})
    assert (issue.key, issue.actual) == ("prompt", "null")
