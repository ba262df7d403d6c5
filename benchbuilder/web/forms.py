"""Reads the forms that pages of a web app send, and refuses those of other sites."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request

from benchbuilder.web.guard import is_same_origin

_MAX_FIELDS = 3000


class RefusedRequest(HTTPException):
    """A refused request; `reason` is the key of its explanation in the section ``refused`` of the interface texts."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status)
        self.reason = reason


class PostedForm:
    """The fields of a form in the order sent, without control characters, and with LF as line ends."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = [(name, _normalise_text(value)) for name, value in pairs]
        self._last = dict(self.pairs)

    def __call__(self, name: str) -> str:
        """The last value of `name`; empty if there is none."""
        return self._last.get(name, "")

    def get_all(self, name: str) -> list[str]:
        """Every value of `name`: the boxes that were ticked."""
        return [value for key, value in self.pairs if key == name]

    def with_prefix(self, *prefixes: str) -> dict[str, str]:
        """The fields whose names start with one of `prefixes`."""
        return {name: value for name, value in self._last.items() if name.startswith(prefixes)}


_CONTROL_CHARACTERS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])


def _normalise_text(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROL_CHARACTERS)


async def posted_form(request: Request) -> PostedForm:
    """The form in a request, as a FastAPI dependency; 403 unless it comes from a page of this app."""
    if not is_same_origin(request):
        raise RefusedRequest(403, "other_site")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise HTTPException(400)
    body = await request.body()
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise HTTPException(400) from error
    return PostedForm(pairs)
