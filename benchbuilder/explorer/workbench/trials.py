"""Trials of drafts: what they make, change and lose of what the saved rules make, and what comes of it later."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from benchbuilder.config import StepSpec
from benchbuilder.core import AccountingError, Dropped, Failed, Kept, NotApplicable, Outcome, Row, row_class
from benchbuilder.explorer.workbench.drafts import DraftRules, read_draft
from benchbuilder.explorer.workbench.judged_rows import (
    JudgedResult,
    JudgedRow,
    JudgedShare,
    judge_again,
    read_judged,
    row_data,
    row_of,
    share_of,
)
from benchbuilder.explorer.workbench.rule_files import open_rule_file, steps_with_rules
from benchbuilder.explorer.workbench.trial_bench import (
    TrialBench,
    TriedRow,
    drawn,
    given_text,
    rule_outcomes,
    tried_row,
)
from benchbuilder.steps import Map, ReplyFault, Step, Writer, find_shapes


@dataclass(frozen=True, slots=True)
class LaterStep:
    """What a later step made of new rows.

    `lost` holds the reasons of the branches that it did not keep, with what they mean and how many they are.
    """

    step: str
    rows: int
    kept: int
    lost: tuple[tuple[str, str, int], ...] = ()
    has_rules: bool = False


def run_later_steps(
    bench: TrialBench, specs: Mapping[str, StepSpec], new_rows: Sequence[Row], with_rules: Mapping[str, Any]
) -> list[LaterStep]:
    """The later steps that work row by row, in the order of the plan, on what came of `new_rows`.

    Args:
        bench: The step whose rules made the rows.
        specs: The specs that a draft changed.
        new_rows: The rows.
        with_rules: The steps that have rules, which an author can change too.
    """
    fresh: dict[str, list[Row]] = {bench.step: list(new_rows)}
    later: list[LaterStep] = []
    for name, node in bench.plan.nodes.items():
        rows = [row for up in node.inputs.get("each", ()) for row in fresh.get(up, ())]
        producer = node.producer
        built = all(up in bench.manifests for up in node.upstream())
        if not rows or not built or not isinstance(producer, Map) or type(producer).prepare is not Step.prepare:
            continue
        try:
            parents = bench.ancestors(name, rows)
        except AccountingError:  # an ancestor that the build does not have: only a build knows
            continue
        step = bench.open_later(name, specs.get(name, bench.loaded.recipe.steps[name]), fresh)
        outcomes = [
            outcome
            for row, above in zip(rows, parents, strict=True)
            for outcome in rule_outcomes(step, row, above, bench.reply_to).outcomes
        ]
        fresh[name] = [outcome.row for outcome in outcomes if isinstance(outcome, Kept)]
        later.append(LaterStep(name, len(rows), len(fresh[name]), _reasons(step, outcomes), name in with_rules))
    return later


def _reasons(step: Map, outcomes: Sequence[Outcome]) -> tuple[tuple[str, str, int], ...]:
    counts = Counter(
        outcome.error if isinstance(outcome, Failed) else outcome.reason
        for outcome in outcomes
        if isinstance(outcome, Dropped | NotApplicable | Failed)
    )
    return tuple((reason, step.reasons.get(reason, ""), count) for reason, count in counts.most_common())


_ORDERED = ("frames",)
"""The fields of specs that hold rules by name of which the first that fits counts."""


@dataclass(frozen=True, slots=True)
class RuleYield:
    """A rule, or a cause for which rules refuse rows, with the rows that it decides now and did before.

    `state` says why a rule decides none: no row fits it, or an earlier rule takes those that do.
    """

    rule: str
    rows: int
    before: int
    makes: bool
    state: Literal["", "unused", "hidden"] = ""


def count_yields(before: Iterable[TriedRow], after: Iterable[TriedRow]) -> list[RuleYield]:
    """The rules that decide rows, most frequent first."""
    old, new = (Counter((row.rule, bool(row.made)) for row in rows) for rows in (before, after))
    rules = sorted({*old, *new}, key=lambda rule: (-new[rule], -old[rule], rule))
    return [RuleYield(rule, new[rule, makes], old[rule, makes], makes) for rule, makes in rules]


def idle_rules(
    spec: StepSpec, used: Mapping[str, int], run: Callable[[StepSpec], Iterable[TriedRow]]
) -> list[RuleYield]:
    """The frames and endings that decide no row.

    Args:
        spec: The rules.
        used: The rules that decide rows, with how many.
        run: Tries other rules on the same rows: idle frames stand alone, to see whether a row fits them at all.
    """
    idle: list[RuleYield] = []
    for place in _ORDERED:
        frames: Mapping[str, Any] | None = getattr(spec, place, None)
        names = [name for name, frame in (frames or {}).items() if frame is not None and name not in used]
        if frames and names:
            alone = {name: frames[name] for name in names}
            fits = Counter(row.rule for row in run(spec.model_copy(update={place: alone})))
            idle += [RuleYield(name, 0, 0, makes=True, state="hidden" if fits[name] else "unused") for name in names]
    seams: Sequence[Any] | None = getattr(spec, "seams", None)
    ends = [end for end in seams or () if isinstance(end, str) and f"seam: {end}" not in used]
    return idle + [RuleYield(f"seam: {end}", 0, 0, makes=True, state="unused") for end in ends]


RowSort = Literal["new", "changed", "lost", "moved", "asked"]
ROW_SORTS: tuple[RowSort, ...] = get_args(RowSort)
FIRST_ROWS = 300
"""So many rows without a rule, and so many of the others, are tried first."""
_LISTED = 60
"""So many rows of each sort are listed."""
_GROUPS = 30
_IN_GROUP = 25
_CHECKED = 200
_TO_JUDGE = 20


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """A draft to try, on the first rows or on all; of two trials, the one with the larger number counts."""

    number: int
    text: str
    whole: bool


@dataclass(frozen=True, slots=True)
class TriedDifference:
    """A row of which a draft makes something else than the saved rules, with its place in the source."""

    row: str
    place: str
    question: str
    answer: str
    before: TriedRow
    after: TriedRow
    fault: str = ""
    """What the step's own check of a model's text says of it."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that no rule handles and that begin or end alike; `place` and `words` are those of a `QuestionShape`."""

    place: str
    words: str
    count: int
    share: float
    rows: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What a draft does to the rows that were tried.

    Attributes:
        number: That of the request.
        whole: Whether all rows were tried.
        rows: How many rows were tried.
        total: How many rows go in.
        made: Of how many of the tried rows the draft makes something.
        made_before: Of how many the saved rules do.
        unhandled: How many no rule handles.
        counts: The rows by sort of difference.
        listed: The first rows of each sort.
        groups: The rows that no rule handles, by shape.
        later: What later steps make of the new and changed rows.
        yields: How many rows each rule decides.
        judged: What becomes of judged rows.
        to_judge: Rows that chance drew among the new ones, or among all that are made.
        faults: How many of the checked outputs the step's check of a model's text flags, and how many it checked.
        changed: The keys that the draft changes.
        overridden: Changed keys without effect, and where they are set.
        seconds: The time that it took.
    """

    number: int
    whole: bool
    rows: int
    total: int
    made: int
    made_before: int
    unhandled: int
    counts: dict[RowSort, int]
    listed: dict[RowSort, list[TriedDifference]]
    groups: list[RowGroup]
    later: list[LaterStep]
    yields: list[RuleYield]
    judged: list[JudgedResult]
    to_judge: list[TriedDifference]
    faults: tuple[int, int]
    changed: tuple[str, ...]
    overridden: tuple[tuple[str, str], ...]
    seconds: float

    @property
    def share(self) -> JudgedShare:
        """How many judged rows are as people want them."""
        return share_of(self.judged)


@dataclass
class _Collected:
    """What a run over rows gives: results, differences, the rows that are made anew, and results by position."""

    tried: dict[int, TriedRow] = field(default_factory=dict[int, TriedRow])
    sorts: dict[RowSort, list[int]] = field(default_factory=dict[RowSort, list[int]])
    rows: list[Row] = field(default_factory=list[Row])
    faults: dict[int, str] = field(default_factory=dict[int, str])


class RuleTrial:
    """Tries drafts of a step's rules; what the saved rules make of every row is known from the start.

    `before_row` is called with the position of each row before a rule works on it, and with -1 after the last: it may
    raise `TrialStoppedError`. `file` is the name of the file of rules, if it is not that with most of them.
    """

    def __init__(self, bench: TrialBench, before_row: Callable[[int], None], file: str = "") -> None:
        self.bench, self.before_row = bench, before_row
        self.file = open_rule_file(bench.loaded, bench.step, file)
        self._read: tuple[str, DraftRules] = ("", DraftRules())
        self.saved_spec: StepSpec = bench.loaded.recipe.steps[bench.step]
        self.saved = dict(self._tried(bench.base_step, range(len(bench.rows))))

    def run(self, request: TrialRequest, on_read: Callable[[DraftRules], None] | None = None) -> TrialResult:
        """The result of a draft; RecipeError if it is wrong, DataError if a pattern takes too long.

        `on_read` gets the draft before any rule works.
        """
        start = time.perf_counter()
        if self._read[0] != request.text:
            self._read = request.text, read_draft(self.file, request.text, self.bench.loaded)
        draft = self._read[1]
        if on_read is not None:
            on_read(draft)
        spec = draft.specs.get(self.bench.step, self.saved_spec)
        step = self.bench.base_step if spec is self.saved_spec else self.bench.open_step(spec)
        positions: Sequence[int] = range(len(self.bench.rows)) if request.whole else self._first_positions()
        collected = self._collect(step, positions)
        self.before_row(-1)
        judged = judge_again(read_judged(self.file.judged, self.bench.step), lambda row: self._judged(step, row))
        later: list[LaterStep] = []
        yields: list[RuleYield] = []
        if request.whole:
            later = run_later_steps(self.bench, draft.specs, collected.rows, steps_with_rules(self.bench.loaded))
            yields = self._yields(spec, collected, positions)
        return self._result(request, draft, collected, judged, later, yields, start)

    def _result(
        self, request: TrialRequest, draft: DraftRules, collected: _Collected, judged: list[JudgedResult],
        later: list[LaterStep], yields: list[RuleYield], start: float,
    ) -> TrialResult:  # fmt: skip
        tried = collected.tried
        unhandled = [position for position, row in tried.items() if row.unhandled]
        listed: dict[RowSort, list[TriedDifference]] = {
            sort: [self._difference(position, collected) for position in positions[:_LISTED]]
            for sort, positions in collected.sorts.items()
        }
        checked = [position for sort in ("new", "changed") for position in collected.sorts[sort]][:_CHECKED]
        return TrialResult(
            request.number, request.whole, len(tried), self.bench.total, sum(bool(row.made) for row in tried.values()),
            sum(bool(self.saved[position].made) for position in tried), len(unhandled),
            {sort: len(positions) for sort, positions in collected.sorts.items()}, listed,
            self._groups(unhandled, len(tried)), later, yields, judged, self._to_judge(collected),
            (len(collected.faults), len(checked)), draft.changed, draft.overridden, time.perf_counter() - start,
        )  # fmt: skip

    def row(self, row_id: str) -> tuple[Row, str, str]:
        """A row by its id, with its question and answer; KeyError if it is not here."""
        row = self.bench.rows[self.bench.index[row_id]]
        return row, *given_text(row)

    def judgement_data(self, row_id: str) -> tuple[str, str, str]:
        """What a judgement holds of a row: question, answer and the whole row as text; KeyError if it is not here."""
        row, question, answer = self.row(row_id)
        return question, answer, row_data(row)

    def _first_positions(self) -> list[int]:
        """Rows without a rule first, then a sample of the others by the seed of the recipe."""
        ids, seed = [row.id for row in self.bench.rows], self.bench.loaded.recipe.seed
        unhandled = [row for row, tried in zip(ids, self.saved.values(), strict=True) if tried.unhandled]
        handled = [row for row, tried in zip(ids, self.saved.values(), strict=True) if not tried.unhandled]
        chosen = [*drawn(unhandled, seed, FIRST_ROWS), *drawn(handled, seed, FIRST_ROWS)]
        return [self.bench.index[row] for row in chosen]

    def _tried(self, step: Map, positions: Iterable[int]) -> Iterable[tuple[int, TriedRow]]:
        for position, made in self.bench.run(step, list(positions), self.before_row):
            yield position, tried_row(made)

    def _collect(self, step: Map, positions: Sequence[int]) -> _Collected:
        found = _Collected(sorts={sort: [] for sort in ROW_SORTS})
        for position, made in self.bench.run(step, positions, self.before_row):
            now = found.tried[position] = tried_row(made)
            sort = _sort_of(self.saved[position], now)
            if sort is None:
                continue
            found.sorts[sort].append(position)
            if sort in ("new", "changed"):
                if len(found.rows) < _CHECKED and (fault := self._fault(step, position, made.outcomes)):
                    found.faults[position] = fault
                found.rows += [outcome.row for outcome in made.outcomes if isinstance(outcome, Kept)]
        return found

    def _fault(self, step: Map, position: int, outcomes: Sequence[Outcome]) -> str:
        """What a step that checks the texts of models says of a text that a rule made; empty if nothing."""
        if not isinstance(step, Writer):
            return ""
        row, parents = self.bench.rows[position], self.bench.parents[position]
        for outcome in outcomes:
            text: Any = getattr(outcome.row, "text", None) if isinstance(outcome, Kept) else None
            if isinstance(text, str):
                checked = step.judge(row, parents, text, step.produced_by())
                if isinstance(checked, ReplyFault):
                    return checked.reason
        return ""

    def _difference(self, position: int, collected: _Collected) -> TriedDifference:
        row = self.bench.rows[position]
        return TriedDifference(
            row.id, f"{row.origin.file}:{row.origin.line}", *given_text(row), self.saved[position],
            collected.tried[position], collected.faults.get(position, ""),
        )  # fmt: skip

    def _to_judge(self, collected: _Collected) -> list[TriedDifference]:
        pool = collected.sorts["new"] or [position for position, row in collected.tried.items() if row.made]
        ids = [self.bench.rows[position].id for position in pool]
        chosen = drawn(ids, self.bench.loaded.recipe.seed, _TO_JUDGE)
        return [self._difference(self.bench.index[row], collected) for row in chosen]

    def _groups(self, unhandled: Sequence[int], tried: int) -> list[RowGroup]:
        facts, unit = self.bench.asked(unhandled), self.bench.unit
        by_id = {fact.id: fact for fact in facts}
        joiner = " " if unit == "words" else ""
        return [
            RowGroup(shape.place, joiner.join(shape.tokens), shape.count, shape.count / max(tried, 1), tuple(
                (row, by_id[row].question, by_id[row].answer) for row in shape.ids[:_IN_GROUP]))
            for shape in find_shapes(facts, unit, _GROUPS, shortest=1)
        ]  # fmt: skip

    def _yields(self, spec: StepSpec, collected: _Collected, positions: Sequence[int]) -> list[RuleYield]:
        found = count_yields(self.saved.values(), collected.tried.values())
        used = Counter({each.rule: each.rows for each in found if each.makes and each.rows})

        def run(other: StepSpec) -> list[TriedRow]:
            return [tried for _, tried in self._tried(self.bench.open_step(other), positions)]

        idle = idle_rules(spec, used, run)
        known = {each.rule for each in idle}
        return [*(each for each in found if each.rows or each.rule not in known), *idle]

    def _judged(self, step: Map, judged: JudgedRow) -> TriedRow | None:
        """What the rules make of a judged row: of the build, or as it was kept; None if its ancestors are not known."""
        position = self.bench.index.get(judged.row)
        if position is not None:
            row, parents = self.bench.rows[position], self.bench.parents[position]
            return tried_row(rule_outcomes(step, row, parents, self.bench.reply_to))
        return try_kept_row(self.bench, step, judged)


def try_kept_row(bench: TrialBench, step: Map, judged: JudgedRow) -> TriedRow | None:
    """What rules make of a row as its judgement holds it; None if the step needs ancestors of it."""
    if any(port.mode == "parent" for port in step.ports.values()) or not judged.data:
        return None
    row = row_of(judged, row_class(bench.manifests[bench.node.inputs["each"][0]].row))
    return tried_row(rule_outcomes(step, row, {}, bench.reply_to))


def _sort_of(before: TriedRow, after: TriedRow) -> RowSort | None:
    if after.asks:
        return None if before.asks else "asked"
    if before.made and after.made:
        return "changed" if before.made != after.made else None
    if after.made:
        return "new"
    if before.made:
        return "lost"
    return "moved" if before.cause != after.cause else None
