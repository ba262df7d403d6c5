"""A service in this process that takes requests by the batch, and can be told how they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from gateway_models import Fake, FakeSpec, body

from benchbuilder.config.spec.base import KindSpec
from benchbuilder.models.base import BatchGoneError, BatchService, BatchState, Request, TransientError

Result = Callable[[str, int], "str | Exception | None"]


class PostSpec(FakeSpec):
    kind: str = "post"


class Service(BatchService):
    """All that the service knows stands in the class: it outlives gateways."""

    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 10_000_000
    handed_in: ClassVar[dict[str, tuple[str, list[tuple[str, str]]]]] = {}
    """Mark, and key and text of each request, by id."""
    looks: ClassVar[Counter[str]] = Counter()
    polls: ClassVar[int] = 0
    """Looks at a batch that find it running."""
    times: ClassVar[Counter[str]] = Counter()
    """How often a text was in a batch."""
    result: ClassVar[Result | None] = None
    """Text and how often it was handed in -> body, failure, or ``None`` for no result."""
    ends: ClassVar[str] = "ended"
    troubles: ClassVar[dict[str, list[BaseException]]] = {}
    """What the next calls of a method raise."""
    heard: ClassVar[bool] = False
    """Whether a batch whose submission raises was taken all the same."""

    @classmethod
    def forget(cls) -> None:
        cls.handed_in, cls.looks, cls.polls, cls.times = {}, Counter(), 0, Counter()
        cls.result, cls.ends, cls.troubles, cls.heard = None, "ended", {}, False
        cls.most_requests, cls.most_bytes = 50_000, 10_000_000

    @classmethod
    def sizes(cls) -> list[int]:
        return [len(requests) for _, requests in cls.handed_in.values()]

    def size(self, request: Request) -> int:
        return 100 + len(request.messages[-1].content)

    async def submit(self, mark: str, requests: Sequence[tuple[str, Request]]) -> str:
        assert mark not in [known for known, _ in self.handed_in.values()], "handed in twice"
        troubles = self.troubles.get("submit")
        if troubles and not self.heard:
            raise troubles.pop(0)
        ident = f"batch_{len(self.handed_in) + 1}"
        texts = [(key, request.messages[-1].content) for key, request in requests]
        self.handed_in[ident] = (mark, texts)
        Service.times.update(text for _, text in texts)
        if troubles:
            raise troubles.pop(0)
        return ident

    async def find(self, mark: str) -> str | None:
        self._trouble("find")
        return next((ident for ident, (known, _) in self.handed_in.items() if known == mark), None)

    async def poll(self, ident: str) -> BatchState:
        self._trouble("look")
        if ident not in self.handed_in:
            raise BatchGoneError(f"no {ident}")
        Service.looks[ident] += 1
        total = len(self.handed_in[ident][1])
        if self.looks[ident] <= self.polls:
            return BatchState("running", "in progress", 0, total)
        if self.ends == "failed":
            return BatchState("failed", "line 1: too many tokens are waiting", 0, total)
        return BatchState("ended", self.ends, total, total)

    async def results(self, ident: str):
        for key, text in reversed(self.handed_in[ident][1]):
            self._trouble(f"result {text}")
            found: Any = body(f"re: {text}")
            if Service.result is not None:
                found = Service.result(text, self.times[text])
            if found is not None:
                yield key, found

    def _trouble(self, method: str) -> None:
        if self.troubles.get(method):
            raise self.troubles[method].pop(0)


class Post(Fake):
    kind: ClassVar[str] = "post"
    spec_class: ClassVar[type[KindSpec]] = PostSpec

    def batches(self) -> BatchService:
        return Service()


BROKEN = TransientError("the connection broke", billed=True)
