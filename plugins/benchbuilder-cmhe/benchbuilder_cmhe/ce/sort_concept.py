"""Tells the class of a concept by where it stands in the tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from benchbuilder.config import FileRef, StepSpec
from benchbuilder.core import Dropped, Fact, Kept, NotApplicable, Outcome, Row, Table
from benchbuilder.steps import Map, Port
from pydantic import Field

from benchbuilder_cmhe.ce.concept import Concept
from benchbuilder_cmhe.ce.tree import classes_of

Roots = dict[str, Annotated[tuple[str, ...], Field(min_length=1)]]


class SortConceptSpec(StepSpec):
    """The classes, each with the tree numbers of its roots; a category (``C``) or any place (``E01.370``)."""

    roots: Annotated[Roots, Field(min_length=1)]
    without: dict[str, tuple[str, ...]] = {}
    """By class, places below its roots that do not count for it."""
    level: dict[str, Annotated[int, Field(ge=1)]] = {}
    """By class, from which level of the tree on a place counts for it, 1 for ``C01``, 2 for ``C01.252``: the places
    above are headings."""
    several: Literal["first", "drop"]
    """What becomes of a concept that stands in several classes: the first of `roots` counts, or it is dropped."""
    chosen: FileRef | None = None
    """The ids of the concepts that are asked about, as experts chose them: a text file, one a line, whatever follows
    a tab is a comment; ``null``: every concept of the classes."""


class SortConcept(Map):
    """Concepts of the classes that the recipe names; the others do not concern it."""

    kind: ClassVar[str] = "sort_concept"
    spec_class: ClassVar[type[StepSpec]] = SortConceptSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Concept])}
    output: ClassVar[type[Row] | None] = Fact[Concept]
    reasons: ClassVar[Mapping[str, str]] = {
        "other_class": "The concept stands below none of the roots.",
        "no_place_counts": "All its places below the roots are branches that the recipe leaves out, or headings.",
        "several_classes": "The concept stands below roots of several classes.",
        "not_chosen": "The recipe's list of chosen concepts does not name it.",
    }

    spec: SortConceptSpec

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Read the list of chosen concepts."""
        self._chosen: frozenset[str] | None = None
        if self.spec.chosen is not None:
            lines = self.spec.chosen.file.read_text(encoding="utf-8-sig").splitlines()
            self._chosen = frozenset(line.partition("\t")[0].strip() for line in lines)

    def map(self, row: Fact[Concept], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The concept with its class."""
        found = self._classes_of(row.payload.tree_numbers)
        if not found and classes_of(row.payload.tree_numbers, self.spec.roots):
            return [Dropped("no_place_counts", f"{row.payload.name}: {' '.join(row.payload.tree_numbers)}")]
        if not found:
            return [NotApplicable("other_class")]
        if len(found) > 1 and self.spec.several == "drop":
            return [Dropped("several_classes", " ".join(found))]
        if self._chosen is not None and row.payload.code not in self._chosen:
            return [Dropped("not_chosen", f"{row.payload.code} {row.payload.name}")]
        payload = row.payload.model_copy(update={"concept_class": found[0]})
        return [Kept(Fact[Concept].child(row, produced_by=self.produced_by(found[0]), payload=payload))]

    def _classes_of(self, numbers: Sequence[str]) -> list[str]:
        """The classes that any of the numbers counts for."""
        without = {name: self.spec.without.get(name, ()) for name in self.spec.roots}
        counting = [
            name
            for number in numbers
            for name in classes_of([number], self.spec.roots)
            if not classes_of([number], {name: without[name]}) and number.count(".") + 1 >= self.spec.level.get(name, 1)
        ]
        return [name for name in self.spec.roots if name in counting]
