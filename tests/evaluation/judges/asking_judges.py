"""What tests of judges that ask a model share: the bundled prompts, cases, and a model that says what it is told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchbuilder.config.spec.base import FileRef, PromptRef
from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.evaluation.judges.base import AskingJudge, Case
from benchbuilder.models.base import Reply, ReplyOutcome, Request
from benchbuilder.models.providers.openai import OpenAISpec

ROOT = Path(__file__).parents[3]
RUBRIC = FileRef(
    path="questions/zh_answers.yaml", resolved_path=str(ROOT / "recipes" / "questions" / "zh_answers.yaml")
)
MODEL = OpenAISpec(kind="openai", name="base", base_url="http://127.0.0.1:9/v1")
CASE = Case(
    question="孕妇每天最多可以喝多少咖啡？",
    answer="每天的咖啡因不宜超过200毫克，大约是一到两小杯咖啡。",
    evidence=("孕期每日咖啡因摄入不宜超过200毫克。", "咖啡因可以通过胎盘。"),
    right="每天的咖啡因不宜超过200毫克。",
)


def prompt_of(name: str) -> PromptRef:
    """A bundled prompt, placed."""
    return PromptRef(path=name, resolved_path=str(ROOT / "prompts" / name))


def asked(
    judge: AskingJudge, case: Case, replies: Sequence[str | Reply] | Callable[[Request], str]
) -> tuple[float | Dropped, list[Request]]:
    """What the judge makes of `replies`, one after the other, and what it asked for them."""
    requests: list[Request] = []
    work: Any = judge.converse(case)
    reply: Reply | None = None
    while True:
        try:
            request = work.send(reply)
        except StopIteration as stop:
            return stop.value, requests
        requests.append(request)
        said = replies(request) if callable(replies) else replies[len(requests) - 1]
        reply = said if isinstance(said, Reply) else Reply(said, "complete")


def bad(outcome: ReplyOutcome, text: str = "") -> Reply:
    """A reply that is not complete."""
    return Reply(text, outcome)
