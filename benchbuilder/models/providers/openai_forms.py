"""In which form a service gives JSON: what it does not take is given up, once, for the next weaker form."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from benchbuilder.core import ServiceError

_FORMS = ("json_schema", "json_object", "prompt")


class JsonForm:
    """The form in which JSON is asked for; `wanted` is what the recipe sets."""

    def __init__(self, wanted: str) -> None:
        self.current = wanted
        self._remarks: list[tuple[str, str]] = []

    def give_up(self, form: str, error: ServiceError) -> bool:
        """Take the next weaker form after `form`, unless that is done; False if there is none."""
        if form == _FORMS[-1]:
            return False
        if self.current == form:
            self.current = _FORMS[_FORMS.index(form) + 1]
            self._remarks.append((form, error.why))
        return True

    def take_remarks(self, label: str) -> Sequence[str]:
        """A sentence for each form that was given up since the last call."""
        remarks, self._remarks = self._remarks, []
        weaker: dict[str, str] = dict(pairwise(_FORMS))
        return [
            f"{label} does not take model.structured={form}, so JSON is asked for by {weaker[form]} ({why[:160]})"
            for form, why in remarks
        ]
