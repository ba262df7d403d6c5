"""A copy of a local model on a machine of the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchbuilder.config import KindSpec
from benchbuilder.core import BenchbuilderError, DataError, create_from_spec
from benchbuilder.models import LocalModel, Request

from benchbuilder_ray.probe import installed
from benchbuilder_ray.versions import Versions


class ReplyActor:
    """Ray makes it an actor. It looks at its machine with the first requests, so that a fault reaches who asked."""

    def __init__(self, spec: KindSpec, versions: Versions, identity: Mapping[str, Any]) -> None:
        """`identity`: what the model is on the machine that builds; here it must be the same."""
        self._spec, self._versions, self._identity = spec, versions, identity
        self._model: LocalModel | None = None

    def is_there(self) -> bool:
        """Whether the process runs."""
        return True

    def generate(self, requests: Sequence[Request]) -> list[str]:
        """As the model says. InstallationError, or DataError if the model has other weights here."""
        if self._model is None:
            self._model = self._open()
        return self._model.generate(requests)

    def _open(self) -> LocalModel:
        import ray

        machine = f"the machine {ray.util.get_node_ip_address()}"
        self._versions.compare(installed(list(self._versions.installed_versions)[1:]), machine)
        try:
            model: LocalModel = create_from_spec("model", self._spec)
            model.ready()
            there = dict(model.identity())
        except BenchbuilderError as error:
            error.where = error.where or machine
            raise
        if there != self._identity:
            differing = sorted(
                name for name in {*there, *self._identity} if there.get(name) != self._identity.get(name)
            )
            raise DataError(
                f"{machine} has another model than this machine",
                where=model.label,
                why=f"they differ in: {', '.join(differing)}",
                next="put the same files at the same path on every machine",
            )
        return model
