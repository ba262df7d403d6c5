"""The settings of `swap_triple`: which relations are swapped, what bars a pair, and which partners come first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import Field, field_validator

from benchbuilder.config import StepSpec, bundled_folder
from benchbuilder.core import FrozenModel, LengthUnit, Regex
from benchbuilder.steps.language.known_edges import KnownRule
from benchbuilder.steps.swapping.names import Nearness


class SwapRelations(FrozenModel):
    """Relations by the names of the triples, sorted by what a graph can say about them.

    The name of a relation counts for its inverse as well.
    """

    checkable: tuple[str, ...] = ()
    """The relations that are swapped. Without any, all are swapped that are not `open`."""
    open: tuple[str, ...] = ()
    """Relations that are not swapped: far more ends are right than any graph lists, or right ends are a matter of
    degree (treatments, examinations, risk factors, stages). A set question may ask for their known ends."""
    ranges: tuple[str, ...] = ()
    """Relations whose answers are ranges or amounts, which overlap: 1 to 2 months is no false answer where 1 to 3 is
    right. They are not swapped."""
    preferences: tuple[str, ...] = ()
    """Relations that advise (what is good to eat). No answer is false, and they do not tell which concepts are alike.
    They are not swapped."""
    kinds: tuple[str, ...] = ()
    """Relations whose answers are classes of answers (drug treatment, surgery). They are not swapped."""
    functional: tuple[str, ...] = ()
    """Relations with one right end for each concept, by the author's word. Bars that guess at missing triples do not
    apply to them: `near_known`, `kin`, `similar`, `cohesion`, `spread`, `together`, `alike`, `related`."""
    classes: tuple[str, ...] = ()
    """Relations that class concepts (a department, a branch). See `SpreadBar`."""
    transitive: tuple[str, ...] = ()
    """Relations in which an end of an end is an end: what is a kind of a kind of X is a kind of X."""


class SimilarBar(FrozenModel):
    """How the concepts that are most similar to one speak for an answer.

    The similarity of two concepts is the cosine of their sets of ends, in either direction, where an end that many
    have weighs less (by inverse document frequency). The *similar share* of an answer is the share of the most similar
    concepts that have it, each weighted by its similarity.
    """

    nearest: Annotated[int, Field(ge=1)] = 60
    """How many concepts are most similar; more where several are equally so."""
    lift: Annotated[float, Field(ge=0)] = 0.5
    """The similar share, divided by the share of all concepts of the relation that have the answer, bars from here."""
    share: Annotated[float, Field(ge=0, le=1)] = 0.1
    """The similar share bars from here, however many concepts have the answer."""


class CohesionBar(FrozenModel):
    """`unspecific`: the concepts that have an answer have little else in common. Bars the fact.

    Their cohesion is the mean similarity of two of them, without the answer itself. Fever has holders of all sorts; a
    drug has holders of a sort, however many.
    """

    holders: Annotated[int, Field(ge=2)] = 3
    """From so many concepts on that have the answer and another known end,"""
    least: Annotated[float, Field(ge=0, le=1)] = 0.02
    """a cohesion below this bars."""


class SpreadBar(FrozenModel):
    """How the classes of concepts speak for an answer. It needs `relations.classes`."""

    generic: tuple[str, ...] = ()
    """Classes that say nothing (internal medicine)."""
    classes: Annotated[int, Field(ge=2)] = 8
    """`unspecific`: those that have the answer are of at least so many classes, and"""
    leading: Annotated[float, Field(gt=0, le=1)] = 0.4
    """no class has this share of them. Bars the fact."""
    share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """`class_has_it`: more than this share of those that have the answer are of a class of the concept, or the concept
    has no class."""


class SwapBars(FrozenModel):
    """What bars a pair of facts. Each bar applies to both swapped statements of the pair.

    What a recipe leaves out is as in the preset ``strict`` (``swap=strict``).

    Synonyms of a name are all names of every end that has it, and all names of every end that has one of those. A
    *known end* of a concept is an end of a known triple whose other end is a synonym of the concept.
    """

    known: bool
    """`known_end`: a synonym of the swapped answer is a known end of the concept in this relation."""
    any_relation: bool
    """`known_elsewhere`: it is a known end in any other relation, in either direction. Also widens `near_known` and
    `kin` to all relations."""
    synonyms: tuple[str, ...]
    """Relations that state synonyms. Both ends of such a triple are names of one concept."""
    kin: Nearness = "bigram"
    """`kin_has_it`: a relative of the concept has the answer. Relatives are concepts of which one name contains the
    other; with ``bigram``, also those that share two characters in a row (one word, if the unit is words) that at most
    `rare` of the names have."""
    rare: Annotated[int, Field(ge=1)] = 60
    """In how many names two characters (a word) may occur that make relatives."""
    near_known: Nearness = "bigram"
    """`near_known`: the swapped answer contains a known end of the concept, or is contained in one; with ``bigram``,
    it also shares two characters in a row (one word) with one that at most the share `common` of the answers have."""
    common: Annotated[float, Field(gt=0, le=1)] = 0.1
    """The share of the answers from which on two characters (a word) are a word for all of them: a tablet, a ward."""
    similar: SimilarBar | None = SimilarBar()
    """`similar_have_it`: concepts that are similar to this one have the answer."""
    cohesion: CohesionBar | None = CohesionBar()
    """`unspecific`, by what the concepts that have an answer have in common."""
    spread: SpreadBar | None = SpreadBar()
    """`unspecific` and `class_has_it`, by the `classes` of concepts."""
    together: bool = True
    """`together_in_text`: a paragraph of the port `passages` has a name of the concept and a name of the answer."""
    shared_letters: Literal["common", "balanced", "allowed"] = "common"
    """`letters_tell` (``balanced``): concept and answer share other numbers of characters (if the unit is words: of
    words and of runs of four characters; three count as more than two) in the two false statements of a pair than in
    its two true ones, or one contains the other, or both begin or end alike, in other numbers of them. So the letters
    of a statement never tell its verdict. With ``common``, also `shares_letters`: the ends of a true or a false
    statement share a character that less than the share `common` of the names have. Names that share a rare one often
    belong together."""
    alike: Annotated[int, Field(ge=1)] | None = 1
    """`heads_alike`, `answers_alike`: the two concepts, or the two answers, share at least this many pairs of
    characters in a row (words, if the unit is words), or one contains the other."""
    related: Annotated[float, Field(ge=0, le=1)] | None = 0.1
    """`heads_alike`: the two concepts are related by more than this: the cosine of the pieces (see `alike`) in their
    names and in those of their known ends, where rare pieces count more."""
    generic: tuple[Regex, ...]
    """`generic_answer`: patterns of answers that fit almost any concept. Bars the fact."""


PRESETS = ("strict", "balanced", "loose")
"""The options of the recipe group `swap`; ``strict`` is what a recipe without one gets."""
_GONE: Mapping[str, str] = {"popular_answer": "bar.cohesion", "plausible": "bar.similar", "general_concept": "bar.kin"}


class ExchangeSpec(FrozenModel):
    """Which facts may exchange their answers."""

    relations: SwapRelations
    bar: SwapBars
    partner: Literal["far", "any", "near"]
    """Which partner is preferred: the least related one, any, or the most related one. See `bar.related`; a tie goes,
    in `swap_triple`, to a fact of which the concept or the answer is as popular as the own one, then to the fact with
    fewer partners. ``near`` makes harder statements; more of them are true."""
    unit: LengthUnit
    """The unit of names: characters, or words in languages that write them apart."""
    inverse_suffix: str
    """The suffix of relations that read from tail to head (empty: none): X and X with the suffix are one relation."""
    ignore: str
    """Characters that are ignored when names are compared."""

    @field_validator("bar", mode="before")
    @classmethod
    def _names_successors(cls, bar: Any) -> Any:
        found: set[str] = set(_GONE).intersection(bar) if isinstance(bar, Mapping) else set()
        if found:
            raise ValueError("; ".join(f"`{name}` is gone; {_GONE[name]} took its place" for name in sorted(found)))
        return bar

    def with_preset(self, name: str) -> Self:
        """The same settings with the bars that the bundled option `name` of the recipe group `swap` sets."""
        file = bundled_folder("recipes") / "swap" / f"{name}.yaml"
        preset = yaml.safe_load(file.read_text(encoding="utf-8"))
        return self.model_copy(update={"bar": SwapBars.model_validate({**self.bar.model_dump(), **preset})})

    def with_functional(self, names: Iterable[str]) -> Self:
        """The same settings with these relations besides as `functional`."""
        listed = (*self.relations.functional, *names)
        return self.model_copy(update={"relations": self.relations.model_copy(update={"functional": listed})})

    @property
    def known_rule(self) -> KnownRule:
        """How known triples are read."""
        return KnownRule(self.ignore, self.inverse_suffix, frozenset(self.bar.synonyms))


class SwapTripleSpec(ExchangeSpec, StepSpec):
    """Which facts exchange their answers."""
