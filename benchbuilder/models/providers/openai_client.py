"""Calls through OpenAI's own client, with its errors translated into ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from benchbuilder.core import ServiceError
from benchbuilder.models.base import BatchGoneError, RefusedRequestError, TransientError
from benchbuilder.models.providers.openai_errors import connection_error
from benchbuilder.models.providers.openai_wire import body_excerpt

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")


class OpenAIClient:
    """The base of calls about files, batches and jobs.

    Args:
        client: Opens OpenAI's client.
        check_response: Takes status, headers and body of an error response. It raises as `send` does, or returns the
            body if it is a reply after all.
        hide: Removes the API key from a text.
        endpoint: The address, for messages.
    """

    subject: ClassVar[str]
    """The subject of the calls, in the plural."""
    missing_text: ClassVar[str]
    """The message for a service without this interface; `advice` is the next step."""
    refused_text: ClassVar[str]
    """The message for a rejected request; `smaller_advice` may help."""
    advice: ClassVar[str]
    smaller_advice: ClassVar[str] = ""

    def __init__(
        self,
        client: Callable[[], AsyncOpenAI],
        check_response: Callable[[int, dict[str, str], str], str],
        hide: Callable[[str], str],
        endpoint: str,
    ) -> None:
        self._client, self._judged, self._hide, self._at = client, check_response, hide, endpoint

    async def _call(self, action: str, call: Awaitable[T], gone: str = "") -> T:
        """Await a call and translate its errors, without the API key.

        Args:
            action: What the call does, for messages.
            call: The call.
            gone: If set, a 404 is a BatchGoneError about this id.
        """
        import openai

        from benchbuilder.models.providers.openai_errors import http_library

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
        except (
            openai.APIError,
            ValueError,
            AttributeError,
            TypeError,
        ) as error:  # the library does not validate answers
            failure = self._no_answer(str(error))
        raise failure from failure.__cause__

    def _require_fields(self, thing: T, *fields: str) -> T:
        """Return `thing`, an answer that the library did not validate; TransientError if it lacks a field."""
        if any(getattr(thing, field, None) is None for field in fields):
            raise self._no_answer(str(thing))
        return thing

    def _no_answer(self, text: str) -> TransientError:
        shown = self._hide(body_excerpt(text, 240))
        return TransientError(f"{self._at} gave an invalid answer about {self.subject}: {shown}", billed=True)

    def _failure(self, action: str, status: int, headers: dict[str, str], text: str, gone: str) -> Exception:
        if status == 404 and gone:
            return BatchGoneError(f"{self._at} knows no {gone}")
        message = f"{status}: {self._hide(body_excerpt(text, 240))}"
        if status in (404, 405, 501):
            return ServiceError(self.missing_text, where=self._at, why=f"{message}, while {action}", next=self.advice)
        try:
            self._judged(status, headers, text)
        except RefusedRequestError:
            pass
        except (TransientError, ServiceError) as error:
            return error
        return ServiceError(
            self.refused_text, where=self._at, why=f"{message}, while {action}",
            next="; ".join(filter(None, (self.smaller_advice, self.advice))),
        )  # fmt: skip
