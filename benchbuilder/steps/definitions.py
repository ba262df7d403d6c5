"""Takes definitions from paragraphs as triples, by patterns of the language and without a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from benchbuilder.config import KindSpec, Slot, StepSpec
from benchbuilder.core import (
    Fact,
    Kept,
    NotApplicable,
    Outcome,
    Passage,
    Regex,
    Row,
    SpecIssue,
    Table,
    Triple,
    create_from_spec,
    group_names,
    has_match,
    match_groups,
    normalise_space,
    split_sentences,
    split_words,
)
from benchbuilder.retrieval import Tokenizer, word_boundary_problem
from benchbuilder.steps.base import Map, Port

_FACT = Fact[Triple]


class DefinitionsSpec(StepSpec):
    """Which sentences are definitions, and what they define. Patterns and marks are data of the language."""

    where: Literal["first_sentence_of_paragraph", "any"] = "first_sentence_of_paragraph"
    """Where definitions are looked for."""
    patterns: dict[str, Regex | None]
    """Patterns of whole sentences without their stop, by a name of your choice, with the groups ``head`` and ``tail``.
    The first that fits counts; ``null`` removes an inherited one."""
    relation: str = "is_a"
    """The relation of the triples."""
    not_heads: tuple[Regex, ...] = ()
    """Patterns of heads that define nothing: pronouns, clauses."""
    not_tails: tuple[Regex, ...] = ()
    """Patterns of tails that define nothing."""
    stops: tuple[str, ...]
    """Marks that always end a sentence."""
    soft_stops: tuple[str, ...] = ()
    """Marks that end a sentence except in numbers and abbreviations."""
    abbreviations: tuple[str, ...] = ()
    classes: tuple[Regex, ...] = ()
    """Patterns of whole tails with the group ``class``, whose end is the type; the first that fits counts. Without one,
    it is the end of the tail."""
    type_length: Annotated[int, Field(ge=1)] = 2
    """The fewest characters of a type, which is the end of the tail; whole words are taken until it has them."""
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None

    @model_validator(mode="after")
    def _names_both_ends(self) -> Self:
        for name, pattern in self.patterns.items():
            if pattern is not None and not {"head", "tail"} <= set(group_names(pattern)):
                raise ValueError(f"patterns: {name} needs the groups head and tail: (?P<head>...), (?P<tail>...)")
        if any("class" not in group_names(pattern) for pattern in self.classes):
            raise ValueError("classes: each pattern needs the group class: (?P<class>...)")
        return self


class Definitions(Map):
    """A triple for each sentence that says what something is: what is defined, the relation, and the rest.

    The type of both ends is the last words of the tail, so that wrong answers can be of the same type. The slot is the
    number of the sentence, from 1.
    """

    kind: ClassVar[str] = "definitions"
    spec_class: ClassVar[type[StepSpec]] = DefinitionsSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Passage)}
    output: ClassVar[type[Row] | None] = _FACT
    slots: ClassVar[tuple[str, ...] | Literal["many"]] = "many"
    reasons: ClassVar[Mapping[str, str]] = {
        "no_definition": "No sentence of the paragraph has the form of a definition."
    }

    spec: DefinitionsSpec

    def __init__(self, spec: Any, context: Any) -> None:
        super().__init__(spec, context)
        self._tokenizer: Tokenizer | None = None
        if self.spec.tokenizer is not None:
            self._tokenizer = create_from_spec("tokenizer", self.spec.tokenizer)

    def fingerprint(self) -> Mapping[str, str]:
        """The versions of the tokenizer."""
        return {} if self._tokenizer is None else self._tokenizer.fingerprint()

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> Iterable[SpecIssue]:  # noqa: ARG002
        """A tokenizer that does not split words."""
        return word_boundary_problem(self._tokenizer)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Load the tokenizer's dictionary."""
        if self._tokenizer is not None:
            self._tokenizer.open()

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Outcome]:  # noqa: ARG002
        """A branch for each definition, or one for a paragraph without any."""
        passage: Passage = row
        spec = self.spec
        sentences = split_sentences(passage.text, spec.stops, spec.soft_stops, spec.abbreviations)
        if spec.where == "first_sentence_of_paragraph":
            sentences = sentences[:1]
        found = [
            (str(number), name, ends)
            for number, sentence in enumerate(sentences, 1)
            if (name_ends := self._definition(sentence)) is not None
            for name, ends in [name_ends]
        ]
        if not found:
            return [NotApplicable("no_definition")]
        return [self._outcome(passage, *one) for one in found]

    def _definition(self, sentence: str) -> tuple[str, tuple[str, str]] | None:
        """The name of the first pattern that fits, and both ends; ``None`` if the sentence defines nothing."""
        spec = self.spec
        bare = sentence
        while bare and bare[-1] in (*spec.stops, *spec.soft_stops):
            bare = bare[:-1]
        for name, pattern in spec.patterns.items():
            groups = None if pattern is None else match_groups(pattern, bare)
            if groups is None:
                continue
            head, tail = normalise_space(groups["head"]), normalise_space(groups["tail"])
            if any(has_match(bad, head) for bad in spec.not_heads) or any(
                has_match(bad, tail) for bad in spec.not_tails
            ):
                continue
            return name, (head, tail)
        return None

    def _outcome(self, passage: Passage, slot: str, name: str, ends: tuple[str, str]) -> Outcome:
        head, tail = ends
        ending = self._type_of(tail)
        payload = Triple(
            head=head, relation=self.spec.relation, tail=tail, head_type=ending, tail_type=ending,
            head_terms=(head,), tail_terms=(tail,),
        )  # fmt: skip
        return Kept(_FACT.child(passage, produced_by=self.produced_by(name), slot=slot, payload=payload), slot)

    def _type_of(self, tail: str) -> str:
        """The last words of the tail, at least `type_length` characters."""
        groups = next(filter(None, (match_groups(pattern, tail) for pattern in self.spec.classes)), {"class": tail})
        words = [] if self._tokenizer is None else self._tokenizer.tokens(groups["class"])
        ending = ""
        for word in reversed([word for word in words if split_words(word)]):
            ending = f"{word}{ending}"
            if len(ending) >= self.spec.type_length:
                break
        return ending
