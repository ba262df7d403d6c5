"""Conversations as the text that a model's own chat template makes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError

from benchbuilder.models.base import ASK_FOR_JSON, Message, Request
from benchbuilder.models.providers.plain_chat import UnfitConversationError

RESERVED = frozenset({
    "add_generation_prompt", "chat_template", "continue_final_message", "conversation", "conversations", "documents",
    "max_length", "messages", "padding", "raise_exception", "return_assistant_tokens_mask", "return_dict",
    "return_tensors", "sanitize_control_tokens", "self", "strftime_now", "tokenize", "tokenizer_kwargs", "tools",
    "truncation",
})  # fmt: skip
"""Names that a template cannot be given by a recipe: they are the library's own."""
NO_SYSTEM = "set model.system_role=merge, or leave the step's `system` prompt out"


def chat_messages(request: Request) -> tuple[Message, ...]:
    """The messages of a request; the schema of the reply, if one is wanted, stands at the end of the last."""
    if request.schema is None:
        return request.messages
    *before, last = request.messages
    schema = json.dumps(request.schema, ensure_ascii=False, sort_keys=True)
    return (*before, Message(last.role, f"{last.content}\n\n{ASK_FOR_JSON}{schema}"))


def apply_chat_template(tokenizer: Any, messages: Sequence[Message], values: Mapping[str, Any]) -> str:
    """What the chat template of `tokenizer` makes of `messages` and `values`, up to where the model goes on.

    UnfitError if there is no template, if it fails, if it leaves a system message out without a word, or if it asks
    for today's date: the same request would be another one tomorrow.
    """
    if not tokenizer.chat_template:
        raise UnfitConversationError("it has no chat template", "set model.wrapping, or take a chat model")
    chat = [{"role": message.role, "content": message.content} for message in messages]
    given = {**values, "strftime_now": "", "tokenize": False, "add_generation_prompt": True}
    system = next((message.content.strip() for message in messages if message.role == "system"), "")
    try:
        text = str(tokenizer.apply_chat_template(chat, **given))
    except TemplateError as error:
        way = NO_SYSTEM if system else "set model.wrapping"
        raise UnfitConversationError(f"its chat template refuses: {error}", way) from error
    except TypeError as error:
        if "strftime_now" in str(tokenizer.chat_template):
            why = "its chat template asks for today's date, and replies would depend on the day"
            raise UnfitConversationError(why, "set model.chat_values.date_string, or what it calls the date") from error
        raise UnfitConversationError(f"its chat template fails: {error}", "check model.chat_values") from error
    if system not in text:
        raise UnfitConversationError(f"its chat template leaves out the system message {system[:40]!r}", NO_SYSTEM)
    return text
