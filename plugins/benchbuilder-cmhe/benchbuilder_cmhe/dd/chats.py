"""The source kind `chats`: consultations as JSON or JSON Lines, each a list of turns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from benchbuilder.core import Dropped, Fact, Row
from benchbuilder.sources import READING_REASONS, Column, RowSource, SourceFile, SourceSpec, TableSpec, cell_text

from benchbuilder_cmhe.dd.chat import ChatTurn, ConsultationChat

_FACT = Fact[ConsultationChat]


class ChatsSpec(TableSpec):
    """Where the turns are in a record, and what is what in a turn.

    In a table the column of turns holds them as JSON. A turn may be a bare text.
    """

    turns: Column
    speaker: str = ""
    """The field of who speaks; "" if turns do not say."""
    text: str = "text"
    """The field of what is said."""
    fewest_turns: int = 1


class Chats(RowSource[ChatsSpec]):
    """Consultations, one a record, with all their turns in order; turns that say nothing are left out."""

    kind: ClassVar[str] = "chats"
    spec_class: ClassVar[type[SourceSpec]] = ChatsSpec
    output: ClassVar[type[Row]] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        **READING_REASONS,
        "too_few_turns": "The chat has fewer turns than the recipe asks for.",
    }

    def columns(self) -> Sequence[Column]:
        """The column of turns."""
        return [self.spec.turns]

    def make(self, values: Sequence[Any], source_file: SourceFile, line: int) -> Row | Dropped:
        """The chat of one record."""
        (raw,) = values
        if raw in (None, "", []):
            return Dropped("missing_field", str(self.spec.turns))
        if isinstance(raw, str):
            try:
                raw = json.loads(raw)
            except ValueError:
                return Dropped("malformed", "the turns are no JSON")
        if not isinstance(raw, list):
            return Dropped("malformed", "the turns are no list")
        turns = [self._turn(part) for part in raw]
        if any(turn is None for turn in turns):
            return Dropped("malformed", f"a turn has no {self.spec.text!r}")
        said = tuple(turn for turn in turns if turn is not None and turn.text)
        if len(said) < max(1, self.spec.fewest_turns):
            return Dropped("too_few_turns", f"{len(said)} turns")
        return _FACT.build(payload=ConsultationChat(turns=said), **self.row_header(source_file, line))

    def _turn(self, part: Any) -> ChatTurn | None:
        if isinstance(part, dict):
            text = cell_text(part.get(self.spec.text))
            speaker = cell_text(part.get(self.spec.speaker, "")) if self.spec.speaker else ""
            return None if text is None or speaker is None else ChatTurn(speaker=speaker, text=text)
        text = cell_text(part)
        return None if text is None else ChatTurn(speaker="", text=text)
