"""Asks about each concept what the templates of its class say, with the options to recognise it by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Annotated, Any, ClassVar

from benchbuilder.config import Name, Spec, StepSpec
from benchbuilder.core import Dropped, Fact, Item, Kept, Option, Outcome, Row, fill_template, template_faults
from benchbuilder.steps import Map, Port
from pydantic import AfterValidator, Field

from benchbuilder_cmhe.ce.concept import Concept, ConceptQuestion


def _check_template(template: str) -> str:
    if (faults := template_faults(template, ("name",))) or "{name}" not in template:
        raise ValueError("; ".join(faults) or "{name} must stand in it")
    return template


Template = Annotated[str, AfterValidator(_check_template)]


class ConceptClassSpec(Spec):
    """What is asked about the concepts of a class, and what stands for them in a masked text."""

    mask: Annotated[str, Field(min_length=1)]
    questions: Annotated[dict[Name, Template], Field(min_length=1)]
    """By aspect, a template over ``{name}``."""


class AskConceptSpec(StepSpec):
    """The classes, by name, and the keys of the options, as many as there are options."""

    classes: Annotated[dict[str, ConceptClassSpec], Field(min_length=1)]
    keys: Annotated[tuple[str, ...], Field(min_length=2)]


class AskConcept(Map):
    """One item for each template of the concept's class; its options stand in an order drawn by seed.

    The items count under the class of their concept.
    """

    kind: ClassVar[str] = "ask_concept"
    version = 3
    spec_class: ClassVar[type[StepSpec]] = AskConceptSpec
    slots = "many"
    divides = True
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Fact[Concept])}
    output: ClassVar[type[Row] | None] = Item[ConceptQuestion]
    reasons: ClassVar[Mapping[str, str]] = {
        "no_template": "The recipe has no templates for the class of the concept.",
        "wrong_count": "The concept has more or fewer options than there are keys.",
    }

    spec: AskConceptSpec

    def map(self, row: Fact[Concept], parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """The questions about the concept, one for each aspect."""
        spec = self.spec.classes.get(row.payload.concept_class)
        if spec is None:
            return [Dropped("no_template", row.payload.concept_class)]
        if len(row.payload.options) + 1 != len(self.spec.keys):
            return [Dropped("wrong_count", str(len(row.payload.options) + 1))]
        return [Kept(self._item(row, spec, aspect, template), aspect) for aspect, template in spec.questions.items()]

    def _item(self, row: Fact[Concept], spec: ConceptClassSpec, aspect: str, template: str) -> Item[ConceptQuestion]:
        concept = row.payload
        texts = [concept.name, *(near.name for near in concept.options)]
        Random(f"{self.context.seed}:{row.id}:{aspect}").shuffle(texts)
        options = tuple(Option(key=key, text=text) for key, text in zip(self.spec.keys, texts, strict=True))
        payload = ConceptQuestion(
            concept=concept.code, concept_class=concept.concept_class, aspect=aspect, names=concept.names,
            mask=spec.mask, question=fill_template(template, {"name": concept.name})[0], options=options,
            answer_key=self.spec.keys[texts.index(concept.name)], answer=concept.name,
        )  # fmt: skip
        return Item[ConceptQuestion].child(
            row, produced_by=self.produced_by(aspect), slot=aspect, partition=concept.concept_class, payload=payload,
            candidate=row.id, fact=row.id, family=row.id, reviewed=False,
        )  # fmt: skip
