"""How many rows a second and core each step that goes row by row makes: statements, negations, questions.

    python performance/row_steps.py [--quick] [--folder DIR]

See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
from pathlib import Path

from rule_trials import write_questions
from scale import builds

from benchbuilder.cli.dispatch import main as benchbuild
from benchbuilder.config import load_recipe
from benchbuilder.pipeline import Checksums, Manifest, Node, Store, make_plan
from benchbuilder.pipeline.node_inputs import port_files, step_job_of
from benchbuilder.pipeline.shards.work import plan_shards
from benchbuilder.pipeline.shards.worker import ShardWorker
from benchbuilder.steps import Filter, Map

ROWS, QUICK_ROWS, ROUNDS = 5_000, 500, 5
LEAST = 5_000
"""Statements, negations and questions by rule: so many rows a second and core are wanted."""
WRITERS = ("state_choice", "negate", "ask_tf", "ask_oe")


def measure(folder: Path, rows: int) -> dict[str, tuple[str, int, float]]:
    """Of each step by name: its kind, its rows, and the rows that it takes in a second of processor time."""
    words = [*builds.RECIPE, *write_questions(folder, rows)[1:]]
    build = folder / "build"
    with contextlib.redirect_stdout(io.StringIO()):
        code = benchbuild([*words, "run.workers=1", f"run.dir={build}"])
    if code:
        raise SystemExit(f"the build ended with {code}")
    store, manifests = Store(build), dict[str, Manifest]()
    plan = make_plan(load_recipe(words).recipe, store, Checksums(store.checksums).sha256_of)
    figures: dict[str, tuple[str, int, float]] = {}
    for node in plan.nodes.values():
        manifest = store.manifest(node.name, node.key)
        if manifest is None:
            raise SystemExit(f"{node.name} is not in the build")
        manifests[node.name] = manifest
        if isinstance(node.producer, Map | Filter):
            figures[node.name] = (node.producer.kind, *_rows_a_second(node, store, manifests))
    return figures


def _rows_a_second(node: Node, store: Store, manifests: dict[str, Manifest]) -> tuple[int, float]:
    files = port_files(node, "each", store, manifests)
    table = plan_shards(files.row, files.parts, ROWS).table(0)
    job = step_job_of(node, store, manifests)
    job.step.prepare(job.lookups())
    worker, seconds = ShardWorker(job), list[float]()
    for _ in range(ROUNDS):
        begin = time.process_time()
        worker.run(table)
        seconds.append(time.process_time() - begin)
    return table.num_rows, table.num_rows / min(seconds)


def main() -> int:
    """Measure, and print a table and what is too slow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rows, rough numbers")
    parser.add_argument("--folder", type=Path, help="where to build; else a temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures = measure(folder, QUICK_ROWS if given.quick else ROWS)
    print("| step | kind | rows | rows a second |\n| --- | --- | ---: | ---: |")
    for name, (kind, rows, speed) in figures.items():
        print(f"| {name} | {kind} | {rows:,} | {speed:,.0f} |")
    slow = [name for name, (kind, _, speed) in figures.items() if kind in WRITERS and speed < LEAST]
    print(f"fewer than {LEAST:,} rows a second: {', '.join(slow)}" if slow else "the target is met")
    return 1 if slow and not given.quick else 0


if __name__ == "__main__":
    sys.exit(main())
