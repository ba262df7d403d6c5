"""Sweeps: the same command over several recipes and settings, with one table of what came out."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from benchbuilder.config import LoadedRecipe, Recipe, load_recipe
from benchbuilder.core import BenchbuilderError, BudgetReached, DataError, Problem, RecipeError, cells_of
from benchbuilder.evaluation import chooses_model, plan_evaluation
from benchbuilder.pipeline import BuildReport, Checksums, Plan, Store, Watcher, build_benchmark, check_recipe, make_plan

MOST_RUNS = 200
"""Runs of one sweep: more are a slip of the hand."""
_OPEN, _CLOSE, _QUOTES = "[{(", "]})", "'\""
_TABLES = ("metric_", "means_", "verdicts_")
_JOURNAL = "replies.sqlite"


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep: its words, which of them are its own, and the name of its folder, which these give it."""

    overrides: tuple[str, ...]
    own_overrides: tuple[str, ...]
    name: str


@dataclass
class SweepOutcome:
    """What came of a run: rows by type of item, lost branches, what was paid, the scores of its evaluation."""

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


def sweep_runs(overrides: Sequence[str]) -> list[SweepRun]:
    """Every combination of the alternatives in `overrides` (``key=a,b``; commas within brackets or quotes separate
    none).

    RecipeError if there are more than `MOST_RUNS`, or if two would build into one folder.
    """
    choices: list[list[str]] = []
    for word in overrides:
        key, equals, value = word.partition("=")
        values = split_alternatives(value) if equals else [value]
        choices.append([f"{key}={one}" for one in values] if equals else [word])
    total = 1
    for choice in choices:
        total *= len(choice)
    if total > MOST_RUNS:
        raise RecipeError([Problem(f"this sweep has {total} runs", where="command line", allowed=f"at most {MOST_RUNS}",
                                   hint="sweep over fewer values at once")])  # fmt: skip
    varied = [place for place, choice in enumerate(choices) if len(choice) > 1]
    owns = [tuple(one[place] for place in varied) for one in product(*choices)]
    if twice := [own for own, count in Counter(owns).items() if count > 1]:
        raise RecipeError([Problem("two runs of this sweep would build into one folder", where="command line",
                                   actual=" ".join(twice[0]), hint="give each value once")])  # fmt: skip
    slugs = Counter(map(_folder_name, owns))
    return [
        SweepRun(words, own, name if slugs[name := _folder_name(own)] == 1 else f"{name}-{_distinguishing_suffix(own)}")
        for words, own in zip(product(*choices), owns, strict=True)
    ]


def _folder_name(own_overrides: Sequence[str]) -> str:
    """The name of a folder, by values: within the folder of the sweep, and visible."""
    parts = (re.sub(r"[^\w.]+", "_", word.partition("=")[2]).strip("_.") or "empty" for word in own_overrides)
    return "-".join(parts)[:80] or "run"


def _distinguishing_suffix(own_overrides: Sequence[str]) -> str:
    """What tells runs apart whose values read alike."""
    return hashlib.blake2b("\n".join(own_overrides).encode(), digest_size=3).hexdigest()


def split_alternatives(value: str) -> list[str]:
    """The values between the commas of `value` that stand in no brackets or quotes.

    >>> [split_alternatives(text) for text in ("1,2", "[a,b]", "[a],[a,b]", "'x,y'")]
    [['1', '2'], ['[a,b]'], ['[a]', '[a,b]'], ["'x,y'"]]
    """
    parts, depth, quote = [""], 0, ""
    for place, mark in enumerate(value):
        if quote:
            quote = "" if mark == quote and value[place - 1] != "\\" else quote
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
    """Runs one after another below `folder`, with one journal: an equal request is paid for once, and a cap of the
    budget holds for all runs together. A run that cannot be built is told of and the others go on; a cap that is
    reached stops the sweep."""

    def __init__(self, folder: Path, runs: Sequence[SweepRun], recipes: Sequence[str] | None, cwd: Path) -> None:
        self.folder, self.runs, self.recipes, self.cwd = folder, tuple(runs), recipes, cwd

    def plan_run(self, run: SweepRun) -> tuple[LoadedRecipe, Plan, Store]:
        """The checked recipe of a run, its plan and its store."""
        place = self.folder / run.name
        loaded = load_recipe([*run.overrides, f"run.dir='{place}'"], recipes=self.recipes, cwd=self.cwd)
        check_recipe(loaded)
        store = self._store(place)
        return loaded, _plan(loaded.recipe, store), store

    def _store(self, place: Path) -> Store:
        return Store(place, journal=self.folder / _JOURNAL)

    def run(self, watcher: Watcher, *, evaluate: bool, on_start: Callable[[SweepRun], None]) -> list[SweepOutcome]:
        """Build every run, and evaluate it if wanted; what came out, in order."""
        self.folder.mkdir(parents=True, exist_ok=True)
        found: list[SweepOutcome] = []
        for run in self.runs:
            on_start(run)
            outcome = SweepOutcome(run)
            found.append(outcome)
            try:
                self._run_one(outcome, watcher, evaluate=evaluate)
            except BudgetReached as error:
                outcome.state, outcome.error = "stopped", str(error).splitlines()[0]
                break
            except BenchbuilderError as error:
                outcome.state, outcome.error = "failed", "; ".join(str(error).splitlines()[:2])
        return found

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


def _plan(recipe: Recipe, store: Store) -> Plan:
    checksums = Checksums(store.checksums)
    plan = make_plan(recipe, store, checksums.sha256_of)
    checksums.save()
    return plan


def _record_build(outcome: SweepOutcome, report: BuildReport, plan: Plan, store: Store) -> None:
    """What a build came to."""
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
    """The figures over all items of every own line of the tables of means and metrics in a results file."""
    data: Any = json.loads(file.read_text(encoding="utf-8"))
    found: list[tuple[str, str, str, str, Any, Any, Any]] = []
    for sheet in data.get("tables", ()):
        if not str(sheet["name"]).startswith(_TABLES):
            continue
        keys = [column["key"] for column in sheet["columns"]]
        for line in sheet["lines"]:
            cells = dict(zip(keys, line["cells"], strict=True))
            for key, cell in cells.items() if line["block"] == "own" else ():
                if key in ("all", "accuracy") or key.startswith("all_"):
                    bounds = (cell.get("low"), cell.get("high"))
                    found.append((task, sheet["name"], cells["model"]["words"], key, cell.get("value"), *bounds))
    return found


# --- the table


def sweep_table(outcomes: Sequence[SweepOutcome]) -> tuple[list[str], list[list[str]]]:
    """Headings and lines of the table of runs."""
    types = list(dict.fromkeys(kind for one in outcomes for kind in one.types if kind != "items"))
    varied = [word.partition("=")[0] for word in outcomes[0].run.own_overrides] if outcomes else []
    head = ["run", *varied, "state", "source units", "items", *types, "dropped", "failed", "usd so far", "why"]
    lines: list[list[str]] = []
    for one in outcomes:
        values = [word.partition("=")[2] for word in one.run.own_overrides]
        counts = [str(one.types[kind]) for kind in types]
        usd = "unknown" if one.usd is None else f"{one.usd:.4f}"
        lines.append([one.run.name, *values, one.state, str(one.units), str(one.items), *counts, str(one.dropped),
                      str(one.failed), usd, one.error])  # fmt: skip
    return head, lines


def write_sweep_files(folder: Path, outcomes: Sequence[SweepOutcome]) -> list[Path]:
    """Write ``sweep.csv`` and ``sweep.md``, and ``sweep_scores.csv`` if anything was evaluated."""
    head, lines = sweep_table(outcomes)
    files = {"sweep.csv": _csv(head, lines), "sweep.md": _markdown(head, lines)}
    scores = [[one.run.name, *map(_text, score)] for one in outcomes for score in one.scores]
    if scores:
        columns = ["run", "task", "table", "model", "column", "value", "low", "high"]
        files["sweep_scores.csv"] = _csv(columns, scores)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _csv(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([head, *lines])
    return stream.getvalue()


def _markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)


def first_sweep_failure(outcomes: Sequence[SweepOutcome]) -> DataError | None:
    """The error to end a sweep with of which no run could be built."""
    if any(one.state != "failed" for one in outcomes):
        return None
    return DataError("no run of this sweep could be built", why=outcomes[0].error if outcomes else "there are no runs",
                     next="try one of them alone: the same arguments without `sweep`, with one value each")  # fmt: skip
