"""The JSON of chat completions: builds requests and parses replies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchbuilder.core import parse_json, split_reasoning
from benchbuilder.models.base import ASK_FOR_JSON, Reply, ReplyOutcome, Request, Usage

if TYPE_CHECKING:
    import aiohttp

NAMES: Mapping[str, str] = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_new_tokens": "max_completion_tokens",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "stop": "stop",
    "seed": "seed",
}
"""Names of the supported settings in the protocol."""
FILTER_CODES = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
"""Error codes that mean that a content filter withheld prompt or reply."""
MOST_BYTES = 32 * 2**20
"""The longest answer that is read, after decompression."""
MOST_ERROR_BYTES = 2**16
"""The part of an error response that is read, after decompression."""
_LONGEST_NAME = 200
_DROPPED = ("title", "default")
"""Keywords of a JSON Schema that strict services reject."""


def request_payload(
    request: Request, sent: Mapping[str, Any], names: Mapping[str, str], structured: str
) -> dict[str, Any]:
    """The fields of the body that depend on the request; `sent` holds the supported settings."""
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    body: dict[str, Any] = {"messages": messages}
    for name, value in sent.items():
        body[names.get(name, name)] = value
    if request.sample and "seed" in body:
        body["seed"] += request.sample  # equal seeds would give equal replies
    if request.schema is not None:
        _ask_for_json(body, request.schema, structured)
    return body


def _ask_for_json(body: dict[str, Any], schema: Mapping[str, Any], structured: str) -> None:
    wanted = strict_schema(schema)
    if structured == "json_schema":
        form = {"name": "reply", "strict": True, "schema": wanted}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
        return
    if structured == "json_object":
        body["response_format"] = {"type": "json_object"}
    messages: list[dict[str, str]] = body["messages"]
    asked = ASK_FOR_JSON + json.dumps(wanted, ensure_ascii=False)
    if messages and messages[0]["role"] == "system":  # many chat templates accept only one system message, the first
        messages[0] = {"role": "system", "content": f"{messages[0]['content']}\n\n{asked}"}
    else:
        messages.insert(0, {"role": "system", "content": asked})


def strict_schema(schema: Any) -> Any:
    """A JSON Schema for strict services: every object is closed and all its properties are required."""
    if isinstance(schema, list):
        return [strict_schema(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            kept[key] = {name: strict_schema(part) for name, part in value.items()}
        elif key not in _DROPPED:
            kept[key] = strict_schema(value)
    if "properties" in kept:
        kept.update(additionalProperties=False, required=list(kept["properties"]))
    return kept


async def read_bytes(stream: aiohttp.StreamReader, limit: int) -> bytes:
    """Read a decompressed body, at most `limit` bytes and one piece of the stream."""
    pieces: list[bytes] = []
    size = 0
    async for piece in stream.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            break
    return b"".join(pieces)


def read_completion(body: str) -> Reply:
    """Parse a chat completion.

    An error about a content filter is a reply with the outcome ``filtered``. The reasoning before an answer (a separate
    field, or the start of the content) is left out of the text; its tokens are counted.

    Raises:
        ValueError: The body is not a chat completion; the message shows an excerpt.
    """
    try:
        data = parse_json(body)
    except ValueError:
        raise ValueError(f"the answer is not JSON: {body_excerpt(body)}") from None
    if is_content_filtered(data):
        return Reply("", "filtered", _usage(data))
    try:
        choice: Any = data["choices"][0]
        message: Any = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
    except (LookupError, TypeError, AttributeError):
        raise ValueError(f"the answer is not a chat completion: {body_excerpt(body)}") from None
    thoughts, text = _split(message, _text(content, body))
    finish = choice.get("finish_reason")
    outcome: ReplyOutcome = "complete" if text.strip() else "empty"
    if isinstance(refusal, str) and refusal:
        text, outcome = valid_text(refusal), "refused"
    elif finish == "content_filter":
        outcome = "filtered"
    elif finish in ("length", "max_tokens"):
        outcome = "truncated" if text.strip() else "thought_out"
    return Reply(text, outcome, _usage(data), model=_named_model(data.get("model")), thoughts=thoughts)


def _named_model(name: Any) -> str:
    """The name of a model as one line; empty for anything but a text."""
    return " ".join(valid_text(name[:_LONGEST_NAME]).split()) if isinstance(name, str) else ""


def is_content_filtered(data: Any) -> bool:
    """Whether a body is an error about a content filter."""
    error: Any = data.get("error") if isinstance(data, dict) else None
    if not isinstance(error, dict):
        return False
    inner: Any = error.get("innererror")
    more: Any = error.get("metadata")
    if isinstance(more, dict) and "flagged_input" in more:  # the form of a broker of services
        return True
    codes = (error.get("code"), error.get("type"), inner.get("code") if isinstance(inner, dict) else None)
    return any(str(code).lower() in FILTER_CODES for code in codes)


def body_excerpt(body: str, length: int = 120) -> str:
    """The beginning of a body, on one line."""
    line = " ".join(body[: 4 * length].split())
    return repr(line if len(line) <= length else f"{line[:length]}…")


def _text(content: Any, body: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):  # some servers answer in parts
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(part for part in parts if isinstance(part, str))
    raise ValueError(f"the content of the answer is not text: {body_excerpt(body)}")


def valid_text(text: str) -> str:
    """The text with U+FFFD for half a surrogate pair, which JSON can escape but no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _split(message: Mapping[str, Any], content: str) -> tuple[str, str]:
    """The thoughts of a reply (a field, under either of its names, or the start of the content), and its text."""
    fields = (message.get(name) for name in ("reasoning_content", "reasoning"))
    given = next((field for field in fields if isinstance(field, str) and field), "")
    thoughts, answer = split_reasoning(content)
    return valid_text(given or thoughts), valid_text(answer or "" if thoughts else content)


def _usage(data: Any) -> Usage | None:
    usage: Any = data.get("usage")
    if not isinstance(usage, dict):
        return None
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    cached = _detail(usage, "prompt_tokens_details", "cached_tokens")
    reasoning = min(completion, _detail(usage, "completion_tokens_details", "reasoning_tokens"))
    return Usage(prompt, completion, cached, reasoning) if prompt or completion else None


def _detail(usage: dict[str, Any], part: str, name: str) -> int:
    details: Any = usage.get(part)
    return _count(details.get(name)) if isinstance(details, dict) else 0


def _count(value: Any) -> int:
    """A number of tokens; 0, which a receipt does not believe of a text, for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
