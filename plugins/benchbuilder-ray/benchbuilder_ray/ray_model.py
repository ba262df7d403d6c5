"""The model kind `ray`: copies of a local model on machines of a Ray cluster, each with its own GPU."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from benchbuilder.config import KindSpec, ModelSpec, RuntimeOption, Slot
from benchbuilder.core import Problem, RecipeError, ServiceError, create_from_spec, find_kind
from benchbuilder.models import LocalModel, Reply, Request
from pydantic import Field, field_validator

from benchbuilder_ray.cluster import Cluster
from benchbuilder_ray.reply_actor import ReplyActor
from benchbuilder_ray.spec import Needs, RaySpec
from benchbuilder_ray.versions import Versions

_IDLE_S = 30.0
"""Seconds that copies wait for more requests; then the cluster has their cores and GPUs again, for the next step."""
_BATCHES_AHEAD = 2
"""Batches of each copy in one call: a copy that is sooner done gets the next one."""


class RayModelSpec(ModelSpec):
    """Which model, how many copies of it, and what each takes. Only `inner` shapes replies."""

    inner: Annotated[KindSpec, Slot("model")]
    """The model: a kind that answers in the process, such as ``transformers``. Each machine needs its files at the same
    path; one from the hub is downloaded by each."""
    address: Annotated[str | None, RuntimeOption()] = None
    """As of ``run.executor.address``: ``null`` starts Ray on this machine alone."""
    copies: Annotated[int, RuntimeOption(), Field(ge=1, le=10_000)] = 1
    """Copies of the model at the same time."""
    cpus: Annotated[float, RuntimeOption(), Field(ge=0)] = 1
    """Cores that Ray sets aside for each copy."""
    gpus: Annotated[float, RuntimeOption(), Field(ge=0)] = 0
    """GPUs of each copy; parts of one are shared."""
    memory_mb: Annotated[int | None, RuntimeOption(), Field(gt=0)] = None
    """Memory that Ray sets aside for each copy."""
    resources: Annotated[dict[str, float], RuntimeOption()] = {}
    """Further resources of each copy, by the names that ``ray start --resources`` gave them."""
    retries: Annotated[int, RuntimeOption(), Field(ge=0, le=100)] = 3
    """How many copies may be lost in one call before the build stops."""
    patience_s: Annotated[float, RuntimeOption(), Field(gt=0)] = 300
    """Seconds without any copy until the build stops: a cluster that grows with its work needs a while."""

    @field_validator("inner", mode="before")
    @classmethod
    def _of_its_kind(cls, value: Any) -> Any:
        """Plain data, as the card of a build has it, become the settings of its kind."""
        if not isinstance(value, Mapping):
            return value
        node: Mapping[str, Any] = value
        return find_kind("model", node["kind"]).load().spec_class.model_validate(node)

    @property
    def needs(self) -> Needs:
        """What a copy takes."""
        return Needs(self.cpus, self.gpus, self.memory_mb, tuple(sorted(self.resources.items())))


class RayModel(LocalModel):
    """Replies have the keys of the inner model's, so that those that are paid for are found again without Ray."""

    kind: ClassVar[str] = "ray"
    spec_class: ClassVar[type[KindSpec]] = RayModelSpec
    spec: RayModelSpec

    def __init__(self, spec: RayModelSpec) -> None:
        super().__init__(spec)
        inner = create_from_spec("model", spec.inner)
        if not isinstance(inner, LocalModel):
            hint = f"set `{spec.inner.kind}` as the model itself, or inner.kind=transformers"
            raise RecipeError(
                [Problem(f"`{spec.inner.kind}` does not answer in a process", key="inner.kind", hint=hint)]
            )
        if spec.structured != inner.spec.structured:
            message = f"`structured` must be as of `inner`: {inner.spec.structured}"
            raise RecipeError([Problem(message, key="structured")])
        self._inner: LocalModel = inner
        self._cluster: Cluster | None = None
        self._guard = threading.Lock()
        self._timer = threading.Timer(_IDLE_S, self.end_copies)
        self.ready_copies: list[Any] = []
        self.starting_copies: dict[Any, Any] = {}
        self.batch_size = self._inner.batch_size * spec.copies * _BATCHES_AHEAD

    @property
    def settings(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Those of the inner model."""
        return self._inner.settings

    @property
    def required(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Those of the inner model."""
        return self._inner.required

    def known_settings(self) -> frozenset[str]:
        """Those of the inner model."""
        return self._inner.known_settings()

    @property
    def label(self) -> str:
        """The name of the inner model."""
        return self._inner.label

    def identity(self) -> Mapping[str, Any]:
        """That of the inner model: where it runs shapes no reply."""
        return self._inner.identity()

    def ready(self) -> None:
        """InstallationError if the inner model lacks a library here."""
        self._inner.ready()

    def read(self, body: str) -> Reply:
        """The inner model reads its own bodies."""
        return self._inner.read(body)

    def generate(self, requests: Sequence[Request]) -> list[str]:
        """One body per request, in order. A copy that is lost is replaced, and its requests are asked again.

        Raises:
            RefusedRequestError: A request cannot be answered.
            InstallationError: A machine has other versions, or lacks a library.
            ServiceError: There is no cluster, no room in it, or too many copies were lost.
        """
        with self._guard:
            self._timer.cancel()
            try:
                self._start()
                size = min(self._inner.batch_size, -(-len(requests) // self.spec.copies))
                return _Call(self, requests, size).run()
            finally:
                self._timer = threading.Timer(_IDLE_S, self.end_copies)
                self._timer.daemon = True
                self._timer.start()

    def _start(self) -> None:
        import ray

        spec = self.spec
        if self._cluster is None or not ray.is_initialized():
            self._cluster = Cluster(RaySpec(kind="ray", address=spec.address, cpus=spec.cpus), spec.copies)
            self.ready_copies, self.starting_copies = [], {}
        for _ in range(spec.copies - len(self.ready_copies) - len(self.starting_copies)):
            self.start_copy()

    def end_copies(self) -> None:
        """End all copies; the next call starts others."""
        import ray

        with self._guard:
            for copy in (*self.ready_copies, *self.starting_copies.values()):
                if ray.is_initialized():
                    ray.kill(copy, no_restart=True)
            self.ready_copies, self.starting_copies = [], {}

    def start_copy(self) -> None:
        """Ask for another copy, which loads the model when it is first asked."""
        import ray

        remote: Any = ray.remote(max_restarts=0, max_task_retries=0, **self.spec.needs.options())
        copy = remote(ReplyActor).remote(self.spec.inner, Versions.detect(), dict(self.identity()))
        self.starting_copies[copy.is_there.remote()] = copy


class _Call:
    """The requests of one call, in batches, each with a copy that has nothing to do."""

    def __init__(self, model: RayModel, requests: Sequence[Request], size: int) -> None:
        self._model, self._requests = model, requests
        starts = range(0, len(requests), max(size, 1))
        self._todo = deque(range(start, min(start + size, len(requests))) for start in starts)
        self._running: dict[Any, tuple[Any, range]] = {}
        self._bodies = [""] * len(requests)
        self._lost = 0

    def run(self) -> list[str]:
        import ray

        model, idle = self._model, list(self._model.ready_copies)
        while self._todo or self._running:
            while self._todo and idle:
                copy, batch = idle.pop(), self._todo.popleft()
                self._running[copy.generate.remote([self._requests[index] for index in batch])] = copy, batch
            patience = None if self._running else model.spec.patience_s
            done, _ = ray.wait([*self._running, *model.starting_copies], num_returns=1, timeout=patience)
            if not done:
                raise ServiceError(
                    f"no machine of the cluster had room for a copy of {model.label} in {patience:g} seconds",
                    why=f"it takes {model.spec.needs}",
                    next="`ray status` shows what the machines have; set model.gpus, model.cpus or model.memory_mb",
                )
            idle += self._take(done[0])
        return self._bodies

    def _take(self, done: Any) -> list[Any]:
        """Take the bodies of a batch, or note that a copy is there; the copy that has nothing to do now."""
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        copy, batch = self._running.pop(done, (None, range(0)))
        started = self._model.starting_copies.pop(done, None)
        try:
            bodies: list[str] = ray.get(done)
        except RayTaskError as error:
            raise (getattr(error, "cause", None) or error) from error
        except RayActorError as error:
            self._count_loss(error)
            if copy is not None:
                self._model.ready_copies.remove(copy)
                self._todo.appendleft(batch)
            self._model.start_copy()
            return []
        if copy is None:
            self._model.ready_copies.append(started)
            return [started]
        for index, body in zip(batch, bodies, strict=True):
            self._bodies[index] = body
        return [copy]

    def _count_loss(self, error: Exception) -> None:
        self._lost += 1
        if self._lost > self._model.spec.retries:
            raise ServiceError(
                f"{self._lost} copies of {self._model.label} were lost",
                why=str(error).strip()[:300],
                next="look at the log of Ray on that machine; memory is the usual reason (model.memory_mb)",
            ) from error
