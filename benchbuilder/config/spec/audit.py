"""The audit: what is looked for, when the gate closes, and which findings the author allows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from benchbuilder.config.spec.base import KindSpec, Slot, Spec
from benchbuilder.core import LengthUnit, Regex

AuditTarget = Literal["verdict", "truth", "pair"]
"""What somebody may guess: the verdict of a true/false question, whether its proposition without the negation is true,
or which of the two answers of an item is the right one."""
AuditScope = Literal["all", "source", "relation", "type", "form"]
"""How items are grouped: all together, by source, by source and relation, by type (tf, oe), by form (affirmed,
negated, or the sentence that shows a question)."""
Proportion = Annotated[float, Field(gt=0, lt=1)]
Excess = Annotated[float, Field(ge=0, le=0.5)]
"""A score above one half, as a proportion: 0.05 is a score of 55 %."""


class ViewSpec(KindSpec):
    """What one view sees, and whether its findings can close the gate.

    `gates` ``null`` leaves that to the view. Most views gate. Views of the paragraphs gate only if the evaluation shows
    paragraphs to models.
    """

    gates: bool | None = None


class AllowedLeak(Spec):
    """A finding that the author accepts. The card prints it with its reason.

    It covers the `view` (or one word, as ``word: TEXT``) in one `scope`: ``all``, or the name of a source, relation,
    type or form. Without a `target`, it covers every target. It holds up to a score of one half plus `until`.
    """

    view: Annotated[str, Field(min_length=1)]
    scope: Annotated[str, Field(min_length=1)]
    target: AuditTarget | None = None
    until: Excess = 0.5
    why: Annotated[str, Field(pattern=r"\S")]


class WordTestSpec(Spec):
    """When a word leaks: it occurs in `least` items or more, with |z| of at least `z`, in the proportion `share`."""

    least: Annotated[int, Field(ge=1)] = 10
    z: Annotated[float, Field(ge=0)] = 4.0
    share: Annotated[float, Field(ge=0, le=1)] = 0.02


class ExposureSpec(Spec):
    """What ``benchbuild audit --model`` asks: about `items` items, and about `controls` paraphrases."""

    items: Annotated[int, Field(ge=10)] = 100
    controls: Annotated[int, Field(ge=10)] = 20
    max_new_tokens: Annotated[int, Field(ge=16)] = 512


class AuditSpec(Spec):
    """The audit of a benchmark: can somebody who does not see all of an item guess its right answer?

    `gate` says what ends with exit code 6 if a check leaks: only ``benchbuild audit`` (``audit``), every build as well
    (``build``), or nothing: with ``none``, builds are not audited, and the gate is always open. A check leaks if its
    score is above one half by more than `limit`, at the level of significance `level` over all checks together.
    `permutations` is how often labels are exchanged to see what chance does. With `unknown` ``close``, a check that
    cannot tell closes the gate too.
    """

    gate: Literal["audit", "build", "none"] = "audit"
    limit: Excess = 0.05
    level: Proportion = 0.05
    permutations: Annotated[int, Field(ge=99, le=99_999)] = 999
    unknown: Literal["warn", "close"] = "warn"
    views: Annotated[dict[str, Any], Slot("view")] = {}
    """What somebody may see, by name; ``null`` removes one. Without any: every view of the program."""
    words: WordTestSpec = WordTestSpec()
    scopes: tuple[AuditScope, ...] = ("all", "source", "relation", "type", "form")
    allow: tuple[AllowedLeak, ...] = ()
    """Findings that do not close the gate, each with its reason."""
    negations: tuple[Regex, ...] = ()
    """Patterns of negations, for the view `negation`."""
    harmless: tuple[Regex, ...] = ()
    """Words that contain such a pattern without negating anything."""
    cue_words: tuple[str, ...] = ()
    """Words for the view `cue_words`."""
    unit: LengthUnit | None = None
    """What n-grams are made of; ``null``: words where the texts separate them by spaces, else characters."""
    paragraphs_shown: bool | None = None
    """Whether models see the paragraphs of an item; ``null``: if its payload gives ``evidence`` to prompts."""
    most_items: Annotated[int, Field(ge=100)] = 20_000
    """A larger benchmark is audited on a random sample of whole item families with about this many items."""
    group: Literal["answer_texts", "family"] = "answer_texts"
    """What no fold divides: item families, and with ``answer_texts`` also items that share an answer that another row
    lent as a wrong one (`wrong_from` ``rows``)."""
    canary: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")] | None = None
    """The identifier (a GUID) that the released files hold; models are asked for its rest."""
    exposure: ExposureSpec = ExposureSpec()
