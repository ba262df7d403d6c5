"""Chats: consultations turn by turn, and the form of what is to be known of a patient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Self

from benchbuilder.core import FrozenModel, Payload

FORM_FIELDS = ("age", "sex", "symptoms", "examination", "history", "complaint", "diagnosis")
"""What is taken from a chat, in this order."""


class ChatTurn(FrozenModel):
    """What one side said."""

    speaker: str
    text: str


class ConsultationChat(Payload):
    """A consultation of several turns."""

    kind: ClassVar[str] = "chat"

    turns: tuple[ChatTurn, ...]

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {"chat": tuple(turn.text for turn in self.turns)}

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        turns = tuple(turn.model_copy(update={"text": convert(turn.text)}) for turn in self.turns)
        return self.model_copy(update={"turns": turns})

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {"chat": self.lines()}

    def display_fields(self) -> tuple[tuple[str, str], ...]:
        """The turns, a line each, with who speaks."""
        return (("chat", self.lines()),)

    def lines(self) -> str:
        """The turns, a line each, with who speaks."""
        return "\n".join(f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text for turn in self.turns)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(
                turns=(
                    ChatTurn(speaker="patient", text="My toe hurts."),
                    ChatTurn(speaker="doctor", text="Since when?"),
                )
            ),
            cls(turns=(ChatTurn(speaker="", text="My nose runs."),)),
        )


class IntakeForm(Payload):
    """What was taken from a chat, field by field; "" where the chat does not say. `chat` is what it was taken from."""

    kind: ClassVar[str] = "case_form"

    chat: str
    age: str = ""
    sex: str = ""
    symptoms: str = ""
    examination: str = ""
    history: str = ""
    complaint: str = ""
    diagnosis: str = ""

    def fields(self) -> dict[str, str]:
        """The seven fields."""
        return {name: getattr(self, name) for name in FORM_FIELDS}

    def is_filled(self) -> bool:
        """Whether anything was taken."""
        return any(self.fields().values())

    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name."""
        return {"chat": (self.chat,), **{name: (text,) for name, text in self.fields().items()}}

    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The payload with every text converted."""
        changed = {name: convert(text) for name, text in {"chat": self.chat, **self.fields()}.items()}
        return self.model_copy(update=changed)

    def flat_cells(self) -> dict[str, str]:
        """One cell per column."""
        return {"chat": self.chat, **self.fields()}

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Rows for the contract suite."""
        return (
            cls(chat="patient: My toe hurts.", age="50", sex="male", symptoms="a painful toe", diagnosis="gout"),
            cls(chat="patient: Hello."),
        )
