"""Normalises the words of word lists, and merges equal words of several lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Conversion,
    Dropped,
    Fact,
    Fold,
    GatherPiece,
    GatherStream,
    Kept,
    LengthUnit,
    Outcome,
    Regex,
    Row,
    Table,
    Term,
    combined_column,
    content_keys,
    convert_script,
    decided_pieces,
    first_equal,
    fold_text,
    normalise_space,
    replace_all,
    script_version,
    take_rows,
    text_length,
)
from benchbuilder.steps.base import Gather, Map, Port
from benchbuilder.steps.language.normal_form import NormalForm, to_normal_form

_FACT = Fact[Term]
_WINDOW = 8_192


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

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherStream:
        """Each word once, in the order of the rows."""
        return GatherStream(self._pieces(tables["each"]))

    def _pieces(self, table: Table[Any]) -> Iterator[GatherPiece]:
        """The words, each with the first one that equals it."""
        keys = list[Any]([np.zeros((0, 2), np.uint64)])
        for batch in table.batches(["payload"]):
            texts: list[Any] = combined_column(batch, "payload.text").to_pylist()
            keys.append(content_keys([fold_text(text, self.spec.fold)] for text in texts))
        first_of = first_equal(np.concatenate(keys))
        order = np.argsort(first_of, kind="stable")
        starts = np.searchsorted(first_of[order], np.arange(len(first_of) + 1))
        for start, window in table.windows(_WINDOW):
            places = np.arange(start, start + len(window))
            firsts = first_of[places]
            equal = [order[starts[first] : starts[first + 1]] if first == place else first_of[place : place + 1]
                     for first, place in zip(firsts.tolist(), places.tolist(), strict=True)]  # fmt: skip
            others = iter(Table(take_rows(table.arrow, np.concatenate(equal)), table.row))
            decided: dict[int, Row | Dropped] = {}
            for place, row, found in zip(range(len(window)), window, equal, strict=True):
                rows = [next(others) for _ in found]
                decided[place] = self._merged(rows) if firsts[place] == places[place] else _repeats(row, rows[0])
            for piece in decided_pieces(window, decided):
                yield replace(piece, positions=places[piece.positions])
            table.release()

    def _merged(self, rows: Sequence[Any]) -> Row:
        """The first of equal words, with what all of them say."""
        payload = rows[0].payload.model_copy(update=_merge_fields([row.payload for row in rows]))
        return _FACT.child(*rows, produced_by=self.produced_by(), payload=payload)


def _repeats(row: Any, first: Any) -> Dropped:
    """The outcome of a word that is merged into the first equal one."""
    words = [f"{one.payload.text} of {', '.join(one.payload.lists)}" for one in (row, first)]
    return Dropped("merged", f"{words[0]}: as {words[1]}")


def _merge_fields(terms: Sequence[Term]) -> dict[str, Any]:
    """The merged fields of all terms."""
    return {
        **{
            name: tuple(dict.fromkeys(part for term in terms for part in getattr(term, name)))
            for name in ("original", "lists", "translated_by")
        },
        "note": "; ".join(dict.fromkeys(term.note for term in terms if term.note)),
    }
