"""Calls through OpenAI's own client, with its errors translated into ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from benchbuilder.core import ServiceError
from benchbuilder.models.base import BatchGoneError, RefusedRequestError, Request, TransientError
from benchbuilder.models.providers.openai_errors import connection_error, http_library
from benchbuilder.models.providers.openai_wire import body_excerpt

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
MARK = "benchbuilder"
"""The metadata key of our mark."""


class ClientModel(Protocol):
    """What calls through OpenAI's own client need of a model."""

    @property
    def endpoint(self) -> str:
        """The address, for messages."""
        ...

    def client(self) -> AsyncOpenAI:
        """OpenAI's own client."""
        ...

    def body(self, request: Request) -> dict[str, Any]:
        """The JSON of a request."""
        ...

    def hide_key(self, text: str) -> str:
        """Remove the API key from a text."""
        ...

    def check_response(self, status: int, headers: dict[str, str], text: str) -> str:
        """Raise as `send` does for an error response, or return the body if it is a reply after all."""
        ...


class OpenAIClient:
    """The base of calls of `model` about files, batches and jobs."""

    subject: ClassVar[str]
    """The subject of the calls, in the plural."""
    missing_text: ClassVar[str]
    """The message for a service without this interface; `advice` is the next step."""
    refused_text: ClassVar[str]
    """The message for a rejected request; `smaller_advice` may help."""
    advice: ClassVar[str]
    smaller_advice: ClassVar[str] = ""

    def __init__(self, model: ClientModel) -> None:
        self._model, self._at = model, model.endpoint

    async def _call(self, action: str, call: Awaitable[T], gone: str = "") -> T:
        """Await a call and translate its errors, without the API key; a 404 is a BatchGoneError if `gone` is an id."""
        import openai

        try:
            return await call
        except openai.APIStatusError as error:
            status, headers, text = error.status_code, dict(error.response.headers), error.response.text
            failure = self._failure(action, status, headers, text, gone)
        except (openai.APIConnectionError, http_library().TransportError) as error:
            broken = isinstance(error, openai.APIConnectionError)
            cause = error.__cause__ if broken else error
            timeout = isinstance(error, openai.APITimeoutError | http_library().TimeoutException)
            before = isinstance(cause, http_library().ConnectError | http_library().ConnectTimeout)
            how = "no answer in time" if timeout else "no connection" if before else "the connection broke"
            message = f"{how} while {action} at {self._at}"
            failure = TransientError(message, billed=not before)
            failure.__cause__ = connection_error(None, message, self._at, timeout=timeout)
        # the library does not validate answers
        except (openai.APIError, ValueError, RecursionError, AttributeError, TypeError) as error:
            failure = self._no_answer(str(error))
        raise failure from failure.__cause__

    async def _search(self, action: str, listed: Awaitable[Any], is_match: Callable[[Any], bool]) -> str | None:
        """The id of the object that `is_match` accepts. No date ends the search: our clock may have been wrong."""
        while True:
            page = self._require_fields(await self._call(action, listed), "data")
            for item in page.data:
                self._require_fields(item, "id")
                if is_match(item):
                    return item.id
            if not page.has_next_page():
                return None
            listed = page.get_next_page()

    def _require_fields(self, thing: T, *fields: str) -> T:
        """Return `thing`, an answer that the library did not validate; TransientError if it lacks a field."""
        if any(getattr(thing, field, None) is None for field in fields):
            raise self._no_answer(str(thing))
        return thing

    def _no_answer(self, text: str) -> TransientError:
        shown = self._model.hide_key(body_excerpt(text, 240))
        return TransientError(f"{self._at} gave an invalid answer about {self.subject}: {shown}", billed=True)

    def _failure(self, action: str, status: int, headers: dict[str, str], text: str, gone: str) -> Exception:
        if status == 404 and gone:
            return BatchGoneError(f"{self._at} knows no {gone}")
        message = f"{status}: {self._model.hide_key(body_excerpt(text, 240))}"
        if status in (404, 405, 501):
            return ServiceError(self.missing_text, where=self._at, why=f"{message}, while {action}", next=self.advice)
        try:
            self._model.check_response(status, headers, text)
        except RefusedRequestError:
            pass
        except (TransientError, ServiceError) as error:
            return error
        return ServiceError(
            self.refused_text, where=self._at, why=f"{message}, while {action}",
            next="; ".join(filter(None, (self.smaller_advice, self.advice))),
        )  # fmt: skip
