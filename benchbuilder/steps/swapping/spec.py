"""The settings of `swap_triple`: which relations are swapped, what bars a pair, and which partners come first."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import FrozenModel, LengthUnit, Regex
from benchbuilder.steps.swapping.names import Nearness


class SwapRelations(FrozenModel):
    """Relations by the names of the triples, sorted by what a graph can say about them.

    The name of a relation counts for its inverse as well.
    """

    checkable: tuple[str, ...] = ()
    """The relations that are swapped. Without any, all are swapped that are not `open`."""
    open: tuple[str, ...] = ()
    """Relations that are not swapped: far more ends are right than any graph lists, or right ends are a matter of
    degree (treatments, examinations, risk factors, stages)."""
    functional: tuple[str, ...] = ()
    """Relations with one right end for each concept, by the author's word. Bars that guess at missing triples do not
    apply to them: `popular_answer`, `kin`, `plausible`, `together`."""
    transitive: tuple[str, ...] = ()
    """Relations in which an end of an end is an end: what is a kind of a kind of X is a kind of X."""


class SwapBars(FrozenModel):
    """What bars a pair of facts. Each bar applies to both swapped statements of the pair.

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
    kin: Nearness
    """`kin_has_it`: a relative of the concept has the answer. Relatives are concepts of which one name contains the
    other; with ``bigram``, also those that share two characters in a row (one word, if the unit is words)."""
    near_known: Nearness
    """`near_known`: the swapped answer contains a known end of the concept, or is contained in one; with ``bigram``,
    it also shares two characters in a row (one word) with one."""
    popular_answer: Annotated[int, Field(ge=1)] | None
    """`popular_answer`: more concepts than this have the answer, or an end that contains it, in this relation (with
    `any_relation`: in any). Bars the fact."""
    general_concept: Annotated[int, Field(ge=1)] | None
    """`general_concept`: more names than this contain the concept: it has kinds, and what one of them has, it has too.
    Bars the fact."""
    plausible: Annotated[float, Field(ge=0)] | None
    """`plausible`: other concepts that have the answer vote for it, each with its cosine to the concept. The cosine is
    that of the two sets of known ends, in all relations. A sum of votes above this bars the pair."""
    together: bool
    """`together_in_text`: a paragraph of the port `passages` has a name of the concept and a name of the answer."""
    shared_letters: Literal["both_sides", "allowed"]
    """`shares_letters`: concept and answer share a character (if the unit is words: a word, or four characters in a
    row). It bars a fact whose own ends share one, and a pair whose swapped ends do: a bar on one side alone would give
    the verdict away."""
    alike: Annotated[int, Field(ge=1)] | None
    """`heads_alike`, `answers_alike`: the two concepts, or the two answers, share at least this many pairs of
    characters in a row (words, if the unit is words), or one contains the other."""
    related: Annotated[float, Field(ge=0, le=1)] | None
    """`heads_alike`: the two concepts are related by more than this: the cosine of the pieces (see `alike`) in their
    names and in those of their known ends, where rare pieces count more."""
    generic: tuple[Regex, ...]
    """`generic_answer`: patterns of answers that fit almost any concept. Bars the fact."""


class SwapTripleSpec(StepSpec):
    """Which facts exchange their answers."""

    relations: SwapRelations
    bar: SwapBars
    partner: Literal["far", "any", "near"]
    """Which partner is preferred: the least related one, any, or the most related one. See `bar.related`; a tie goes to
    the fact with fewer partners. ``near`` makes harder statements; more of them are true."""
    unit: LengthUnit
    """The unit of names: characters, or words in languages that write them apart."""
    inverse_suffix: str
    """The suffix of relations that read from tail to head (empty: none): X and X with the suffix are one relation."""
    ignore: str
    """Characters that are ignored when names are compared."""
