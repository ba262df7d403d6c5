"""What a recipe may say about a build over Ray: knobs, none of them shapes what is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from benchbuilder.config import KindSpec, RuntimeOption, Spec
from pydantic import Field, field_validator

_SECRET = re.compile(
    r"key|(aws[-_]?)?(access[-_]?key([-_]?id)?|secret([-_]?access[-_]?key)?|session[-_]?token)|(.*[-_])?token"
    r"|(.*[-_])?secret|(.*[-_])?passw(or)?d|(account|api|sas)[-_]?key|(.*[-_])?credentials?|connection[-_]?string|auth.*",
    re.IGNORECASE,
)
_Amount = Annotated[float | None, RuntimeOption(), Field(ge=0)]


@dataclass(frozen=True)
class Needs:
    """What a worker takes."""

    cpus: float = 1
    gpus: float = 0
    memory_mb: int | None = None
    resources: tuple[tuple[str, float], ...] = ()

    def options(self) -> dict[str, Any]:
        """The same in Ray's words."""
        memory = {} if self.memory_mb is None else {"memory": self.memory_mb * 2**20}
        return {"num_cpus": self.cpus, "num_gpus": self.gpus, "resources": dict(self.resources), **memory}

    def fit(self, free: Mapping[str, float]) -> int:
        """How many workers a machine with these resources holds; one if they take nothing."""
        memory = 0 if self.memory_mb is None else self.memory_mb * 2**20
        wanted = {"CPU": self.cpus, "GPU": self.gpus, "memory": memory, **dict(self.resources)}
        return min([int(free.get(name, 0) / amount) for name, amount in wanted.items() if amount] or [1])

    def __str__(self) -> str:
        parts = [f"{self.cpus:g} CPU"]
        parts += [f"{self.gpus:g} GPU"] if self.gpus else []
        parts += [f"{self.memory_mb} MB"] if self.memory_mb is not None else []
        return ", ".join(parts + [f"{amount:g} {name}" for name, amount in self.resources])


class NeedsSpec(Spec):
    """What each worker of one step takes, where that differs from the others; ``null``: as the others."""

    cpus: _Amount = None
    gpus: _Amount = None
    memory_mb: Annotated[int | None, RuntimeOption(), Field(gt=0)] = None
    resources: Annotated[dict[str, float] | None, RuntimeOption()] = None


class RaySpec(KindSpec):
    """Which cluster, what its machines share, and what a worker takes."""

    address: Annotated[str | None, RuntimeOption()] = None
    """``null``: a cluster of this machine alone, started for this build and ended with it. ``auto``: the one that this
    machine belongs to. ``HOST:PORT``: its head, for a machine of the cluster. ``ray://HOST:10001``: for any other."""
    storage: Annotated[str | None, RuntimeOption()] = None
    """A folder that every machine sees under this URL, in the words of fsspec. ``null``: a temporary one, which will do
    for a single machine."""
    storage_options: Annotated[dict[str, Any], RuntimeOption()] = {}
    """What fsspec needs to know besides, for instance ``{endpoint_url: http://store:9000}``. Never a secret: those
    stand in the environment of each machine."""
    workers: Annotated[int | None, RuntimeOption(), Field(ge=1, le=10_000)] = None
    """Workers at the same time; ``null``: as many as the cluster has room for."""
    cpus: Annotated[float, RuntimeOption(), Field(ge=0)] = 1
    """Cores that Ray sets aside for each worker."""
    gpus: Annotated[float, RuntimeOption(), Field(ge=0)] = 0
    """GPUs of each worker; parts of one are shared."""
    memory_mb: Annotated[int | None, RuntimeOption(), Field(gt=0)] = None
    """Memory that Ray sets aside for each worker."""
    resources: Annotated[dict[str, float], RuntimeOption()] = {}
    """Further resources of each worker, by the names that ``ray start --resources`` gave them."""
    steps: Annotated[dict[str, NeedsSpec], RuntimeOption()] = {}
    """Steps whose workers take something else, by name."""
    in_flight: Annotated[int, RuntimeOption(), Field(ge=1, le=100)] = 2
    """Shards that a worker has been given at a time: the next one waits there while one is made."""
    retries: Annotated[int, RuntimeOption(), Field(ge=0, le=100)] = 3
    """How often the same shard may lose its worker before the build stops."""
    patience_s: Annotated[float, RuntimeOption(), Field(gt=0)] = 300
    """Seconds without any worker until the build stops."""

    @field_validator("storage_options")
    @classmethod
    def _holds_no_secret(cls, value: dict[str, Any]) -> dict[str, Any]:
        if secrets := sorted(set(_secrets(value))):
            raise ValueError(f"{', '.join(secrets)}: secrets stand in the environment of each machine, not in a recipe")
        return value

    @field_validator("storage")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        if value is not None and not re.match(r"[a-z][a-z0-9+.-]*://.", value):
            raise ValueError("a URL is wanted, for instance file:///mnt/shared/benchbuilder or s3://bucket/prefix")
        if value is not None and re.match(r"[^/]*//[^/]*@", value):
            raise ValueError("secrets stand in the environment of each machine, not in an address")
        return value

    def needs(self, step: str) -> Needs:
        """What a worker of `step` takes."""
        own = self.steps.get(step, NeedsSpec())
        return Needs(
            self.cpus if own.cpus is None else own.cpus,
            self.gpus if own.gpus is None else own.gpus,
            self.memory_mb if own.memory_mb is None else own.memory_mb,
            tuple(sorted((self.resources if own.resources is None else own.resources).items())),
        )


def _secrets(value: Mapping[str, Any]) -> Iterator[str]:
    """Keys that look as if a secret stood under them, at any depth."""
    for name, child in value.items():
        if _SECRET.fullmatch(str(name)):
            yield str(name)
        if isinstance(child, Mapping):
            yield from _secrets(child)  # pyright: ignore[reportUnknownArgumentType]
