"""The rows that a step of a recipe gets, and what its rules make of them: no build, no store, no model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from benchbuilder.config import KindSpec, LoadedRecipe, StepSpec, load_recipe
from benchbuilder.core import (
    DataError,
    Dropped,
    Failed,
    Kept,
    LengthUnit,
    NotApplicable,
    Outcome,
    Row,
    Span,
    Table,
    create_from_spec,
    row_class,
    row_text,
)
from benchbuilder.models import Gateway, Reply, Request
from benchbuilder.pipeline import (
    Checksums,
    Manifest,
    Plan,
    ReplyLookup,
    ShardWorker,
    Store,
    empty_lookup,
    make_plan,
    replay_conversation,
    step_job_of,
)
from benchbuilder.steps import AskedFact, Map, NeedsModel, PromptedMap, Step, Writer

MOST_ROWS = 50_000
"""More rows than these are not held in memory: so many are drawn by the seed of the recipe."""


class TrialStoppedError(Exception):
    """A newer trial began: this one is of no use any more."""


@dataclass(frozen=True, slots=True)
class TriedRow:
    """What rules make of a row.

    Attributes:
        made: The texts of the rows that it became.
        cause: Why it became none: the reason, and what the detail names before the text.
        rule: The rule that made the first text, or the cause.
        unhandled: Whether no rule did anything with it: a model wrote, would be asked, or the row is lost.
        asks: Whether a build would ask a model, whose reply the last build does not have.
        answer: The place of the answer in the first text.
        seam: The place of the predicate in the first text.
    """

    made: tuple[str, ...]
    cause: str
    rule: str
    unhandled: bool
    answer: tuple[int, int] | None = None
    seam: tuple[int, int] | None = None
    asks: bool = False

    @property
    def text(self) -> str:
        """The texts for people."""
        return "\n".join(self.made)


@dataclass(frozen=True, slots=True)
class RuleOutcomes:
    """The outcomes of a row, whether no rule handled it, and whether only a reply that nobody has could tell them."""

    outcomes: Sequence[Outcome]
    unhandled: bool = False
    asks: bool = False


def given_text(row: Row) -> tuple[str, str]:
    """What a rule works on: the question and its answer, or the text up to the answer and the answer."""
    payload: Any = getattr(row, "payload", None)
    if payload is not None and isinstance(getattr(payload, "question", None), str):
        return payload.question, str(getattr(payload, "answer", ""))
    text, answer = getattr(row, "text", None), getattr(row, "answer", None)
    if isinstance(text, str) and isinstance(answer, Span):
        return text[: answer.start], answer.slice_of(text)
    return (text if isinstance(text, str) else row_text(row)), ""


class TrialBench:
    """A step of a recipe with the rows that it gets, as the last build made them.

    Args:
        overrides: The command line of the recipe.
        recipes: Further folders of recipes.
        folder: The folder of the build.
        step: The step.

    Raises:
        RecipeError: The recipe is wrong, or the step is not in it.
        DataError: The steps before it are not built.
    """

    def __init__(self, overrides: Sequence[str], recipes: Sequence[str], folder: Path, step: str) -> None:
        self.loaded: LoadedRecipe = load_recipe(overrides, recipes=recipes)
        self.store, self.step = Store(folder), step
        self.plan: Plan = make_plan(self.loaded.recipe, self.store, Checksums(self.store.checksums).sha256_of)
        if step not in self.plan.nodes:
            raise DataError(
                f"no rows reach {step!r}", why="none of the chosen sources leads to it", next="choose another step"
            )
        self.node = self.plan.nodes[step]
        self.manifests = self._manifests()
        self.total, self.rows = self._drawn_rows()
        self.index = {row.id: position for position, row in enumerate(self.rows)}
        self._worker = ShardWorker(step_job_of(self.node, self.store, self.manifests))
        base = self._worker.job.step
        if not isinstance(base, Map):
            raise TypeError(f"{step} is no map")
        self.base_step: Map = base
        self.parents = self._worker.ancestors_by_port(self.rows)
        self._workers = {step: self._worker}

    @property
    def unit(self) -> LengthUnit:
        """What the lengths of texts are counted in: as this step says, or another one of the recipe."""
        steps = self.loaded.recipe.steps
        units = [getattr(spec, "unit", None) for spec in (steps[self.step], *steps.values())]
        return "characters" if next(filter(None, units), "words") == "characters" else "words"

    def _manifests(self) -> dict[str, Manifest]:
        """What the store has of every node: as the recipe is now, or as it was built last."""
        found: dict[str, Manifest] = {}
        for name, node in self.plan.nodes.items():
            manifest = self.store.manifest(name, node.key) or self.store.latest(name)
            if manifest is not None:
                found[name] = manifest
        if missing := [name for name in self.node.upstream() if name not in found]:
            words = " ".join(self.loaded.overrides)
            raise DataError(f"the rows of {self.step!r} are not built yet", next=f"benchbuild {words}",
                            why=f"{', '.join(missing)} did not run here")  # fmt: skip
        return found

    def _drawn_rows(self) -> tuple[int, list[Row]]:
        names = self.node.inputs["each"]
        row = row_class(self.manifests[names[0]].row)
        tables = [self.store.rows(self.manifests[name]) for name in names]
        total = sum(len(table) for table in tables)
        if total <= MOST_ROWS:
            return total, list(Table.concat(iter(tables), row))
        table = Table.concat(iter(tables), row)
        return total, list(table.find(set(drawn(table.ids(), self.loaded.recipe.seed, MOST_ROWS))))

    @property
    def built_as_now(self) -> bool:
        """Whether the rows are those of the recipe as it is now."""
        return all(self.manifests[name].key == self.plan.nodes[name].key for name in self.node.upstream())

    def open_step(self, spec: StepSpec) -> Map:
        """The step with these rules, open."""
        return self.open_later(self.step, spec, {})

    def ancestors(self, name: str, rows: Sequence[Row]) -> list[dict[str, Row]]:
        """The ancestors of rows by parent port of a step; AccountingError if one of them has none."""
        if name not in self._workers:
            self._workers[name] = ShardWorker(step_job_of(self.plan.nodes[name], self.store, self.manifests))
        return self._workers[name].ancestors_by_port(rows)

    def open_later(self, name: str, spec: StepSpec, fresh: Mapping[str, Sequence[Row]]) -> Map:
        """A step, open; the tables of its lookup ports have the `fresh` rows of each node besides."""
        node = self.plan.nodes[name]
        producer: Any = node.producer
        step: Step = create_from_spec("step", spec, producer.context)
        lookups: dict[str, Table[Any]] = {}
        for port, table in step_job_of(node, self.store, self.manifests).lookups().items():
            more = [row for up in node.inputs[port] for row in fresh.get(up, ())]
            known = {*table.ids()} if more else set[str]()
            added = Table.of([row for row in more if row.id not in known], table.row)
            lookups[port] = Table.concat(iter((table, added)), table.row) if len(added) else table
        step.open(lookups)
        if not isinstance(step, Map):
            raise TypeError(f"{name} is no map")
        return step

    def run(
        self, step: Map, positions: Sequence[int], before_row: Callable[[int], None]
    ) -> Iterator[tuple[int, RuleOutcomes]]:
        """The outcomes of the rows at these positions; `before_row` is called before each."""
        for position in positions:
            before_row(position)
            yield position, rule_outcomes(step, self.rows[position], self.parents[position], self.reply_to)

    @cached_property
    def _gateway(self) -> Gateway:
        return Gateway(self.store.journal)

    def reply_to(self, model: KindSpec, request: Request) -> Reply | None:
        """What a model replied in the last build; no model is asked."""
        return self._gateway.lookup(model, request)

    def asked(self, positions: Sequence[int]) -> list[AskedFact]:
        """The rows at these positions as questions with answers."""
        return [AskedFact(self.rows[position].id, *given_text(self.rows[position])) for position in positions]


def rule_outcomes(
    step: Map, row: Row, parents: Mapping[str, Any], reply_to: ReplyLookup = empty_lookup
) -> RuleOutcomes:
    """What an open step makes of a row, with the replies of models that `reply_to` has."""
    if not isinstance(step, PromptedMap) or (step.model_spec is None and not isinstance(step, Writer)):
        made = list(step.map(row, parents))
        return RuleOutcomes(made, unhandled=not any(isinstance(outcome, Kept) for outcome in made))
    refused = Dropped("needs_model")
    if isinstance(step, Writer):
        outcome = step.without_model(row, parents)
        if not isinstance(outcome, NeedsModel):
            return RuleOutcomes([outcome])
        refused = Dropped(outcome.reason, outcome.detail)
    if (model := step.model_spec) is None:
        return RuleOutcomes([refused], unhandled=True)
    transcript = replay_conversation(step.converse(row, parents), lambda request: reply_to(model, request))
    if transcript.outcomes is None:
        return RuleOutcomes([refused], unhandled=True, asks=True)
    return RuleOutcomes(transcript.outcomes, unhandled=bool(transcript.turns))


def drawn(ids: Sequence[str], seed: int, count: int) -> list[str]:
    """Ids drawn by a seed; a larger count adds to them."""
    return sorted(ids, key=lambda row: hashlib.sha256(f"{seed}:{row}".encode()).digest())[:count]


def tried_row(found: RuleOutcomes) -> TriedRow:
    """What a page needs of the outcomes of a row."""
    kept = [outcome.row for outcome in found.outcomes if isinstance(outcome, Kept)]
    if kept:
        first: Any = kept[0]
        answer, seam = getattr(first, "answer", None), getattr(first, "seam", None)
        rule = _rule_name(first, seam)
        return TriedRow(tuple(map(row_text, kept)), "", rule, unhandled=found.unhandled,
                        answer=_place(answer, first), seam=_place(seam, first))  # fmt: skip
    cause = "; ".join(dict.fromkeys(_cause(outcome) for outcome in found.outcomes))
    return TriedRow((), cause, cause, unhandled=found.unhandled, asks=found.asks)


def _rule_name(row: Any, seam: Any) -> str:
    name = row.produced_by.rule.partition("/")[2]
    if name in ("", "seam") and isinstance(seam, Span):
        return f"{name or 'seam'}: {seam.slice_of(row.text)}"
    return name or row.produced_by.rule


def _place(span: Any, row: Any) -> tuple[int, int] | None:
    """A span in the text that a page shows, which begins with the context."""
    shift = len(getattr(row, "context", "") or "")
    return (span.start + shift, span.end + shift) if isinstance(span, Span) else None


def _cause(outcome: Outcome) -> str:
    if isinstance(outcome, Dropped):
        head, mark, _ = outcome.detail.partition(": ")
        return f"{outcome.reason}: {head}" if mark and len(head) < 200 else outcome.reason
    if isinstance(outcome, NotApplicable):
        return outcome.reason
    return outcome.error if isinstance(outcome, Failed) else ""
