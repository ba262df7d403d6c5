"""The chat completions of the fake service: texts from a table, script or plugin, and token counts."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchbuilder.testing.fake_openai.behaviour import Behaviour, Effect, last_user_message


class FakeTokenCounter:
    """Counts tokens and cuts texts by a method of `Behaviour.tokens`."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._encode: Callable[[str], Any] | None = None
        if method not in ("characters", "bytes3"):
            import tokenizers

            tokenizer: Any = tokenizers.Tokenizer
            self._encode = tokenizer.from_file(method).encode

    def count(self, text: str) -> int:
        """The number of tokens of a text."""
        if self._encode is not None:
            return len(self._encode(text).ids)
        return len(text) if self._method == "characters" else -(-len(text.encode()) // 3)

    def cut(self, text: str, limit: int) -> str:
        """The first `limit` tokens of a text."""
        if self._encode is not None:
            offsets: list[tuple[int, int]] = self._encode(text).offsets
            return text if len(offsets) <= limit else text[: offsets[limit][0]]
        if self._method == "characters":
            return text[:limit]
        return text.encode()[: 3 * limit].decode(errors="ignore")


class ReplyMaker:
    """Makes the chat completions that a behaviour describes."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._tokens = FakeTokenCounter(behaviour.tokens)
        table = dict(behaviour.table)
        if behaviour.script is not None:
            table.update(json.loads(Path(behaviour.script).read_text(encoding="utf-8")))
        self._table = sorted(table.items(), key=lambda entry: -len(entry[0]))
        self._plugin: Callable[[Any, Any], str | None] | None = None
        if behaviour.plugin is not None:
            self._plugin = runpy.run_path(behaviour.plugin)["reply"]

    def completion(
        self, body: Mapping[str, Any], effect: Effect, number: int, learned_reply: str | None = None
    ) -> dict[str, Any]:
        """The chat completion that answers `body`; the reply that a fine-tuned model learned replaces any other."""
        messages: list[Mapping[str, Any]] = body.get("messages", [])
        text = self._text(messages, body) if learned_reply is None else learned_reply
        text = self._formatted(text, body, effect)
        text, finish = self._cut_to_limit(text, body, effect)
        message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
        if effect == "refuse":
            message.update(content=None, refusal="I cannot help with this.")
        reply: dict[str, Any] = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": body.get("model", ""),
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        }
        if self._behaviour.usage and effect != "no_usage":
            reply["usage"] = self._usage(messages, text)
        return reply

    def _text(self, messages: Sequence[Mapping[str, Any]], body: Mapping[str, Any]) -> str:
        if self._plugin is not None and (text := self._plugin(messages, body)) is not None:
            return text
        user = last_user_message(body)
        for part, reply in self._table:
            if part in user:
                return reply
        return user if self._behaviour.fixed is None else self._behaviour.fixed

    def _formatted(self, text: str, body: Mapping[str, Any], effect: Effect) -> str:
        """The text in the response format of the request."""
        response_format: Mapping[str, Any] = body.get("response_format") or {}
        wants_json = response_format.get("type") in ("json_object", "json_schema")
        when = self._behaviour.json_replies
        if when == "never" or (when == "asked" and not wants_json):
            return text
        if effect == "without_field":
            return json.dumps({"something_else": text}, ensure_ascii=False)
        if _is_object(text):
            return text
        schema: Mapping[str, Any] = (response_format.get("json_schema") or {}).get("schema") or {}
        fields: Mapping[str, Mapping[str, Any]] = schema.get("properties") or {}
        first = next((name for name, field in fields.items() if field.get("type") == "string"), None)
        others = {name: _simplest_value(field) for name, field in fields.items() if name != first}
        return json.dumps({first or self._behaviour.json_field: text, **others}, ensure_ascii=False)

    def _cut_to_limit(self, text: str, body: Mapping[str, Any], effect: Effect) -> tuple[str, str]:
        """The text up to its stop or limit, and the finish reason."""
        if effect in ("empty", "blank"):
            return ("" if effect == "empty" else " \n"), "stop"
        if effect == "filter":
            return "", "content_filter"
        stops: Any = body.get("stop") or []
        for stop in [stops] if isinstance(stops, str) else stops:
            text = text.partition(stop)[0]
        if effect == "truncate":
            return text[: len(text) // 2], "length"
        ignored = self._behaviour.ignored
        limits = [body.get(name) for name in ("max_completion_tokens", "max_tokens") if name not in ignored]
        limit = next(filter(None, limits), None)
        cut = text if limit is None else self._tokens.cut(text, limit)
        return cut, "stop" if cut == text else "length"

    def _usage(self, messages: Sequence[Mapping[str, Any]], text: str) -> dict[str, Any]:
        prompt = self._behaviour.template_tokens
        prompt += sum(self._tokens.count(str(message.get("content") or "")) + 4 for message in messages)
        completion = self._tokens.count(text)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": int(prompt * self._behaviour.cached_share)},
        }


def _is_object(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _simplest_value(field: Mapping[str, Any]) -> Any:
    """The simplest valid value of a schema's field."""
    if "enum" in field:
        return field["enum"][0]
    return {"integer": 0, "number": 0, "boolean": False, "array": [], "object": {}, "string": ""}.get(
        field.get("type", "")
    )
