"""What a payload must be able to do: the core reads payloads only through this."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from benchbuilder.records.envelope import Frozen


class Payload(Frozen):
    """Domain data inside a Fact or an Item; a frozen model registered as a kind of the slot `payload`.

    All fields must be strings, numbers, booleans, nested frozen models or tuples of these, with defaults only for
    what may be absent, so that a table of them has one exact Arrow schema.
    """

    kind: ClassVar[str]
    by_field: ClassVar[bool] = False
    """Whether `map_texts` converts texts as they stand in the fields, never parts of them or several joined: rows in
    which no field would change then need not be looked at one by one."""

    @abstractmethod
    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name, for topic filters, screens and script conversion."""

    @abstractmethod
    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The same payload with `convert` applied to every natural-language text."""

    @abstractmethod
    def flat(self) -> dict[str, str]:
        """One cell per column of a TSV or CSV."""

    def asked(self) -> dict[str, Any]:
        """What a model that answers an item of this payload may be shown: plain data for prompts, never the answer.

        The same keys for every row: they are the variables that a prompt may use.
        """
        texts = self.texts()
        question = "".join((*texts.get("context", ()), *texts.get("question", ())))
        return {"question": question, "type": str(getattr(self, "type", ""))}

    def shown(self) -> tuple[tuple[str, str], ...]:
        """What people who judge a row see of it: names of fields and their texts, the first is what it is about."""
        fields = ((name, "\n".join(filter(None, parts))) for name, parts in self.texts().items())
        return tuple((name, text) for name, text in fields if text)

    @classmethod
    @abstractmethod
    def examples(cls) -> Sequence[Self]:
        """A few rows for the contract suite."""
