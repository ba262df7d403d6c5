"""The contract of models."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchbuilder.config import Sampling
from benchbuilder.models import LocalModel, Model, Reply, Request
from benchbuilder.testing.contract import in_new_process, require

HEAVY_LIBRARIES = ("aiohttp", "httpx", "openai", "tokenizers", "torch", "transformers")
"""Libraries that a model may import only when it is asked something, so that other commands start fast."""
MALFORMED_BODIES = ("", "garbage", "null", "[]", "{}", '"text"', '{"text": 1}', '{"choices": []}')


def check_model(make: Callable[[], Model], requests: Sequence[Request] = ()) -> list[Reply]:
    """Check a model: it is cheap to make, describes itself in plain data, and reads only bodies of its own.

    A local model must also give the same replies twice, in any order and batch. This includes requests with a
    `temperature` above 0: their samples depend only on the request and the sample number.

    Args:
        make: Makes a new model.
        requests: Example requests for a local model.

    Returns:
        The replies of a local model to `requests`.

    Raises:
        ContractError: The model breaks a promise.
    """
    model = make()
    who = f"the model {model.kind!r}"
    require(pickle.loads(pickle.dumps(model.spec)) == model.spec, f"the spec of {who} changes when pickled")
    heavy = in_new_process(_heavy_imports, type(model), pickle.dumps(model.spec))
    require(not heavy, f"{who} imports {', '.join(heavy)} before its first request")
    _check_identity(model, make(), who)
    unknown = sorted(set(model.known_settings()) - set(Sampling.model_fields))
    require(not unknown, f"{who} supports settings that no recipe has: {', '.join(unknown)}")
    require(model.known_settings() <= model.settings, f"{who} supports settings that its class does not list")
    for body in MALFORMED_BODIES:
        _check_malformed_body(model, body, who)
    return _check_local(model, make, requests, who) if isinstance(model, LocalModel) else []


def _check_identity(model: Model, second: Model, who: str) -> None:
    identity = dict(model.identity())
    try:
        plain: Any = json.loads(json.dumps(identity))
    except (TypeError, ValueError) as error:
        require(False, f"the identity of {who} is not plain JSON: {error}")
        return
    require(plain == identity, f"the identity of {who} changes on the way through JSON")
    require(identity.get("kind") == model.kind, f"the identity of {who} does not name its kind")
    require(dict(model.identity()) == identity, f"{who} gives another identity the second time")
    require(dict(second.identity()) == identity, f"{who} gives another identity when made again")


def _check_malformed_body(model: Model, body: str, who: str) -> None:
    try:
        reply = model.read(body)
    except ValueError:
        return
    require(False, f"{who} reads {body!r} as {reply}, but must raise ValueError")


def _check_local(model: LocalModel, make: Callable[[], Model], requests: Sequence[Request], who: str) -> list[Reply]:
    require(model.batch_size >= 1, f"{who} takes {model.batch_size} requests at a time")
    require(model.generate([]) == [], f"{who} answers an empty list of requests")
    if not requests:
        return []
    bodies = model.generate(requests)
    require(len(bodies) == len(requests), f"{who} gives {len(bodies)} bodies for {len(requests)} requests")
    replies = [model.read(body) for body in bodies]
    require(_replies(model, requests) == replies, f"{who} gives other answers the second time")
    require(_replies(model, requests[::-1]) == replies[::-1], f"{who} depends on the order of requests")
    other = make()
    assert isinstance(other, LocalModel)
    alone = [reply for request in requests for reply in _replies(other, [request])]
    require(alone == replies, f"{who} gives other answers when asked one at a time")
    return replies


def _replies(model: LocalModel, requests: Sequence[Request]) -> list[Reply]:
    return [model.read(body) for body in model.generate(requests)]


def _heavy_imports(cls: type[Model], spec: bytes) -> list[str]:
    """The heavy libraries in this process after a model was made and described itself."""
    model = cls(pickle.loads(spec))
    model.identity()
    model.known_settings()
    return [name for name in HEAVY_LIBRARIES if name in sys.modules]
