"""Clean the stems of multiple-choice questions of marks and numbering."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from benchbuilder.config import StepSpec
from benchbuilder.core import Choice, Dropped, Fact, Kept, Outcome, Regex, Row, find_all, normalise_space
from benchbuilder.steps.base import Map, Port


class CleanChoiceSpec(StepSpec):
    """What is cleaned; an empty list or ``null`` leaves the thing alone.

    `remove` lists marks that are taken out wherever they stand. `numbering` matches an item's number where the stem
    begins. `inner_numbering` matches the number of a sub-question inside a stem; `inner` says whether it becomes a
    sentence break (the mark `sentence_break`, unless the text before it ends in one of `stops`) or is deleted.
    """

    remove: tuple[str, ...]
    numbering: Regex | None
    inner_numbering: Regex | None
    inner: Literal["break", "delete"]
    sentence_break: str
    stops: tuple[str, ...]


class CleanChoice(Map):
    """Cleans question and context, and brings white space into one form (in options too).

    A fact that nothing changes passes as the very row that it is.
    """

    kind: ClassVar[str] = "clean_choice"
    spec_class: ClassVar[type[StepSpec]] = CleanChoiceSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Choice])}
    output: ClassVar[type[Row] | None] = None
    reasons: ClassVar[Mapping[str, str]] = {
        "no_question": "Nothing is left of the question after cleaning.",
        "options_alike": "Another option is the same as the right one after cleaning.",
    }

    spec: CleanChoiceSpec

    def map(self, row: Fact[Choice], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The cleaned fact."""
        payload = row.payload.map_texts(normalise_space)
        context = self._clean(payload.context, opens=True)
        if context:  # what separates it from the question stays
            context += row.payload.context[len(row.payload.context.rstrip()) :]
        question = self._clean(payload.question, opens=not context)
        if not question:
            return [Dropped("no_question", row.payload.question)]
        if any(option.text == payload.answer for option in payload.wrong_options()):
            return [Dropped("options_alike", payload.answer)]
        payload = payload.model_copy(update={"context": context, "question": question})
        if payload == row.payload:
            return [Kept(row)]
        return [Kept(type(row).child(row, produced_by=self.produced_by(), payload=payload, original=row.original))]

    def _clean(self, text: str, *, opens: bool) -> str:
        """`text` cleaned; `opens` says that the stem begins with it."""
        if opens and self.spec.numbering is not None:
            text = _without_first(self.spec.numbering, text)
        if self.spec.inner_numbering is not None:
            text = self._break(self.spec.inner_numbering, text)
        for mark in self.spec.remove:
            text = text.replace(mark, "")
        return normalise_space(text)

    def _break(self, pattern: str, text: str) -> str:
        parts: list[str] = []
        at = 0
        for span in find_all(pattern, text):
            before = text[at : span.start].rstrip()
            broken = self.spec.inner == "delete" or before.endswith(self.spec.stops) or not (before or parts)
            parts.append(before if broken else before + self.spec.sentence_break)
            at = span.end
        return "".join([*parts, text[at:]])


def _without_first(pattern: str, text: str) -> str:
    """`text` without what `pattern` matches at its very beginning."""
    for span in find_all(pattern, text):
        if span.start == 0:
            return text[span.end :].lstrip()
        break
    return text
