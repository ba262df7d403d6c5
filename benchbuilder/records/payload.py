"""What a payload must be able to do: the core reads payloads only through this."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

from benchbuilder.records.envelope import Frozen


class Payload(Frozen):
    """Domain data inside a Fact or an Item; a frozen model registered as a kind of the slot `payload`.

    All fields must be strings, numbers, booleans, nested frozen models or tuples of these, with defaults only for
    what may be absent, so that a table of them has one exact Arrow schema.
    """

    kind: ClassVar[str]

    @abstractmethod
    def texts(self) -> dict[str, tuple[str, ...]]:
        """Natural-language fields by name, for topic filters, screens and script conversion."""

    @abstractmethod
    def map_texts(self, convert: Callable[[str], str]) -> Self:
        """The same payload with `convert` applied to every natural-language text."""

    @abstractmethod
    def flat(self) -> dict[str, str]:
        """One cell per column of a TSV or CSV."""

    @classmethod
    @abstractmethod
    def examples(cls) -> Sequence[Self]:
        """A few rows for the contract suite."""
