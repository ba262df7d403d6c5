"""How long pages of the explorer take for 50,000 items that ten systems answered, and how much memory its server needs.

    python performance/explorer_items.py [--quick] [--items 50000] [--folder DIR]

See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from explorer_pages import PASSES, Reader, timed

from benchbuilder.core import Table, row_class
from benchbuilder.pipeline import Manifest, Shard, Store

ITEMS, QUICK_ITEMS, PART_ROWS = 50_000, 2_000, 50_000
SMALL_BUILDS = 4
"""So many builds of the sample are open beside the large one."""
START_MS, PAGE_MS, FIRST_RESULTS_MS, MATRIX_MS, MEMORY_MB = 3000.0, 150.0, 3000.0, 200.0, 500.0
"""The targets: start to first page, any page, the first page that reads the results, scores by item (all but the first
and third the 95th percentile), and the memory of the server."""
MATRIX = "answers"
GROWN = re.compile("^(item|answer|score)-[0-9a-f]{6}")
"""Ids that begin so get the number of the copy, in the place of their first digits."""
ANY = re.compile("^([a-z]+)-[0-9a-f]{6}")
"""Any id."""
_compute: Any = pc


def copied(table: pa.Table, number: int, also: Sequence[str] = ()) -> pa.Table:
    """The rows of a table as copy `number`: its items, answers and scores, and columns `also`, have other ids."""
    if not number:
        return table
    for name in dict.fromkeys(("id", "of", "item", "row", "out", "parents", *also)):
        if name in table.column_names:
            column: Any = table.column(name).combine_chunks()
            field = table.schema.get_field_index(name)
            table = table.set_column(
                field, table.schema.field(name), _renamed(column, number, ANY if name in also else GROWN)
            )
    return table


def _renamed(column: Any, number: int, grown: re.Pattern[str]) -> Any:
    if pa.types.is_list(column.type):
        return pa.ListArray.from_arrays(column.offsets, _renamed(column.values, number, grown), type=column.type)
    return _compute.replace_substring_regex(column, pattern=grown.pattern, replacement=rf"\1-{number:06x}")


def grow_step(
    store: Store, manifest: Manifest, copies: int, also: Sequence[str] = (),
    change: Callable[[pa.Table, int], pa.Table] | None = None, first: int = 0,
) -> None:  # fmt: skip
    """Put a step with so many copies of each row in the place of a step, from copy `first` on.

    `change` changes the rows of a copy.
    """
    rows, outcomes = store.rows(manifest).arrow, store.outcomes(manifest)
    shutil.rmtree(store.step_folder(manifest.step, manifest.key))
    draft = store.draft(manifest.step, manifest.key, {"rows": copies})
    at_once = max(1, PART_ROWS // max(1, rows.num_rows))
    shards = -(-copies // at_once)
    counts: Counter[tuple[str, str, str]] = Counter()
    for shard in range(shards):
        numbers = range(first + shard * at_once, first + min(copies, (shard + 1) * at_once))
        copies_of_rows = [copied(rows, number, also) for number in numbers]
        if change is not None:
            copies_of_rows = [change(copy, number) for copy, number in zip(copies_of_rows, numbers, strict=True)]
        made = Shard(
            Table(pa.concat_tables(copies_of_rows).combine_chunks(), row_class(manifest.row)),
            pa.concat_tables([copied(outcomes, number, also) for number in numbers]).combine_chunks(),
        )  # fmt: skip
        draft.commit_shard(shard, made)
        counts += made.counts()
    lines = tuple((*names, n) for names, n in sorted(counts.items()))
    more = {"rows": rows.num_rows * copies, "shards": shards, "counts": lines, "files": {}}
    draft.commit_step(manifest.model_copy(update=more))


def grow_results(file: Path, copies: int) -> None:
    """Repeat the items and scores of a results file."""
    data = json.loads(file.read_text("utf-8"))
    items: list[list[Any]] = data["items"]
    data["items"] = [
        [GROWN.sub(rf"\1-{n:06x}", line[0]) if n else line[0], *line[1:]] for n in range(copies) for line in items
    ]
    for entry in data["scores"]:
        entry["values"] = {name: values * copies for name, values in entry["values"].items()}
    file.write_text(json.dumps(data, ensure_ascii=False), "utf-8")


def write_builds(folder: Path, items: int) -> None:
    """Build and evaluate the bundled sample; copy it, and grow one of the copies."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    sample = folder / "small_0"
    for words in (["recipe=care_mi"], ["evaluate", "recipe=care_mi"]):
        command = [sys.executable, "-m", "benchbuilder", *words, f"run.dir={sample}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    for number in range(1, SMALL_BUILDS):
        shutil.copytree(sample, folder / f"small_{number}")
    large = shutil.copytree(sample, folder / "large")
    store = Store(large, sync=False)
    manifest = store.latest("items")
    assert manifest is not None
    copies = -(-items // manifest.rows)
    grow_step(store, manifest, copies)
    evaluation = Store(large / "evaluation", sync=False)
    for step in sorted(path.name for path in evaluation.steps.iterdir()):
        of_step = evaluation.latest(step)
        if of_step is not None and of_step.row in ("answer", "score"):
            grow_step(evaluation, of_step, copies)
    grow_results(large / "evaluation" / "results.json", copies)


def measure(folder: Path, cache: Path, passes: int = PASSES) -> dict[str, dict[str, float]]:
    """The times of each kind of page: the first time, the median, the 95th percentile and the most memory."""
    store, base = Store(folder / "large"), "/b/large"
    manifest = store.latest("items")
    assert manifest is not None
    ids = store.rows(manifest).ids()
    late = ids[-1:-2000:-100]
    pages: dict[str, Callable[[int], str]] = {
        "builds": lambda _: "/",
        "flow": lambda _: f"{base}/",
        "rows of the items": lambda _: f"{base}/rows?step=items",
        "rows: filter by source": lambda _: f"{base}/rows?step=items&source=cpubmed",
        "rows: search": lambda _: f"{base}/rows?step=items&q={quote('糖尿病')}",
        "items": lambda _: f"{base}/items",
        "items: far behind": lambda n: f"{base}/items?at={len(ids) - 100 - n}",
        "items: filter": lambda _: f"{base}/items?source=bios",
        "items: search": lambda _: f"{base}/items?q={quote('糖尿病')}",
        "an early item": lambda n: f"{base}/items/{ids[n]}",
        "a late item": lambda n: f"{base}/items/{late[n % len(late)]}",
        "row of a late item": lambda n: f"{base}/row/{late[n % len(late)]}",
        MATRIX: lambda _: f"{base}/answers",
        "answers: all wrong": lambda _: f"{base}/answers?measure=chrf_right.similarity&wrong=all",
        "answers: the worst": lambda _: f"{base}/answers?measure=chrf_right.similarity&sort=worst",
        "answers: two systems": lambda _: f"{base}/answers?left=model_jia&right=model_bing",
        "answers to a late item": lambda n: f"{base}/answers/{late[n % len(late)]}",
    }
    began = time.perf_counter()
    reader = Reader(folder, cache)
    try:
        figures = {"start": {"first": (time.perf_counter() - began) * 1000}}
        for page, address in pages.items():
            figures[page] = timed(reader, page, address, passes)
    finally:
        reader.close()
    return figures


def missed(figures: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Which targets are missed."""
    memory = max(figure.get("memory_mb", 0.0) for figure in figures.values())
    checks = [("start to first page", figures["start"]["first"], START_MS), ("memory", memory, MEMORY_MB),
              ("first page of answers", figures[MATRIX]["first"], FIRST_RESULTS_MS)]  # fmt: skip
    checks += [(name, figure["p95"], MATRIX_MS if name == MATRIX else PAGE_MS)
               for name, figure in figures.items() if "p95" in figure]  # fmt: skip
    return [f"{name}: {value:.0f}, at most {most:.0f}" for name, value, most in checks if value > most]


def main(argv: Sequence[str] | None = None) -> int:
    """Write builds, measure, and say which targets are missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ITEMS:,} items; shows that everything runs")
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--folder", type=Path, help="where the builds are written, or stay from before")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary) / "builds"
        if not (folder / "large").is_dir():
            began = time.perf_counter()
            write_builds(folder, QUICK_ITEMS if args.quick else args.items)
            print(f"the builds were written in {time.perf_counter() - began:.0f} s", flush=True)
        figures = measure(folder, Path(temporary) / "cache")
        print(f"start to first page: {figures['start']['first']:.0f} ms")
    problems = missed(figures)
    print("\n".join(problems) or "every target is met")
    return 1 if problems and not args.quick else 0


if __name__ == "__main__":
    sys.exit(main())
