"""Compares what trials make of rows with what a build of the same rules made of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from benchbuilder.core import Dropped, Failed, Kept, NotApplicable, Outcome, row_text
from benchbuilder.explorer.workbench.trial_bench import TrialBench, rule_outcomes
from benchbuilder.pipeline import filter_outcomes

Branch = tuple[str, str, str]
"""An outcome, its reason and the text that came out."""


def unequal_rows(overrides: list[str], folder: Path, step: str) -> tuple[int, dict[str, tuple[object, object]]]:
    """How many rows a step gets, and those of which a trial makes something else than the build in `folder` did."""
    bench = TrialBench(overrides, [], folder, step)
    manifest = bench.manifests[step]
    texts = {row.id: row_text(row) for row in bench.store.rows(manifest)}
    built: defaultdict[str, Counter[Branch]] = defaultdict(Counter)
    for line in filter_outcomes(bench.store.outcomes(manifest), port="each").to_pylist():
        text = texts[line["out"]] if line["out"] else ""
        built[line["row"]][str(line["outcome"]).replace(" ", "_"), line["reason"] or "", text] += 1
    unequal: dict[str, tuple[object, object]] = {}
    for row, parents in zip(bench.rows, bench.parents, strict=True):
        made = rule_outcomes(bench.base_step, row, parents, bench.reply_to)
        now = Counter(_branch(outcome) for outcome in made.outcomes)
        if now != built[row.id]:
            unequal[row.id] = now, built[row.id]
    return len(bench.rows), unequal


def _branch(outcome: Outcome) -> Branch:
    match outcome:
        case Kept():
            return "kept", "", row_text(outcome.row)
        case Dropped():
            return "dropped", outcome.reason, ""
        case NotApplicable():
            return "not_applicable", outcome.reason, ""
        case Failed():
            return "failed", outcome.error, ""
