"""What the project's own judge asks and scores, for comparison with exports that carry it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from benchbuilder.config import KindSpec, LoadedRecipe, load_recipe
from benchbuilder.core import Dropped, create_from_spec, strip_reasoning
from benchbuilder.evaluation import Case
from benchbuilder.models import Request, request_payload
from benchbuilder.models.providers.openai_wire import read_completion
from benchbuilder.publishing.release.items import SharedItem

JUDGE = "prompted_correctness"
JUDGED = ("recipe=care_mi", "evaluation=[zh_claims,zh_prompted]")
"""A recipe with that judge."""


def digest(messages: Sequence[dict[str, Any]]) -> str:
    """The SHA-256 of the texts of `messages`."""
    texts = [[message["role"], message["content"]] for message in messages]
    return hashlib.sha256(json.dumps(texts, ensure_ascii=False).encode()).hexdigest()


@cache
def _asked_model() -> KindSpec:
    return load_recipe(["recipe=care_mi", "model=openai", "model.name=judge"], environ={}).recipe.model


def scored_by_product(
    loaded: LoadedRecipe, item: SharedItem, reply: str, say: Callable[[list[dict[str, Any]]], str]
) -> tuple[float | None, list[str]]:
    """The score of `reply`, or none, and the digests of what a service is sent; `say` gives the body of its answer."""
    evaluation = loaded.recipe.evaluation
    assert evaluation is not None
    judge: Any = create_from_spec("judge", evaluation.judges[JUDGE].model_copy(update={"model": _asked_model()}))
    judge.open(None)
    answer = strip_reasoning(reply) or ""
    if not answer.strip():
        return 0.0, []
    texts = tuple(part["text"] for part in item.columns["evidence"])
    case = Case(item.context + item.question, answer, texts, item.answer, item.answer_wrong, "oe")
    sent: list[str] = []
    talk = judge.converse(case)
    try:
        request: Request = next(talk)
        while True:
            messages = request_payload(request, {}, {}, "prompt")["messages"]
            sent.append(digest(messages))
            request = talk.send(read_completion(say(messages)))
    except StopIteration as end:
        return (None if isinstance(end.value, Dropped) else end.value), sent
