"""Sweeps: the same command over several recipes and settings, with one table of what came out."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, check_links, comparable_name, is_reserved_name, load_recipe
from benchbuilder.core import (
    BenchbuilderError,
    BudgetReached,
    DataError,
    Problem,
    RecipeError,
    cells_of,
    make_folder,
    read_json,
    write_atomically,
)
from benchbuilder.evaluation import chooses_model, plan_evaluation
from benchbuilder.exporters import csv_table
from benchbuilder.pipeline import BuildReport, Plan, Store, Watcher, build_benchmark, check_recipe, plan_build

MOST_RUNS = 200
"""The most runs of a sweep: more are probably a mistake."""
_OPEN, _CLOSE, _QUOTES = "[{(", "]})", "'\""
_TABLES = ("metric_", "means_", "verdicts_")
_JOURNAL = "replies.sqlite"


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep: its overrides, those of its own, and the name of its folder, made of these."""

    overrides: tuple[str, ...]
    own_overrides: tuple[str, ...]
    name: str


@dataclass
class SweepOutcome:
    """The result of a run: items by type, lost branches, the cost, and the scores of its evaluation."""

    run: SweepRun
    state: str = "built"
    units: int = 0
    types: Counter[str] = field(default_factory=Counter[str])
    dropped: int = 0
    failed: int = 0
    usd: float | None = 0.0
    error: str = ""
    scores: list[tuple[str, str, str, str, Any, Any, Any]] = field(default_factory=list[Any])
    """Task, table, model, column, value, and the bounds of its interval."""

    @property
    def items(self) -> int:
        """All items."""
        return self.types.total()


_RANGE = re.compile(r"range\((-?\d{1,9}),\s*(-?\d{1,9})(?:,\s*(-?\d{1,9}))?\)")


def sweep_runs(overrides: Sequence[str]) -> list[SweepRun]:
    """Every combination of the alternatives in `overrides`: ``key=a,b``, but not commas in brackets or quotes.

    RecipeError if there are more than `MOST_RUNS` runs, or two with the same folder.
    """
    choices: list[list[str]] = []
    for override in overrides:
        key, equals, value = override.partition("=")
        choices.append([f"{key}={choice}" for choice in split_alternatives(value)] if equals else [override])
    total = math.prod(map(len, choices))
    if total > MOST_RUNS:
        raise RecipeError([Problem(f"this sweep has {total} runs", where="command line", allowed=f"at most {MOST_RUNS}",
                                   hint="sweep over fewer values at once")])  # fmt: skip
    varied = [position for position, choice in enumerate(choices) if len(choice) > 1]
    owns = [tuple(combination[position] for position in varied) for combination in product(*choices)]
    if twice := [own for own, count in Counter(owns).items() if count > 1]:
        raise RecipeError([Problem("two runs of this sweep would build into one folder", where="command line",
                                   actual=" ".join(twice[0]), hint="give each value once")])  # fmt: skip
    uses = Counter(comparable_name(_folder_name(own)) for own in owns)  # some file systems know no capitals
    runs: list[SweepRun] = []
    for combination, own in zip(product(*choices), owns, strict=True):
        name = _folder_name(own)
        alone = uses[comparable_name(name)] == 1 and not is_reserved_name(name)
        suffix = "" if alone else "-" + hashlib.blake2b("\n".join(own).encode(), digest_size=3).hexdigest()
        runs.append(SweepRun(combination, own, name + suffix))
    return runs


def _folder_name(own_overrides: Sequence[str]) -> str:
    """The name of a folder, made of the values; it is not hidden and stays in the folder of the sweep."""
    values = (override.partition("=")[2] for override in own_overrides)
    parts = (re.sub(r"[^\w.]+", "_", value).strip("_.") or "empty" for value in values)
    return "-".join(parts)[:80] or "run"


def split_alternatives(value: str) -> list[str]:
    """The values between the commas of `value` that are outside brackets and quotes; ``range(1,3)`` means 1 and 2.

    >>> [split_alternatives(text) for text in ("1,2", "[a,b]", "[a],[a,b]", "'x,y'")]
    [['1', '2'], ['[a,b]'], ['[a]', '[a,b]'], ["'x,y'"]]
    >>> split_alternatives("range(1,6,2)"), split_alternatives("choice(a,b)")
    (['1', '3', '5'], ['a', 'b'])
    """
    if match := _RANGE.fullmatch(value):
        start, stop, step = (int(text) if text else 1 for text in match.groups())
        return [str(number) for number in range(start, stop, step or 1)] or [value]
    if value.startswith("choice(") and value.endswith(")"):
        value = value.removeprefix("choice(").removesuffix(")")
    parts, depth, quote = [""], 0, ""
    for position, mark in enumerate(value):
        if quote:
            quote = "" if mark == quote and value[position - 1] != "\\" else quote
        elif mark in _QUOTES:
            quote = mark
        elif mark in _OPEN:
            depth += 1
        elif mark in _CLOSE:
            depth -= 1
        elif mark == "," and not depth:
            parts.append("")
            continue
        parts[-1] += mark
    return parts


class Sweep:
    """Runs one after another below `folder`, with one journal: equal requests are paid once, a cap holds for all runs.

    A failed run is reported; the rest continue. A reached cap stops the sweep.
    """

    def __init__(self, folder: Path, runs: Sequence[SweepRun], recipes: Sequence[str] | None, cwd: Path) -> None:
        self.folder, self.runs, self.recipes, self.cwd = folder, tuple(runs), recipes, cwd

    def plan_run(self, run: SweepRun) -> tuple[LoadedRecipe, Plan, Store]:
        """The checked recipe of a run, its plan and its store."""
        place = self.folder / run.name
        loaded = load_recipe([*run.overrides, f"run.dir='{place}'"], recipes=self.recipes, cwd=self.cwd)
        check_recipe(loaded)
        store = Store(place, journal=self.folder / _JOURNAL)
        return loaded, plan_build(loaded.recipe, store), store

    def run(self, watcher: Watcher, *, evaluate: bool, on_start: Callable[[SweepRun], None]) -> list[SweepOutcome]:
        """Build every run, and evaluate it if wanted; the results in order."""
        check_links(self.folder)
        make_folder(self.folder)
        outcomes: list[SweepOutcome] = []
        for run in self.runs:
            on_start(run)
            outcome = SweepOutcome(run)
            outcomes.append(outcome)
            try:
                self._run_one(outcome, watcher, evaluate=evaluate)
            except BudgetReached as error:
                outcome.state, outcome.error = "stopped", str(error).splitlines()[0]
                break
            except BenchbuilderError as error:
                outcome.state, outcome.error = "failed", "; ".join(str(error).splitlines()[:2])
        return outcomes

    def _run_one(self, outcome: SweepOutcome, watcher: Watcher, *, evaluate: bool) -> None:
        run = outcome.run
        loaded, plan, store = self.plan_run(run)
        report = build_benchmark(plan, store, loaded.yaml, watcher, overrides=run.overrides)
        _record_build(outcome, report, plan, store)
        if not evaluate or report.waiting:
            return
        for part in loaded.by_task():
            if part.recipe.evaluation is None:
                continue
            evaluation = plan_evaluation(
                part, self.cwd, with_model=chooses_model(run.overrides), journal=self.folder / _JOURNAL
            )
            scored = build_benchmark(evaluation.plan, evaluation.store, part.yaml, watcher, keep_outputs=True)
            for file in scored.written_files:
                if file.suffix == ".json":
                    outcome.scores += _scores(part.task, file)


def _record_build(outcome: SweepOutcome, report: BuildReport, plan: Plan, store: Store) -> None:
    """Record the result of a build."""
    outcome.state = "waits" if report.waiting else "built"
    outcome.error = "; ".join(str(waiting).splitlines()[0] for waiting in report.waiting.values())
    for name, manifest in report.manifests.items():
        outcome.units += sum(n for *_, n in manifest.units)
        lost = Counter[str]()
        for _, row_outcome, _, n in manifest.counts:
            lost[row_outcome] += n
        outcome.dropped += lost["dropped"] if manifest.inputs else 0
        outcome.failed += lost["failed"]
        for task, part in plan.recipe.by_task().items():
            if name == part.items:
                rows = (cells_of(row).get("q-type", "") for row in store.rows(manifest))
                outcome.types.update(" ".join(filter(None, (task, kind))) or "items" for kind in rows)
    prices = [receipt.usd for receipt in report.receipts]
    outcome.usd = None if None in prices else sum(usd or 0.0 for usd in prices)


def _scores(task: str, file: Path) -> list[tuple[str, str, str, str, Any, Any, Any]]:
    """The figures over all items in the tables of means and metrics of a results file, for the evaluated models."""
    data: Any = read_json(file)
    scores: list[tuple[str, str, str, str, Any, Any, Any]] = []
    for sheet in data.get("tables", ()):
        if not str(sheet["name"]).startswith(_TABLES):
            continue
        keys = [column["key"] for column in sheet["columns"]]
        for line in sheet["lines"]:
            cells = dict(zip(keys, line["cells"], strict=True))
            for key, cell in cells.items() if line["block"] == "own" else ():
                if key in ("all", "accuracy") or key.startswith("all_"):
                    bounds = (cell.get("low"), cell.get("high"))
                    scores.append((task, sheet["name"], cells["model"]["words"], key, cell.get("value"), *bounds))
    return scores


# --- the table


def sweep_table(outcomes: Sequence[SweepOutcome]) -> tuple[list[str], list[list[str]]]:
    """Headings and lines of the table of runs."""
    types = list(dict.fromkeys(kind for outcome in outcomes for kind in outcome.types if kind != "items"))
    varied = [override.partition("=")[0] for override in outcomes[0].run.own_overrides] if outcomes else []
    head = ["run", *varied, "state", "source units", "items", *types, "dropped", "failed", "usd so far", "why"]
    lines: list[list[str]] = []
    for outcome in outcomes:
        values = [override.partition("=")[2] for override in outcome.run.own_overrides]
        by_type = (outcome.types[kind] for kind in types)
        counts = (outcome.units, outcome.items, *by_type, outcome.dropped, outcome.failed)
        usd = "unknown" if outcome.usd is None else f"{outcome.usd:.4f}"
        lines.append([outcome.run.name, *values, outcome.state, *map(str, counts), usd, outcome.error])
    return head, lines


def write_sweep_files(folder: Path, outcomes: Sequence[SweepOutcome]) -> list[Path]:
    """Write ``sweep.csv`` and ``sweep.md``, and ``sweep_scores.csv`` if anything was evaluated."""
    head, lines = sweep_table(outcomes)
    files = {"sweep.csv": csv_table(head, lines), "sweep.md": _markdown(head, lines)}
    scores = [[outcome.run.name, *map(_number_text, score)] for outcome in outcomes for score in outcome.scores]
    if scores:
        columns = ["run", "task", "table", "model", "column", "value", "low", "high"]
        files["sweep_scores.csv"] = csv_table(columns, scores)
    for name, text in files.items():
        write_atomically(folder / name, text)
    return [folder / name for name in files]


def _number_text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)


def first_sweep_failure(outcomes: Sequence[SweepOutcome]) -> DataError | None:
    """The error of a sweep if every run failed."""
    if any(outcome.state != "failed" for outcome in outcomes):
        return None
    return DataError("no run of this sweep could be built", why=outcomes[0].error if outcomes else "there are no runs",
                     next="try one of them alone: the same arguments without `sweep`, with one value each")  # fmt: skip
