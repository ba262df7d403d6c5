"""The model kind `openai`: any service with OpenAI's chat completions, hosted or on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from pydantic import field_validator

from benchbuilder.config import HostedSpec, KindSpec, ReasoningSpec, RuntimeOption, Sampling
from benchbuilder.core import Problem, RecipeError, ServiceError, imports_of, require_extra
from benchbuilder.models.base import BatchService, HostedModel, Reply, Request, TransientError
from benchbuilder.models.providers.model_names import OtherModels
from benchbuilder.models.providers.openai_batch import OpenAIBatches
from benchbuilder.models.providers.openai_errors import ErrorResponse, UnknownFormatError, connection_error, hide_key
from benchbuilder.models.providers.openai_forms import JsonForm
from benchbuilder.models.providers.openai_tuning import OpenAITuning
from benchbuilder.models.providers.openai_wire import (
    MOST_BYTES,
    MOST_ERROR_BYTES,
    NAMES,
    is_content_filtered,
    read_bytes,
    read_completion,
    request_payload,
    valid_text,
)

if TYPE_CHECKING:
    import aiohttp
    from openai import AsyncOpenAI

OFFICIAL = "https://api.openai.com/v1"
KEY_ENV = "OPENAI_API_KEY"
_RESERVED = frozenset({"messages", "model", "stream", "n", "response_format"})
_SECRET = re.compile(
    r"(proxy[-_]?)?authorization|(x[-_]?)?api[-_]?key|((access|auth|bearer|id|refresh|session)[-_]?)?token"
    r"|(client[-_]?)?secret|passw(or)?d|cookie",
    re.IGNORECASE,
)
_USER = "the model kind 'openai'"
_LONG_KEY = 16
_CONNECT_S = 30.0
"""Seconds until a connection attempt is given up."""


class OpenAISpec(HostedSpec):
    """Which model of which service."""

    name: str
    """The name of the model at the service."""
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """The name of `max_new_tokens` at the service; older servers only know ``max_tokens``."""
    understands: tuple[str, ...] = ()
    """Further sampling settings of this server, for instance ``[top_k, min_p, repetition_penalty]`` (vLLM)."""
    lacks: tuple[str, ...] = ()
    """Settings of the protocol that this model rejects, for instance ``[temperature]``; see `unsupported`."""
    reasoning: ReasoningSpec | None = None
    """How long a model that reasons thinks; ``null`` leaves it to the service, and its limit to the answer."""
    extra_body: dict[str, Any] = {}
    """Further fields of each request, as the service documents them."""
    organization: Annotated[str | None, RuntimeOption()] = None
    project: Annotated[str | None, RuntimeOption()] = None

    @field_validator("name")
    @classmethod
    def _is_name(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("a model has a name")
        return value

    @field_validator("understands", "lacks")
    @classmethod
    def _are_settings(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := sorted(set(value) - set(Sampling.model_fields)):
            known = ", ".join(Sampling.model_fields)
            raise ValueError(f"{', '.join(unknown)}: not among the sampling settings {known}")
        return value

    @field_validator("extra_body")
    @classmethod
    def _is_extra(cls, value: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(_RESERVED & set(value)):
            raise ValueError(f"{', '.join(taken)}: set by benchbuilder")
        if secrets := sorted(set(_secrets(value))):
            raise ValueError(f"{', '.join(secrets)}: would be written to files; name a key with model.api_key_env")
        return value


def _secrets(value: Any) -> Iterator[str]:
    """The names in `value`, at any depth, that look like credentials."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if _SECRET.fullmatch(str(name)):
                yield str(name)
            yield from _secrets(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets(inner)


class OpenAIModel(HostedModel):
    """A service with OpenAI's protocol: OpenAI, vLLM, Ollama, a llama.cpp server and others.

    The address is `base_url`, else the environment variable OPENAI_BASE_URL, else OpenAI's own. The key is read from
    the variable that `api_key_env` names (OPENAI_API_KEY). Chat uses a plain aiohttp connection pool, which takes a
    fifth of the processor time of OpenAI's library. Errors have that library's errors as causes, and files and batches
    use its client. Redirects are not followed, as they would leak the key.
    """

    kind: ClassVar[str] = "openai"
    spec_class: ClassVar[type[KindSpec]] = OpenAISpec
    settings: ClassVar[frozenset[str]] = frozenset(NAMES)

    def __init__(self, spec: Any) -> None:
        super().__init__(spec)
        self.spec: OpenAISpec = spec
        self._known = (self.settings | set(spec.understands)) - set(spec.lacks)
        self._names = {**NAMES, "max_new_tokens": spec.max_tokens_field}
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: AsyncOpenAI | None = None
        self._key: str | None = None
        self._at = ""
        self._form = JsonForm(spec.structured)
        self._others = OtherModels(spec.name)

    @property
    def limit_remedy(self) -> str:
        """The other name of the limit."""
        other = "max_tokens" if self.spec.max_tokens_field == "max_completion_tokens" else "max_completion_tokens"
        return f"Stop, and try model.max_tokens_field={other}; every reply is charged at its real length"

    def take_remarks(self) -> Sequence[str]:
        """Which form of JSON replies the service does not take, and which other models it says it used."""
        return [*self._form.take_remarks(self.label), *self._others.take_remarks()]

    @property
    def endpoint(self) -> str:
        """The normalised address; RecipeError if it is invalid or holds credentials."""
        if not self._at:
            self._at = normalise_endpoint(self.spec.base_url or os.environ.get("OPENAI_BASE_URL") or OFFICIAL)
        return self._at

    def identity(self) -> Mapping[str, Any]:
        """Address, name and the other settings that shape replies."""
        found: dict[str, Any] = {"kind": self.kind, "endpoint": self.endpoint, "name": self.spec.name}
        if self.spec.extra_body:
            found["extra_body"] = self.spec.extra_body
        if self.spec.max_tokens_field != "max_completion_tokens":
            found["max_tokens_field"] = self.spec.max_tokens_field
        if thinking := self._thinking():
            found["reasoning"] = thinking
        return found

    def known_settings(self) -> frozenset[str]:
        """The settings of the protocol plus `understands`, without `lacks`."""
        return self._known

    def sent_settings(self, sampling: Mapping[str, Any]) -> dict[str, Any]:
        """The settings that are sent; the limit of tokens is that of the answer and its reasoning."""
        sent = super().sent_settings(sampling)
        if self.spec.reasoning is not None and "max_new_tokens" in sent:
            sent["max_new_tokens"] += self.spec.reasoning.allowance
        return sent

    def _thinking(self) -> dict[str, Any]:
        """The fields of a request that say how long the model thinks."""
        spec = self.spec.reasoning
        if spec is None:
            return {}
        at_broker = (urlsplit(self.endpoint).hostname or "").endswith("openrouter.ai")
        style = spec.style if spec.style != "auto" else "openrouter" if at_broker else "openai"
        if style == "vllm":
            budget = {} if spec.max_tokens is None else {"thinking_token_budget": spec.max_tokens}
            asked = {} if spec.effort is None else {"enable_thinking": spec.effort != "none"}
            asked |= self.spec.extra_body.get("chat_template_kwargs") or {}
            return {**budget, **({"chat_template_kwargs": asked} if asked else {})}
        if style == "openrouter":  # it takes one of the two
            told = {"max_tokens": spec.max_tokens} if spec.effort is None else {"effort": spec.effort}
            return {"reasoning": {name: value for name, value in told.items() if value is not None}}
        return {} if spec.effort is None else {"reasoning_effort": spec.effort}

    def body(self, request: Request) -> dict[str, Any]:
        """The JSON of a request, live or in a batch."""
        return self._body(request, self.spec.structured)

    def _body(self, request: Request, structured: str) -> dict[str, Any]:
        fields = request_payload(request, self.sent_settings(request.sampling), self._names, structured)
        return {**self.spec.extra_body, **self._thinking(), "model": self.spec.name, **fields}

    def read(self, body: str) -> Reply:
        """Parse a chat completion."""
        reply = read_completion(body)
        self._others.note(reply.model)
        return reply

    def ready(self) -> None:
        """InstallationError if aiohttp or openai is missing."""
        require_extra("openai", _USER)

    async def open(self) -> None:
        """Import the libraries, read the key, and open the connection pool of the running loop."""
        self._pool()

    async def send(self, request: Request) -> str:
        """Make one attempt through the connection pool; a form of JSON that the service lacks is given up for good."""
        while True:
            form = self._form.current
            try:
                return await self._send(json.dumps(self._body(request, form), ensure_ascii=False).encode())
            except UnknownFormatError as error:
                if request.schema is None or not self._form.give_up(form, error):
                    raise

    async def _send(self, data: bytes) -> str:
        session = self._pool()
        try:
            async with session.post(f"{self._at}/chat/completions", data=data, allow_redirects=False) as response:
                status, headers = response.status, dict(response.headers)
                good = 200 <= status < 300  # a 204 is an empty answer, not a refusal
                found = await read_bytes(response.content, MOST_BYTES if good else MOST_ERROR_BYTES)
        except (OSError, _library().ClientError) as error:  # a TimeoutError is an OSError
            broken = self._connection_error(error)
            raise broken from broken.__cause__
        text = found.decode("utf-8", "replace")
        if not good:
            return self.check_response(status, headers, text)
        if len(found) > MOST_BYTES:
            raise TransientError(f"{self._at} sent more than {MOST_BYTES // 2**20} MiB as one answer", billed=True)
        # an answer is kept and published; a short key, as local servers have, might be a word of it
        return text.replace(self._key, "[key]") if self._key and len(self._key) >= _LONG_KEY else text

    def client(self) -> AsyncOpenAI:
        """OpenAI's own client, for files and batches; it neither retries nor follows redirects."""
        if self._client is None:
            import openai

            at, key = self.endpoint, self._secret()
            self._client = openai.AsyncOpenAI(
                api_key=key, base_url=at, organization=self.spec.organization, project=self.spec.project,
                max_retries=0, timeout=self.spec.timeout_s,
                http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False, timeout=self.spec.timeout_s),
            )  # fmt: skip
        return self._client

    def batches(self) -> BatchService:
        """Files and batches, through OpenAI's own client."""
        return OpenAIBatches(self)

    def tuning(self) -> OpenAITuning:
        """Files and fine-tuning jobs, through OpenAI's own client."""
        return OpenAITuning(self)

    def hide_key(self, text: str) -> str:
        """Remove the API key from a text."""
        return hide_key(text, self._key or "")

    async def close(self) -> None:
        """Close the connections."""
        session, client = self._session, self._client
        self._session = self._loop = self._client = None
        if session is not None:
            await session.close()
        if client is not None:
            await client.close()

    # --- opening

    def _pool(self) -> aiohttp.ClientSession:
        """The connection pool of the running loop."""
        session = self._session
        if session is None or session.closed or self._loop is not asyncio.get_running_loop():
            session = self._connect()
        return session

    def _connect(self) -> aiohttp.ClientSession:
        aiohttp, endpoint = _library(), self.endpoint
        headers = {"Authorization": f"Bearer {self._secret()}", "Content-Type": "application/json"}
        headers["User-Agent"] = "benchbuilder"
        for name, value, variable in (
            ("OpenAI-Organization", self.spec.organization, "OPENAI_ORG_ID"),
            ("OpenAI-Project", self.spec.project, "OPENAI_PROJECT_ID"),
        ):
            if found := value or (os.environ.get(variable) if endpoint == OFFICIAL else None):
                headers[name] = found
        self._loop = asyncio.get_running_loop()
        self._session = session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60.0, ttl_dns_cache=300),
            timeout=aiohttp.ClientTimeout(total=self.spec.timeout_s, sock_connect=min(_CONNECT_S, self.spec.timeout_s)),
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=True,
            proxy=_proxy(endpoint),
        )
        return session

    @property
    def key_env(self) -> str:
        """The environment variable of the key."""
        return self.spec.api_key_env or KEY_ENV

    def _secret(self) -> str:
        """The key, or a placeholder for a local server without one; ServiceError if a required key is missing."""
        if self._key is None:
            key = os.environ.get(self.key_env, "").strip()
            if not key and (self.spec.api_key_env is not None or self.endpoint == OFFICIAL):
                raise ServiceError(
                    f"there is no key for {self.spec.name!r}",
                    where=self.endpoint,
                    why=f"the environment variable {self.key_env} is not set",
                    next=f"export {self.key_env}=..., or name another variable in model.api_key_env",
                )
            if not key.isascii() or not key.isprintable():
                raise ServiceError(
                    f"the content of {self.key_env} is not a key", where=self.endpoint,
                    why="it has characters that a key cannot have", next=f"set {self.key_env} again",
                )  # fmt: skip
            self._key = key
        return self._key or "none"

    # --- failures

    def check_response(self, status: int, headers: dict[str, str], text: str) -> str:
        """Return the body if a content filter blocked the request; else raise the exception for the error status."""
        wire = {there: here for here, there in self._names.items()} | {name: name for name in self.spec.understands}
        hidden = {name: self.hide_key(value) for name, value in headers.items()}
        failure = ErrorResponse(
            status,
            hidden,
            self.hide_key(text[:MOST_ERROR_BYTES]),
            self._at,
            self.key_env,
            self.spec.name,
            wire,
            with_key=bool(self._key),
        )
        if status in (400, 403, 422) and is_content_filtered({"error": failure.error}):
            return valid_text(json.dumps({"error": failure.error}, ensure_ascii=False))
        raise failure.exception()

    def _connection_error(self, error: BaseException) -> TransientError | ServiceError:
        """The exception for a request that got no answer."""
        import aiohttp

        at, host = self._at, urlsplit(self._at).netloc
        proxy = " (through the proxy that the environment names)" if _proxy(at) else ""
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
            return ServiceError(
                f"the certificate or encryption of {host} is invalid", where=at,
                why=self.hide_key(str(error)), next="check model.base_url, the clock and SSL_CERT_FILE",
            )  # fmt: skip
        timeout = isinstance(error, TimeoutError)
        before = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
        if isinstance(error, aiohttp.ClientConnectorDNSError):
            message = f"the name {host!r} cannot be found: check model.base_url and the network"
        elif before:
            message = f"no connection to {host}{proxy}: is the service running, and model.base_url right?"
        elif timeout:
            message = f"{host} did not answer within {self.spec.timeout_s:g} s (model.timeout_s)"
        else:
            message = f"the connection to {host}{proxy} broke before the answer was complete"
        failure = TransientError(message, billed=not before, unreached=before)
        failure.__cause__ = connection_error(error, message, at, timeout=timeout)
        return failure


def normalise_endpoint(address: str) -> str:
    """Bring an address into the form that is used in keys and messages.

    Raises:
        RecipeError: The address cannot be used. The message does not repeat it, as it may hold a password.
    """
    key = "model.base_url"
    try:
        parts = urlsplit(address.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = parts = None
    if parts is None or parts.scheme not in ("http", "https") or not host:
        raise RecipeError([Problem("not an address", key=key, allowed="for instance http://127.0.0.1:8000/v1")])
    if "@" in parts.netloc or parts.query or parts.fragment:
        hint = "put the key into an environment variable and name that in model.api_key_env"
        message = "an address must not hold user, password or query: they would be written to files"
        raise RecipeError([Problem(message, key=key, hint=hint)])
    shown = f"[{host}]" if ":" in host else host
    if port is not None and port != {"http": 80, "https": 443}[parts.scheme]:
        shown = f"{shown}:{port}"
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return urlunsplit((parts.scheme, shown, path, "", ""))


def _proxy(endpoint: str) -> str | None:
    """The proxy for this address, from the environment."""
    parts = urlsplit(endpoint)
    if proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get(parts.scheme)


def _library() -> Any:
    """Import aiohttp and `openai`; InstallationError if one is missing."""
    with imports_of("openai", _USER):
        import aiohttp
        import openai  # noqa: F401  # pyright: ignore[reportUnusedImport]  # imported now, so that an error is not delayed by it
    return aiohttp
