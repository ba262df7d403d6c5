"""What the fake service writes: replies by table, script or plugin, and tokens by a count of its own."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchbuilder.testing.fake_openai.behaviour import Behaviour, Effect


class FakeTokenCounter:
    """Counts and cuts texts by one of the ways that `Behaviour.tokens` names."""

    def __init__(self, method: str) -> None:
        self._way = method
        self._encode: Callable[[str], Any] | None = None
        if method not in ("characters", "bytes3"):
            import tokenizers

            made: Any = tokenizers.Tokenizer
            self._encode = made.from_file(method).encode

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        if self._encode is not None:
            return len(self._encode(text).ids)
        return len(text) if self._way == "characters" else -(-len(text.encode()) // 3)

    def cut(self, text: str, limit: int) -> str:
        """The first `limit` tokens of a text."""
        if self._encode is not None:
            offsets: list[tuple[int, int]] = self._encode(text).offsets
            return text if len(offsets) <= limit else text[: offsets[limit][0]]
        if self._way == "characters":
            return text[:limit]
        return text.encode()[: 3 * limit].decode(errors="ignore")


class ReplyMaker:
    """Makes chat completions as one behaviour has them."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self.tokens = FakeTokenCounter(behaviour.tokens)
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
        """The chat completion that answers `body`: what the model was `learned_reply`, if anything, goes before all else."""
        messages: list[Mapping[str, Any]] = body.get("messages", [])
        text = self._formatted(self._text(messages, body) if learned_reply is None else learned_reply, body, effect)
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
        user = last_user_message(messages)
        for part, reply in self._table:
            if part in user:
                return reply
        return user if self._behaviour.fixed is None else self._behaviour.fixed

    def _formatted(self, text: str, body: Mapping[str, Any], effect: Effect) -> str:
        """The text as the response format wants it."""
        wanted: Mapping[str, Any] = body.get("response_format") or {}
        asked = wanted.get("type") in ("json_object", "json_schema")
        when = self._behaviour.json_replies
        if when == "never" or (when == "asked" and not asked):
            return text
        if effect == "without_field":
            return json.dumps({"something_else": text}, ensure_ascii=False)
        if _is_object(text):
            return text
        schema: Mapping[str, Any] = (wanted.get("json_schema") or {}).get("schema") or {}
        fields: Mapping[str, Mapping[str, Any]] = schema.get("properties") or {}
        first = next((name for name, field in fields.items() if field.get("type") == "string"), None)
        others = {name: _simplest_value(field) for name, field in fields.items() if name != first}
        return json.dumps({first or self._behaviour.json_field: text, **others}, ensure_ascii=False)

    def _cut_to_limit(self, text: str, body: Mapping[str, Any], effect: Effect) -> tuple[str, str]:
        """The text as far as it goes, and the finish reason."""
        if effect in ("empty", "blank"):
            return ("" if effect == "empty" else " \n"), "stop"
        if effect == "filter":
            return "", "content_filter"
        stops: Any = body.get("stop") or []
        for stop in [stops] if isinstance(stops, str) else stops:
            text = text.partition(stop)[0]
        if effect == "truncate":
            return text[: len(text) // 2], "length"
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        cut = text if limit is None else self.tokens.cut(text, limit)
        return cut, "stop" if cut == text else "length"

    def _usage(self, messages: Sequence[Mapping[str, Any]], text: str) -> dict[str, Any]:
        prompt = sum(self.tokens.count(str(message.get("content") or "")) + 4 for message in messages)
        completion = self.tokens.count(text)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": int(prompt * self._behaviour.cached_share)},
        }


def last_user_message(messages: Sequence[Mapping[str, Any]]) -> str:
    """The last user message."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return str(message.get("content") or "")
    return ""


def _is_object(text: str) -> bool:
    if not text.lstrip().startswith("{"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _simplest_value(field: Mapping[str, Any]) -> Any:
    """The simplest value of a field of a schema."""
    if "enum" in field:
        return field["enum"][0]
    return {"integer": 0, "number": 0, "boolean": False, "array": [], "object": {}, "string": ""}.get(
        field.get("type", "")
    )
