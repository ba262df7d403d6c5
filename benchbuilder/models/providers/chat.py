"""Turns conversations into one text, by templates of a recipe or by the chat template of a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from jinja2 import TemplateError
from pydantic import Field, model_validator

from benchbuilder.config import Spec
from benchbuilder.core import fill_template, placeholders, template_faults
from benchbuilder.models.base import ASK_FOR_JSON, Message, Request

Escape = Annotated[str, Field(min_length=1)]


class UnfitConversationError(Exception):
    """A conversation does not fit a model; `next` is what to do."""

    def __init__(self, why: str, next: str) -> None:
        super().__init__(why)
        self.next = next


class ChatWrapping(Spec):
    """Templates that turn a conversation into one text; ``{text}`` is the text of a turn.

    The text ends with the part of `assistant` before ``{text}``, where the model continues.
    """

    start: str = ""
    """Text before the first turn."""
    system: str | None = None
    """``null``: the model accepts no system message."""
    user: str
    assistant: str
    between: str
    """Text between two turns."""
    newline: Escape | None = None
    """Replaces each line break of the text; in the reply it becomes a line break again."""
    tab: Escape | None = None

    @model_validator(mode="after")
    def _templates(self) -> Self:
        for name in ("system", "user", "assistant"):
            template: str | None = getattr(self, name)
            if template is None:
                continue
            if faults := template_faults(template, ("text",)):
                raise ValueError(f"{name}: {'; '.join(faults)}: a template may use {{text}} only")
            if placeholders(template) != ["text"]:
                raise ValueError(f"{name}: a template uses {{text}} exactly once")
        return self


def wrap_messages(wrapping: ChatWrapping, messages: Sequence[Message]) -> str:
    """Join `messages` into one text; UnfitConversationError for a system message without a template.

    >>> wrap_messages(ChatWrapping(user="Q: {text}", assistant="A: {text}", between="|"), [Message("user", "Why?")])
    'Q: Why?|A: '
    """
    turns: list[str] = []
    for message in messages:
        template: str | None = getattr(wrapping, message.role)
        if template is None:
            way = "set model.system_role=merge, or model.wrapping.system if the model knows system messages"
            raise UnfitConversationError("its wrapping has no `system`", way)
        turns.append(fill_template(template, {"text": message.content})[0])
    turns.append(wrapping.assistant.partition("{text}")[0])
    text = wrapping.start + wrapping.between.join(turns)
    for plain, escaped in _escapes(wrapping):
        text = text.replace(plain, escaped)
    return text


def unwrap_reply(wrapping: ChatWrapping, text: str) -> str:
    """Restore line breaks and tabs in a reply.

    >>> unwrap_reply(ChatWrapping(user="{text}", assistant="{text}", between="", newline="<n>"), "a<n>b").split()
    ['a', 'b']
    """
    for plain, escaped in _escapes(wrapping):
        text = text.replace(escaped, plain)
    return text


def merge_system_turns(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Move the text of system turns before the first user turn, with a blank line between."""
    system = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    if system and others:
        others[0] = Message(others[0].role, "\n\n".join([*system, others[0].content]))
    return tuple(others)


def _escapes(wrapping: ChatWrapping) -> list[tuple[str, str]]:
    pairs = (("\n", wrapping.newline), ("\t", wrapping.tab))
    return [(plain, escaped) for plain, escaped in pairs if escaped is not None]


RESERVED = frozenset({
    "add_generation_prompt", "chat_template", "continue_final_message", "conversation", "conversations", "documents",
    "max_length", "messages", "padding", "raise_exception", "return_assistant_tokens_mask", "return_dict",
    "return_tensors", "sanitize_control_tokens", "self", "strftime_now", "tokenize", "tokenizer_kwargs", "tools",
    "truncation",
})  # fmt: skip
"""Names that a recipe cannot pass to a chat template, as the library uses them."""
NO_SYSTEM = "set model.system_role=merge, or leave the step's `system` prompt out"


def chat_messages(request: Request) -> tuple[Message, ...]:
    """The messages of a request; the schema of the reply, if any, is appended to the last message."""
    if request.schema is None:
        return request.messages
    *before, last = request.messages
    schema = json.dumps(request.schema, ensure_ascii=False, sort_keys=True)
    return (*before, Message(last.role, f"{last.content}\n\n{ASK_FOR_JSON}{schema}"))


def apply_chat_template(tokenizer: Any, messages: Sequence[Message], values: Mapping[str, Any]) -> str:
    """Render `messages` with the chat template of `tokenizer`, up to where the model continues.

    Args:
        tokenizer: A tokenizer of `transformers`.
        messages: The conversation.
        values: Further values for the template.

    Raises:
        UnfitConversationError: There is no template, it fails, it drops a system message, or it uses today's date,
            which would change the request every day.
    """
    if not tokenizer.chat_template:
        raise UnfitConversationError("it has no chat template", "set model.wrapping, or take a chat model")
    chat = [{"role": message.role, "content": message.content} for message in messages]
    arguments = {**values, "strftime_now": "", "tokenize": False, "add_generation_prompt": True}
    system = next((message.content.strip() for message in messages if message.role == "system"), "")
    try:
        text = str(tokenizer.apply_chat_template(chat, **arguments))
    except TemplateError as error:
        advice = NO_SYSTEM if system else "set model.wrapping"
        raise UnfitConversationError(f"its chat template refuses: {error}", advice) from error
    except TypeError as error:
        if "strftime_now" in str(tokenizer.chat_template):
            why = "its chat template asks for today's date, and replies would depend on the day"
            raise UnfitConversationError(why, "set model.chat_values.date_string, or what it calls the date") from error
        raise UnfitConversationError(f"its chat template fails: {error}", "check model.chat_values") from error
    if system not in text:
        raise UnfitConversationError(f"its chat template leaves out the system message {system[:40]!r}", NO_SYSTEM)
    return text
