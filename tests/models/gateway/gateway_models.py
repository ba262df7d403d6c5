"""Models that stand in for services: they sleep, fail, throttle or talk nonsense, as a test says."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

from benchbuilder.config.spec.base import KindSpec, RuntimeOption
from benchbuilder.config.spec.model import HostedSpec, ModelSpec
from benchbuilder.core.records.outcomes import Dropped
from benchbuilder.models.base import HostedModel, LocalModel, Message, Reply, Request, Usage

Script = Callable[["Fake", Request, int], Any]


class FakeSpec(HostedSpec):
    kind: str = "fake"
    name: str = "fake-1"
    latency_s: Annotated[float, RuntimeOption()] = 0.0
    """Seconds to an answer."""
    script: Annotated[str, RuntimeOption()] = ""
    """Name of what the service does, in `Fake.scripts`."""


def body(text: str, *, prompt: int = 10, completion: int = 5, outcome: str = "complete", usage: bool = True) -> str:
    counts = {"prompt": prompt, "completion": completion} if usage else None
    return json.dumps({"text": text, "outcome": outcome, "usage": counts})


class Fake(HostedModel):
    kind: ClassVar[str] = "fake"
    spec_class: ClassVar[type[KindSpec]] = FakeSpec
    settings: ClassVar[frozenset[str]] = frozenset({"temperature", "max_new_tokens", "seed"})
    scripts: ClassVar[dict[str, Script]] = {}
    asked: ClassVar[Counter[str]] = Counter()
    now: ClassVar[int] = 0
    peak: ClassVar[int] = 0
    made: ClassVar[int] = 0
    closed: ClassVar[int] = 0

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        Fake.made += 1

    @classmethod
    def forget(cls) -> None:
        cls.scripts, cls.asked, cls.now, cls.peak, cls.made, cls.closed = {}, Counter(), 0, 0, 0, 0

    def identity(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "endpoint": self.spec.base_url or "http://fake", "name": self.spec.name}

    async def send(self, request: Request) -> str:
        text = request.messages[-1].content
        Fake.asked[text] += 1
        Fake.now += 1
        Fake.peak = max(Fake.peak, Fake.now)
        try:
            if self.spec.latency_s:
                await asyncio.sleep(self.spec.latency_s)
            script = Fake.scripts.get(self.spec.script)
            result = script(self, request, Fake.asked[text]) if script else None
            if asyncio.iscoroutine(result):
                result = await result
            if isinstance(result, BaseException):
                raise result
            return result or body(f"re: {text}")
        finally:
            Fake.now -= 1

    def read(self, body: str) -> Reply:
        found = json.loads(body)
        usage = found["usage"]
        return Reply(found["text"], found["outcome"], Usage(usage["prompt"], usage["completion"]) if usage else None)

    async def close(self) -> None:
        Fake.closed += 1


class HereSpec(ModelSpec):
    kind: str = "here"
    batch_size: Annotated[int, RuntimeOption()] = 4


class Here(LocalModel):
    kind: ClassVar[str] = "here"
    spec_class: ClassVar[type[KindSpec]] = HereSpec
    batches: ClassVar[list[list[str]]] = []
    refuses: ClassVar[dict[str, BaseException]] = {}

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.batch_size = spec.batch_size

    def generate(self, requests):
        texts = [request.messages[-1].content for request in requests]
        Here.batches.append(texts)
        time.sleep(0.001)
        for text in texts:
            if text in Here.refuses:
                raise Here.refuses[text]
        return [json.dumps(f"here: {text}") for text in texts]

    def read(self, body: str) -> Reply:
        return Reply(json.loads(body), "complete")


GATEWAY_KINDS = {
    "fake": "gateway_models:Fake",
    "here": "gateway_models:Here",
    "openai": "benchbuilder.models.providers.openai:OpenAIModel",
    "none": "benchbuilder.models.providers.none:NoModel",
}


def request(text: str, *, sample: int = 0, **sampling: Any) -> Request:
    return Request((Message("user", text),), sampling or {"temperature": 0}, None, sample)


def saying(*texts: str, **sampling: Any):
    """A conversation that says these one after the other and returns what it was told."""
    told = []
    for text in texts:
        reply = yield request(text, **sampling)
        told.append(reply.text)
    return [Dropped("told", " | ".join(told))]


class Done(dict[Any, Any]):
    """What became of each item: the details of its outcomes, or its error."""

    def __call__(self, item: Any, outcomes: Any) -> None:
        assert item not in self
        self[item] = outcomes if isinstance(outcomes, str) else " ".join(outcome.detail for outcome in outcomes)


def rows(count: int, first: int = 0, **sampling: Any):
    return ((number, saying(f"row {number}", **sampling)) for number in range(first, first + count))
