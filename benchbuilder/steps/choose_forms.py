"""Chooses the families and forms of true/false questions so that no word and no length tells the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from benchbuilder.config import Spec, StepSpec
from benchbuilder.core import (
    Dropped,
    Fact,
    FilterResult,
    GatherStream,
    LazyTexts,
    LengthUnit,
    NotApplicable,
    Question,
    Table,
    Triple,
    combined_column,
    constant_column,
    decided_pieces,
    schema_of,
    text_length,
    texts_once,
)
from benchbuilder.steps.balance.greedy import choose_exactly, choose_greedily, pack_families, require_scipy
from benchbuilder.steps.balance.problem import (
    AskRule,
    BalanceProblem,
    FeaturePairs,
    Ints,
    Slack,
    TfQuestion,
    Variant,
    list_variants,
    state_problem,
)
from benchbuilder.steps.base import Gather, Port
from benchbuilder.steps.language.ngrams import find_ngrams

_BINS = 8
_COLUMNS = ["type", "fact", "family", "negated", "expected", "partition", "text"]
_compute: Any = pc


class SlackSpec(Spec):
    """How far "yes" and "no" may differ: by `least` questions, or by `share` of the questions, whichever is more."""

    least: Annotated[int, Field(ge=0)] = 1
    share: Annotated[float, Field(ge=0, le=1)] = 0.01


class ChooseFormsSpec(StepSpec):
    """Which questions are chosen, and how."""

    method: Literal["none", "greedy", "exact"] = "greedy"
    """``greedy`` needs no further library; ``exact`` keeps the most questions and needs the extra `audit`. With
    ``none``, every question is kept."""
    ask: AskRule = "both"
    """``both``: every fact of a family is asked in its true and its false version; ``one``: each fact is asked once."""
    unit: LengthUnit = "characters"
    """The unit of lengths, and of n-grams of one to three."""
    words: Annotated[int, Field(ge=1)] = 10
    """An n-gram is balanced if at least this number of questions have it."""
    slack: SlackSpec = SlackSpec()
    even_forms: bool = True
    """Whether half of the families of every relation are affirmed and half negated, where both forms exist."""
    gap: Annotated[float, Field(ge=0, le=1)] = 0.01
    """``exact`` stops if no choice can be better by this proportion."""
    seconds: Annotated[float, Field(gt=0)] = 60.0
    """``exact`` stops after this time with the best choice so far."""


class ChooseForms(Gather):
    """Keeps whole families of true/false questions, each in one form, so that "yes" and "no" are balanced.

    Within each partition and form, every bin of lengths and every frequent n-gram has as many questions with the
    verdict yes as with no, up to the slack. A fact is asked in one family only. As many families as possible are kept.
    Open-ended questions are kept as they are. The port ``facts`` gives the relations of triples, and how many facts
    share a head, which is balanced too.
    """

    kind = "choose_forms"
    spec_class = ChooseFormsSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Question),
        "facts": Port(Fact[Triple], mode="lookup", optional=True),
    }
    reasons: ClassVar[Mapping[str, str]] = {
        "other_form": "Another form of the same family was chosen.",
        "balance": "With this family, a word, a length or the more frequent verdict would tell the verdict.",
        "fact_taken": "A fact of this family is asked about in another family.",
        "family_incomplete": "A question of the family is missing, so the rest would tell the verdict.",
    }

    spec: ChooseFormsSpec

    def fingerprint(self) -> Mapping[str, str]:
        """The version of scipy; InstallationError if it is needed and missing."""
        if self.spec.method != "exact":
            return {}
        require_scipy()
        return {"scipy": version("scipy")}

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Read the relation and the head of each fact."""
        facts = lookups.get("facts")
        self._facts: dict[str, tuple[str, str]] = {}
        if facts is not None:
            columns = (facts.ids(), facts.column("payload.relation"), facts.column("payload.head"))
            self._facts = {name: (relation, head) for name, relation, head in zip(*columns, strict=True)}

    def gather(self, tables: Mapping[str, Table[Any]]) -> FilterResult | GatherStream:
        """Every question, kept or not."""
        table = tables["each"]
        if self.spec.method == "none":
            return FilterResult([None] * len(table), constant_column("", len(table)))
        columns, order = _by_id(table)
        questions = list(_questions(columns))
        variants = list_variants(questions, self.spec.ask, self.context.seed)
        problem = self._state_problem(columns, variants)
        chosen = choose_greedily(problem)
        notes = {"families": len({question.family for question in questions}), "variants": len(variants)}
        if self.spec.method == "exact":
            exact = choose_exactly(problem, chosen, self.spec.gap, self.spec.seconds)
            chosen = exact.variants
            notes |= {"gap": round(exact.gap, 4), "finished": exact.finished}
        notes |= {"kept": len(chosen), "balanced": problem.balance.height}
        outcomes = _outcomes(questions, variants, chosen)
        return GatherStream(decided_pieces(table, {int(order[at]): lost for at, lost in outcomes.items()}), notes=notes)

    def _state_problem(self, columns: pa.Table, variants: Sequence[Variant]) -> BalanceProblem:
        partitions, facts, negations = (
            texts_once(combined_column(columns, name)) for name in ("partition", "fact", "negated")
        )
        names = [f"{partition}\0{negated}" for partition, negated in zip(partitions, negations, strict=True)]
        numbers = {name: at for at, name in enumerate(sorted(set(names)))}
        scopes = np.array([numbers[name] for name in names], np.int64)
        groups: list[str] | None = None
        if self.spec.even_forms:
            firsts = [variant.questions[0].row for variant in variants]
            groups = [f"{partitions[at]}\0{self._facts.get(facts[at], ('', ''))[0]}" for at in firsts]
        slack = Slack(self.spec.slack.least, self.spec.slack.share)
        views = list(self._views(LazyTexts(columns.column("text")), facts, scopes))
        return state_problem(variants, scopes, views, groups, slack, pack_families)

    def _views(self, texts: Sequence[str], facts: Sequence[str], scopes: Ints) -> Iterator[FeaturePairs]:
        every = np.arange(len(texts))
        yield FeaturePairs(every, np.zeros(len(texts), np.int64), 1, 1)
        lengths = [text_length(text, self.spec.unit) for text in texts]
        yield FeaturePairs(every, _quantile_bins(lengths, scopes), _BINS + 1, 1)
        if self._facts:
            heads = Counter(head for _, head in self._facts.values())
            popularity = [heads[self._facts.get(fact, ("", ""))[1]] for fact in facts]
            yield FeaturePairs(every, _quantile_bins(popularity, scopes), _BINS + 1, 1)
        words = find_ngrams(texts, self.spec.unit, least=self.spec.words)
        yield FeaturePairs(words.texts, words.grams, max(1, words.size), self.spec.words)


def _by_id(table: Table[Any]) -> tuple[pa.Table, Ints]:
    """What is read of the questions, in the order of their ids, and their positions."""
    names = ["id", *_COLUMNS]
    columns = pa.concat_tables(
        [schema_of(table.row).empty_table().select(names), *(piece.select(names) for piece in table.batches(names))]
    )
    order = _compute.sort_indices(columns.column("id"))
    return columns.select(_COLUMNS).take(order).combine_chunks(), order.to_numpy()


def _questions(columns: pa.Table) -> Iterator[TfQuestion]:
    """The true/false questions, by their place in the columns."""
    cells = zip(*(texts_once(combined_column(columns, name)) for name in _COLUMNS if name != "text"), strict=True)
    for at, (type_, fact, family, negated, expected, _) in enumerate(cells):
        if type_ == "tf":
            yield TfQuestion(at, fact, family or fact, negated, expected == "yes")


def _quantile_bins(values: Sequence[int], scopes: Ints) -> Ints:
    """The bin of each value among those of its scope."""
    numbers, bins = np.array(values, float), np.zeros(len(values), np.int64)
    for scope in np.unique(scopes):
        rows = scopes == scope
        edges = np.unique(np.quantile(numbers[rows], np.arange(1, _BINS) / _BINS))
        bins[rows] = np.searchsorted(edges, numbers[rows], side="left")
    return bins


def _outcomes(
    questions: Sequence[TfQuestion], variants: Sequence[Variant], chosen: Ints
) -> dict[int, Dropped | NotApplicable]:
    """What becomes of each question, by its row, except for those that are kept."""
    kept = [variants[at] for at in chosen]
    rows = {question.row for variant in kept for question in variant.questions}
    families = {variant.family for variant in kept}
    complete = {variant.family for variant in variants}
    taken = {question.fact: variant.family for variant in kept for question in variant.questions}
    rivals: dict[str, str] = {}
    for question in questions:
        if question.fact in taken:
            rivals.setdefault(question.family, question.fact)
    outcomes: dict[int, Dropped | NotApplicable] = {}
    for question in questions:
        if question.row in rows:
            continue
        if question.family in families:
            outcomes[question.row] = NotApplicable("other_form")
        elif question.family not in complete:
            outcomes[question.row] = Dropped("family_incomplete", question.family)
        elif (fact := rivals.get(question.family)) is not None:
            outcomes[question.row] = Dropped("fact_taken", f"{fact} in {taken[fact]}")
        else:
            outcomes[question.row] = Dropped("balance", question.family)
    return outcomes
