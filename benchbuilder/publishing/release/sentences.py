"""Sentences about a release, each told in the language of the card, and in English to terminals and machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchbuilder.core import PageTexts, page_texts


@dataclass(frozen=True)
class ReleaseSentence:
    """A text of pages with what is filled in; as a `str` it is English."""

    key: str
    values: Mapping[str, object]

    def text(self, t: PageTexts) -> str:
        """The sentence in the language of `t`."""
        return t(self.key, **{name: _told(value, t) for name, value in self.values.items()})

    def __str__(self) -> str:
        return self.text(page_texts("en"))


def sentence(key: str, **values: object) -> ReleaseSentence:
    """The text of dotted `key`; a value may be a sentence itself.

    >>> str(sentence("scorecard.evidence.sources", good=1, n=3))
    '1 of 3 sources'
    """
    return ReleaseSentence(key, values)


def told(text: ReleaseSentence | str, t: PageTexts) -> str:
    """A sentence in the language of `t`; a text of the recipe as it is."""
    return text.text(t) if isinstance(text, ReleaseSentence) else text


def _told(value: object, t: PageTexts) -> object:
    return value.text(t) if isinstance(value, ReleaseSentence) else value
