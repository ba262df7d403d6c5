"""Which versions must be the same on every machine, so that every machine makes the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distributions, requires

from benchbuilder.core import InstallationError
from packaging.requirements import Requirement

from benchbuilder_ray.probe import installed

_OF_DEVELOPERS = ("dev", "test")


@dataclass(frozen=True)
class Versions:
    """What this machine has installed; another one may lack what is `optional`, but not have another version."""

    installed_versions: Mapping[str, str]
    optional: frozenset[str]

    @classmethod
    def detect(cls) -> Versions:
        """Python, the program, its plugins, and what these need."""
        own = ["benchbuilder", *sorted(
            one.name for one in distributions() if any(e.group.startswith("benchbuilder.") for e in one.entry_points)
        )]  # fmt: skip
        needed: dict[str, bool] = {}
        for name in own:
            for wanted in _requirements(name):
                extra = wanted.marker is not None and not wanted.marker.evaluate({"extra": ""})
                needed[wanted.name] = needed.get(wanted.name, True) and extra
        here = {name: version for name, version in installed([*own, *sorted(needed)]).items() if version}
        return cls(here, frozenset(name for name, extra in needed.items() if extra and name not in own))

    def compare(self, machine_versions: Mapping[str, str], machine: str) -> None:
        """InstallationError with all that differs on another machine."""
        differing = [
            f"{name} {version} here, {machine_versions.get(name) or 'missing'} there"
            for name, version in self.installed_versions.items()
            if machine_versions.get(name, "") != version and (machine_versions.get(name) or name not in self.optional)
        ]
        if differing:
            raise InstallationError(
                f"{machine} has other versions than this machine",
                why="; ".join(differing),
                next="install the same versions on every machine of the cluster, and start Ray there again",
            )


def _requirements(name: str) -> list[Requirement]:
    """What a distribution and its extras need, but for those of developers."""
    try:
        lines = requires(name) or ()
    except PackageNotFoundError:
        return []
    found = [Requirement(line) for line in lines]
    return [one for one in found if not any(f'extra == "{extra}"' in str(one.marker) for extra in _OF_DEVELOPERS)]
