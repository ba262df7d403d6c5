"""Writes words in one form: letters, marks, script, length."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Conversion,
    Dropped,
    Fact,
    Fold,
    Kept,
    LengthUnit,
    NormalForm,
    Outcome,
    Regex,
    Row,
    Term,
    convert_script,
    fold_text,
    normalise_space,
    replace_all,
    script_version,
    text_length,
    to_normal_form,
)
from benchbuilder.steps.base import Map, Port

_FACT = Fact[Term]


class NormaliseTermSpec(StepSpec):
    """The form of a word list, in the order in which it is made: `form`, `script`, `remove`, `trim`, `fold`."""

    form: NormalForm
    """The normal form of Unicode."""
    script: Conversion | None = None
    remove: tuple[Regex, ...] = ()
    """What is taken out of a word wherever it stands, such as a part in brackets at its end."""
    trim: str = ""
    """Characters that are taken off both ends."""
    fold: tuple[Fold, ...] = ()
    """What is taken away from every word: ``case`` (capitals), ``marks``."""
    unit: LengthUnit
    min_length: Annotated[int, Field(ge=1)]
    max_length: Annotated[int, Field(ge=1)]
    refuse: tuple[Regex, ...] = ()
    """Words in which one of these is found are dropped."""


class NormaliseTerm(Map):
    """Makes a word of each word, or drops it for what it is not."""

    kind: ClassVar[str] = "normalise_term"
    spec_class: ClassVar[type[StepSpec]] = NormaliseTermSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FACT)}
    output: ClassVar[type[Row] | None] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        "empty": "Nothing is left of the word.",
        "too_short": "The word is shorter than the limit: it would hit too much.",
        "too_long": "The word is longer than the limit: it would hit nothing.",
        "refused": "The word holds what a word of the list may not hold.",
        "comment": "The word begins with the sign of comments, and could not be read back.",
    }

    spec: NormaliseTermSpec

    def fingerprint(self) -> Mapping[str, str]:
        """The version of what converts scripts."""
        return {} if self.spec.script is None else {"opencc": script_version()}

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One branch a word."""
        term: Term = row.payload
        text = self._normalise(term.text)
        if fault := self._fault(text):
            return [fault]
        made = term.model_copy(update={"text": text})
        return [Kept(_FACT.child(row, produced_by=self.produced_by(), payload=made))]

    def _normalise(self, text: str) -> str:
        spec = self.spec
        text = to_normal_form(text, spec.form)
        if spec.script is not None:
            text = convert_script(text, spec.script)
        for pattern in spec.remove:
            text = replace_all(pattern, "", text)
        text = normalise_space(text).strip(spec.trim + " ")
        return fold_text(text, spec.fold) if spec.fold else text

    def _fault(self, text: str) -> Dropped | None:
        spec = self.spec
        if not text:
            return Dropped("empty")
        if text.startswith("#"):
            return Dropped("comment", text)
        many = text_length(text, spec.unit)
        if many < spec.min_length:
            return Dropped("too_short", f"{text} ({many} {spec.unit}, at least {spec.min_length})")
        if many > spec.max_length:
            return Dropped("too_long", f"{text} ({many} {spec.unit}, at most {spec.max_length})")
        held = next((pattern for pattern in spec.refuse if replace_all(pattern, "", text) != text), None)
        return None if held is None else Dropped("refused", f"{text}: {json.dumps(held, ensure_ascii=False)}")
