"""Conversations as one text, for models that have no chat template of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, model_validator

from benchbuilder.config import Spec
from benchbuilder.core import fill_template, placeholders, template_faults
from benchbuilder.models.base import Message

Escape = Annotated[str, Field(min_length=1)]


class UnfitConversationError(Exception):
    """A model cannot be put a conversation; `next` is what to do."""

    def __init__(self, why: str, next: str) -> None:
        super().__init__(why)
        self.next = next


class ChatWrapping(Spec):
    """How the turns of a conversation become one text: templates in which ``{text}`` stands for what was said.

    The text ends with what stands before ``{text}`` in `assistant`, which is where the model goes on.
    """

    start: str = ""
    """What stands before the first turn."""
    system: str | None = None
    """``null``: the model takes no system message."""
    user: str
    assistant: str
    between: str
    """What stands between two turns."""
    newline: Escape | None = None
    """What stands for a line break in the whole text; in the reply it becomes a line break again."""
    tab: Escape | None = None

    @model_validator(mode="after")
    def _templates(self) -> Self:
        for name in ("system", "user", "assistant"):
            template: str | None = getattr(self, name)
            if template is None:
                continue
            if faults := template_faults(template, ("text",)):
                raise ValueError(f"{name}: {'; '.join(faults)}: a template has {{text}} alone")
            if placeholders(template) != ["text"]:
                raise ValueError(f"{name}: a template has {{text}} once, where the turn's text stands")
        return self


def wrap_messages(wrapping: ChatWrapping, messages: Sequence[Message]) -> str:
    """`messages` as one text that the model goes on with; UnfitError for a system message that it does not take.

    >>> wrap_messages(ChatWrapping(user="Q: {text}", assistant="A: {text}", between="|"), [Message("user", "Why?")])
    'Q: Why?|A: '
    """
    turns: list[str] = []
    for message in messages:
        template: str | None = getattr(wrapping, message.role)
        if template is None:
            way = "set model.system_role=merge, or model.wrapping.system if it knows system messages"
            raise UnfitConversationError("its wrapping has no `system`", way)
        turns.append(fill_template(template, {"text": message.content})[0])
    turns.append(wrapping.assistant.partition("{text}")[0])
    text = wrapping.start + wrapping.between.join(turns)
    for plain, escaped in _escapes(wrapping):
        text = text.replace(plain, escaped)
    return text


def unwrap_reply(wrapping: ChatWrapping, text: str) -> str:
    """A reply with line breaks and tabs where the model writes their escapes.

    >>> unwrap_reply(ChatWrapping(user="{text}", assistant="{text}", between="", newline="<n>"), "a<n>b") == "a" + chr(10) + "b"
    True
    """
    for plain, escaped in _escapes(wrapping):
        text = text.replace(escaped, plain)
    return text


def merge_system_turns(messages: Sequence[Message]) -> tuple[Message, ...]:
    """`messages` without system turns: what they say stands before the first user turn, a blank line between."""
    told = [message.content for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    if told and others:
        others[0] = Message(others[0].role, "\n\n".join([*told, others[0].content]))
    return tuple(others)


def _escapes(wrapping: ChatWrapping) -> list[tuple[str, str]]:
    pairs = (("\n", wrapping.newline), ("\t", wrapping.tab))
    return [(plain, escaped) for plain, escaped in pairs if escaped is not None]
