"""Compares the name of the model that was asked for with the one that the service says it used."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RELEASE = re.compile(r"[-@:_](?:\d{3,8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|latest)\Z")
"""The date or number of a release at the end of a name."""


def is_same_model(asked: str, said: str) -> bool:
    """Whether two names may stand for one model: a provider, a folder or the date of one of them is no difference.

    >>> is_same_model("gpt-4o", "gpt-4o-2024-08-06"), is_same_model("openai/gpt-4o", "gpt-4o")
    (True, True)
    >>> is_same_model("gpt-4o", "gpt-4o-mini"), is_same_model("gpt-4-0613", "gpt-4-1106")
    (False, False)
    """
    one, other = (re.split(r"[/\\]", name.strip().casefold())[-1].removesuffix(".gguf") for name in (asked, said))
    return one == other or _RELEASE.sub("", one) == other or one == _RELEASE.sub("", other)


class OtherModels:
    """The names of other models than the one asked for that a service gave; each is told once."""

    def __init__(self, asked: str) -> None:
        self._asked = asked
        self._told: dict[str, bool] = {}

    def note(self, said: str) -> None:
        """Take the name in a reply; empty if there is none."""
        if said and said not in self._told and not is_same_model(self._asked, said):
            self._told[said] = False

    def take_remarks(self) -> Sequence[str]:
        """A sentence for each name that was not told yet."""
        new = [said for said, told in self._told.items() if not told]
        self._told |= dict.fromkeys(new, True)
        return [
            f"{self._asked} was asked for, and the service says that {said} answered: check the address and the name "
            f"(model.base_url, model.name); answers and results say which model it was"
            for said in new
        ]
