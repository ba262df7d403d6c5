"""The scores of all answers to all items, by column: what every section of the analysis is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.results.run import SystemGroup

Bools = NDArray[np.bool_]
Codes = NDArray[np.int64]
Texts = NDArray[np.object_]
"""One text for each item."""


@dataclass(frozen=True)
class AnalysisNote:
    """A sentence for readers: the key of a text, and the values that it is filled with."""

    key: str
    values: Mapping[str, str | int] = field(default_factory=dict[str, str | int])

    def text(self, t: PageTexts) -> str:
        """The sentence."""
        return t(self.key, **self.values)


@dataclass(frozen=True)
class AnsweringSystem:
    """A system that answered: a model, people, or a rule.

    `invented` says that its answers came with a sample: they were made up, and no model gave them. `earlier` says that
    the recipe does not ask it now: its answers are from an earlier run. `variants` counts the settings in which the
    same model was asked in this folder; None where nobody can know, as with recorded answers.
    """

    name: str
    group: SystemGroup
    label: str = ""
    invented: bool = False
    earlier: bool = False
    variants: int | None = None

    @property
    def display_name(self) -> str:
        """The name to show."""
        return self.label or self.name


@dataclass(frozen=True)
class ItemColumns:
    """What is known of each item, one entry for each in every column.

    Attributes:
        ids: Ids.
        sources: Partitions.
        types: ``tf``, ``oe``, or what the payload calls it.
        forms: How the item asks: ``statement``, or the sentence that shows a question.
        families: The code of the item family, from 0.
        facts: Ids of facts; empty if unknown.
        relations: Source and relation of the triple; empty without a triple.
        expected: The right verdict, ``yes`` or ``no``; empty for open questions.
        negated: Whether the question negates its proposition.
        questions: The question with its context.
        answers: The right answer.
        wrong_answers: The wrong answer.
        options: The keys of the options; empty without options.
        keys: The key of the right option; empty without options.
        scorers: The scorer whose scores count; empty if the item has none.
        aspects: The aspect in which they do.
    """

    ids: Texts
    sources: Texts
    types: Texts
    forms: Texts
    families: Codes
    facts: Texts
    relations: Texts
    expected: Texts
    negated: Bools
    questions: Texts
    answers: Texts
    wrong_answers: Texts
    options: tuple[tuple[str, ...], ...]
    keys: Texts
    scorers: Texts
    aspects: Texts

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, kept: Bools) -> ItemColumns:
        """The items that are `kept`; families get new codes."""
        columns = {name: value[kept] for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        columns["families"] = np.unique(columns["families"], return_inverse=True)[1].reshape(-1)
        options = tuple(keys for keys, keep in zip(self.options, kept, strict=True) if keep)
        return ItemColumns(**columns, options=options)


@dataclass(frozen=True)
class WordedAnswers:
    """Answers to a sample of the items in several wordings; the first wording is the item as it was built.

    Attributes:
        wordings: The names of the wordings.
        examples: The first item in each wording.
        models: The names of the models that were asked.
        items: The ids of the items.
        families: The code of the family of each, from 0.
        scores: 1 or 0, for each model, wording, repeat and item; nan where there is no answer. An answer without a
            verdict has the score 0.
        without: Whether there was an answer without a verdict, in the same shape.
    """

    wordings: tuple[str, ...]
    examples: tuple[str, ...]
    models: tuple[str, ...]
    items: Texts
    families: Codes
    scores: Floats
    without: Bools


@dataclass(frozen=True)
class AnsweredItems:
    """Systems by items. All arrays have one row for each system and one column for each item.

    Attributes:
        task: The task; empty in a recipe without tasks.
        systems: Who answered: models, then people, then rules.
        items: The columns of the items.
        scores: From 0 to 1; nan if the item was not asked, or its answer has no score. Invalid and refused answers
            have the score 0: leaving them out would reward silence.
        without: Whether there was an answer without a verdict: invalid, refused, empty or filtered.
        said_wrong: Whether the answer says the item's wrong answer: 1 or 0; nan if nobody can tell.
        chosen: The place of the chosen option among the options of the item; -1 without one.
        illustrative: Whether the items are made of sample data.
        notes: What was left out, and what the figures rest on.
        worded: Answers to some of the items in several wordings, if models were asked for any.
    """

    task: str
    systems: tuple[AnsweringSystem, ...]
    items: ItemColumns
    scores: Floats
    without: Bools
    said_wrong: Floats
    chosen: Codes
    illustrative: bool = False
    notes: tuple[AnalysisNote, ...] = ()
    worded: WordedAnswers | None = None

    @property
    def asked(self) -> Bools:
        """Whether there is a score."""
        return ~np.isnan(self.scores)

    @cached_property
    def family_count(self) -> int:
        """The number of item families."""
        return int(self.items.families.max()) + 1 if len(self.items) else 0

    def families_of(self, ids: Iterable[str]) -> int:
        """In how many item families these items are."""
        wanted = set(ids)
        kept = np.fromiter((name in wanted for name in self.items.ids), np.bool_, len(self.items))
        return len(np.unique(self.items.families[kept]))

    @cached_property
    def said_yes(self) -> Floats:
        """Whether the verdict of a true/false question was yes: 1 or 0; nan without a verdict."""
        expected = self.items.expected
        right = np.where(expected == "yes", self.scores, 1 - self.scores)
        known = self.asked & ~self.without & np.isin(expected, ("yes", "no"))
        return np.where(known, right, np.nan)

    @property
    def invented(self) -> tuple[str, ...]:
        """The names of the systems whose answers are made up."""
        return tuple(system.display_name for system in self.systems if system.invented)

    def models_only(self) -> AnsweredItems:
        """The models with at least one score, and the items that one of them answered: no people, no rules."""
        models = np.array([system.group == "model" for system in self.systems], np.bool_)
        return self.of_systems(models & self.asked.any(axis=1))

    def of_systems(self, kept: Bools) -> AnsweredItems:
        """The systems that are `kept`, and the items that one of them answered."""
        systems = tuple(system for system, keep in zip(self.systems, kept, strict=True) if keep)
        part = replace(
            self, systems=systems, scores=self.scores[kept], without=self.without[kept],
            said_wrong=self.said_wrong[kept], chosen=self.chosen[kept],
        )  # fmt: skip
        return part.of_items(np.logical_or.reduce(part.asked, axis=0))

    def of_items(self, kept: Bools) -> AnsweredItems:
        """The items that are `kept`."""
        if kept.all():
            return self
        return replace(
            self, items=self.items.take(kept), scores=self.scores[:, kept], without=self.without[:, kept],
            said_wrong=self.said_wrong[:, kept], chosen=self.chosen[:, kept],
        )  # fmt: skip
