"""Renders conversations with the chat template that lies beside a tokenizer file, to count its tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from benchbuilder.core import read_given_text, read_json
from benchbuilder.models.base import Message

RenderChat = Callable[[Sequence[Message]], str | None]
"""The text that a model reads for a conversation; ``None`` if the template does not take it."""


def find_chat_template(tokenizer: Path) -> RenderChat | None:
    """The chat template in the folder of a ``tokenizer.json``, or ``None``.

    It is in ``chat_template.jinja``, or in ``tokenizer_config.json``. It runs in a sandbox.
    """
    source = _source(tokenizer.parent)
    if source is None:
        return None
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = _to_json
    try:
        template = environment.from_string(source)
    except TemplateError:
        return None
    tokens = {name: _text(value) for name, value in _config(tokenizer.parent).items() if name.endswith("_token")}

    def render(messages: Sequence[Message]) -> str | None:
        chat = [{"role": message.role, "content": message.content} for message in messages]
        try:
            return template.render(messages=chat, add_generation_prompt=True, raise_exception=_refuse, **tokens)
        except (TemplateError, TypeError, ValueError, LookupError):
            return None

    return render


def _source(folder: Path) -> str | None:
    try:
        return read_given_text(folder / "chat_template.jinja")
    except (OSError, ValueError):
        template: Any = _config(folder).get("chat_template")
    if isinstance(template, list):  # several under names
        named: list[Any] = template
        template = next((part["template"] for part in named if _is_default(part)), None)
    return template if isinstance(template, str) else None


def _is_default(part: Any) -> bool:
    return isinstance(part, dict) and part.get("name") == "default" and isinstance(part.get("template"), str)


def _config(folder: Path) -> dict[str, Any]:
    try:
        data: Any = read_json(folder / "tokenizer_config.json")
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _text(token: Any) -> str:
    """A special token, which a configuration gives as text or as an object."""
    content: Any = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else ""


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> str:
    raise TemplateError(message)
