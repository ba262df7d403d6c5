"""Normalises the words of word lists, and merges equal words of several lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Conversion,
    Dropped,
    Fact,
    Fold,
    GatherResult,
    Kept,
    LengthUnit,
    NormalForm,
    Outcome,
    Regex,
    Row,
    Table,
    Term,
    convert_script,
    fold_text,
    normalise_space,
    replace_all,
    script_version,
    text_length,
    to_normal_form,
)
from benchbuilder.steps.base import Gather, Map, Port

_FACT = Fact[Term]


class NormaliseTermSpec(StepSpec):
    """The form of a word list; applied in this order: `form`, `script`, `remove`, `trim`, `fold`."""

    form: NormalForm
    """The Unicode normal form."""
    script: Conversion | None = None
    remove: tuple[Regex, ...] = ()
    """Patterns that are removed from a word, such as a part in brackets at its end."""
    trim: str = ""
    """Characters that are removed from both ends."""
    fold: tuple[Fold, ...] = ()
    """Differences that are removed: ``case`` (capitals), ``marks``."""
    unit: LengthUnit
    min_length: Annotated[int, Field(ge=1)]
    max_length: Annotated[int, Field(ge=1)]
    refuse: tuple[Regex, ...] = ()
    """Words that match one of these patterns are dropped."""


class NormaliseTerm(Map):
    """Normalises each word, or drops it."""

    kind: ClassVar[str] = "normalise_term"
    spec_class: ClassVar[type[StepSpec]] = NormaliseTermSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FACT)}
    output: ClassVar[type[Row] | None] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {
        "empty": "Nothing is left of the word.",
        "too_short": "The word is shorter than the limit: it would match too much.",
        "too_long": "The word is longer than the limit: it would match nothing.",
        "refused": "The word matches a pattern that the recipe refuses.",
        "comment": "The word begins with the comment sign, and could not be read back.",
    }

    spec: NormaliseTermSpec

    def fingerprint(self) -> Mapping[str, str]:
        """The version of OpenCC, if it is used."""
        return {} if self.spec.script is None else {"opencc": script_version()}

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """One branch per word."""
        term: Term = row.payload
        text = self._normalise(term.text)
        if fault := self._fault(text):
            return [fault]
        payload = term.model_copy(update={"text": text})
        return [Kept(_FACT.child(row, produced_by=self.produced_by(), payload=payload))]

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
        length = text_length(text, spec.unit)
        if length < spec.min_length:
            return Dropped("too_short", f"{text} ({length} {spec.unit}, at least {spec.min_length})")
        if length > spec.max_length:
            return Dropped("too_long", f"{text} ({length} {spec.unit}, at most {spec.max_length})")
        match = next((pattern for pattern in spec.refuse if replace_all(pattern, "", text) != text), None)
        return None if match is None else Dropped("refused", f"{text}: {json.dumps(match, ensure_ascii=False)}")


class MergeTermsSpec(StepSpec):
    """`fold` lists the differences that are ignored when words are compared: ``case``, ``marks``."""

    fold: tuple[Fold, ...] = ()


class MergeTerms(Gather):
    """Keeps the first of several equal words, with the lists and originals of all of them."""

    kind: ClassVar[str] = "merge_terms"
    spec_class: ClassVar[type[StepSpec]] = MergeTermsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(_FACT)}
    output: ClassVar[type[Row] | None] = _FACT
    reasons: ClassVar[Mapping[str, str]] = {"merged": "An equal word of another list, or of this one, is kept."}

    spec: MergeTermsSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Each word once, in the order of the rows."""
        rows = list(tables["each"])
        equal_rows: dict[str, list[Any]] = {}
        for row in rows:
            equal_rows.setdefault(fold_text(row.payload.text, self.spec.fold), []).append(row)
        outcomes: dict[str, list[Outcome]] = {}
        for first, *others in equal_rows.values():
            payload = first.payload.model_copy(update=_merge_fields([first.payload, *(row.payload for row in others)]))
            outcomes[first.id] = [Kept(_FACT.child(first, *others, produced_by=self.produced_by(), payload=payload))]
            for row in others:
                outcomes[row.id] = [Dropped("merged", f"{row.payload.text} of {', '.join(row.payload.lists)}: as "
                                         f"{first.payload.text} of {', '.join(first.payload.lists)}")]  # fmt: skip
        return GatherResult([(row.id, outcomes[row.id]) for row in rows])


def _merge_fields(terms: Sequence[Term]) -> dict[str, Any]:
    """The merged fields of all terms."""
    return {
        **{
            name: tuple(dict.fromkeys(part for term in terms for part in getattr(term, name)))
            for name in ("original", "lists", "translated_by")
        },
        "note": "; ".join(dict.fromkeys(term.note for term in terms if term.note)),
    }
