"""How long pages of the explorer take for a build of millions of rows, and how much memory its server needs.

    python performance/explorer_pages.py [--quick] [--rows 10000000] [--folder DIR]

See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import http.cookiejar
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute as pc

from benchbuilder.core import Table, row_class, schema_of
from benchbuilder.explorer.reading.step_indexes import LARGE_STEP
from benchbuilder.pipeline import OUTCOME_SCHEMA, Manifest, Shard, Store

ROWS, QUICK_ROWS, PART_ROWS = 10_000_000, 200_000, 50_000
SOURCES, RARE = 10, 9_973
"""The facts are of so many sources, one after the other; one fact in `RARE` is lost for a rare reason."""
LOST_EVERY = 5
PASSES = 15
TARGETS_MS = {
    "rows: first page": 1000.0, "filter by source": 300.0, "filter by outcome": 300.0, "filter by a rare reason": 300.0,
    "search: first 50": 250.0, "row": 2500.0, "row, with the index": 300.0,
}  # fmt: skip
"""The most that the 95th percentile of a page may take."""
COUNT_MS, MEMORY_MB = 6000.0, 500.0
"""The most that the count of a search may take, and that the server may need."""
INDEXES = 2
"""The columns of ids that the page of a fact looks into: of facts, and of their outcomes."""
SAMPLE = Path(__file__).parents[1] / "recipes/recipe/care_mi/sample/cpubmed.tsv"
SOURCE, STEP = "facts", "state"


def pools() -> tuple[pa.Array[Any], pa.Array[Any], pa.Array[Any]]:
    """Heads, relations and tails of the bundled sample."""
    lines = [line.split("\t") for line in SAMPLE.read_text("utf-8").splitlines()]
    triples = [[cell.partition("@@")[0] for cell in line] for line in lines if len(line) == 3]
    heads, relations, tails = (pa.array([triple[place] for triple in triples], pa.string()) for place in range(3))
    return heads, relations, tails


def ids(name: str, first: int, count: int) -> list[str]:
    """Ids as content ids look: without any order."""
    factor, modulus = 0x9E3779B97F4A7C15F39CC060 | 1, 1 << 80
    return [f"{name}-{(number * factor) % modulus:020x}" for number in range(first, first + count)]


def filled(schema: pa.Schema, columns: Mapping[str, Any], count: int) -> pa.Table:
    """A table of this schema: `columns`, and empty values for all others."""
    arrays = [_column(field.name, field.type, columns, count) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _column(name: str, kind: pa.DataType, columns: Mapping[str, Any], count: int) -> Any:
    if name in columns:
        return columns[name]
    if pa.types.is_struct(kind):
        parts = [kind.field(place) for place in range(kind.num_fields)]
        arrays = [_column(f"{name}.{part.name}", part.type, columns, count) for part in parts]
        return pa.StructArray.from_arrays(arrays, fields=parts)
    if pa.types.is_string(kind):
        return pa.array([""] * count, kind)
    if pa.types.is_list(kind):
        return pa.array([[]] * count, kind)
    return pa.array([False if pa.types.is_boolean(kind) else 0] * count, kind)


def part_of_facts(first: int, count: int, sources: int, parts: tuple[Any, Any, Any]) -> tuple[pa.Table, pa.Table]:
    """Facts, and the outcomes of the lines that they come from."""
    numbers = np.arange(first, first + count)
    heads, relations, tails = (
        pool.take(pa.array((numbers * step // 7) % len(pool)))
        for pool, step in zip(parts, (3, 5, 11), strict=True)
    )  # fmt: skip
    names = ids("fact", first, count)
    source = pa.array([f"source_{first // PART_ROWS % sources}"] * count)
    lines = pa.array(numbers + 1, pa.int64())
    shared = {"id": pa.array(names), "partition": source, "origin.file": pa.array(["facts.tsv"] * count),
              "origin.line": lines, "language": pa.array(["zh"] * count)}  # fmt: skip
    payload = {"payload.head": heads, "payload.relation": relations, "payload.tail": tails}
    table = filled(schema_of(row_class("fact[triple]")), shared | payload, count)
    outcomes = {"port": pa.array(["file"] * count), "outcome": pa.array(["kept"] * count), "out": pa.array(names),
                "partition": source, "file": pa.array(["facts.tsv"] * count), "line": lines}  # fmt: skip
    return table, filled(OUTCOME_SCHEMA, outcomes, count)


def part_of_statements(facts: pa.Table, first: int) -> tuple[pa.Table, pa.Table]:
    """Statements of four facts in five, and the outcome of each fact."""
    count = facts.num_rows
    numbers = np.arange(first, first + count)
    lost, rare = numbers % LOST_EVERY == 0, numbers % RARE == 1
    kept = ~lost & ~rare
    payload: Any = facts.column("payload").combine_chunks()
    texts = pc.binary_join_element_wise(payload.field("head"), "的", payload.field("relation"), "是",
                                        payload.field("tail"), "。", "")  # fmt: skip
    every, mask = ids("statement", first, count), pa.array(kept)
    left: Any = facts.filter(mask)
    names, parents = pa.array(every).filter(mask), left.column("id").combine_chunks()
    producer = pa.array([{"rule": "state", "version": "1"}] * len(names), facts.schema.field("produced_by").type)
    lists = pa.array([[row] for row in parents.to_pylist()], facts.schema.field("parents").type)
    header = {name: left.column(name).combine_chunks() for name in ("partition", "origin", "language")}
    columns = {"id": names, "text": texts.filter(mask), "of": parents, "fact": parents, "parents": lists,
               "polarity": pa.array(["true"] * len(names)),
               "joined": pa.array(["template"] * len(names)), "produced_by": producer, **header}  # fmt: skip
    table = filled(schema_of(row_class("statement")), columns, len(names))
    reasons = np.where(rare, "rare_reason", np.where(lost, "needs_model", ""))
    origin: Any = facts.column("origin").combine_chunks()
    outcomes = {
        "port": pa.array(["each"] * count), "row": facts.column("id").combine_chunks(),
        "outcome": pa.array(np.where(kept, "kept", "dropped").tolist()), "reason": pa.array(reasons.tolist()),
        "out": pa.array(np.where(kept, np.array(every), "").tolist()),
        "partition": facts.column("partition").combine_chunks(), "file": origin.field("file"),
        "line": origin.field("line"),
    }  # fmt: skip
    return table, filled(OUTCOME_SCHEMA, outcomes, count)


def write_build(folder: Path, rows: int) -> None:
    """Write a build of two steps with so many facts; nothing of it is recorded as outputs."""
    store, parts = Store(folder, sync=False), pools()
    drafts = {name: store.draft(name, f"{name}key" * 8, {"rows": rows}) for name in (SOURCE, STEP)}
    counts: dict[str, Counter[tuple[str, str, str]]] = {SOURCE: Counter(), STEP: Counter()}
    kept, shards = 0, -(-rows // PART_ROWS)
    for shard in range(shards):
        first, count = shard * PART_ROWS, min(PART_ROWS, rows - shard * PART_ROWS)
        facts = part_of_facts(first, count, SOURCES, parts)
        statements = part_of_statements(facts[0], first)
        kept += statements[0].num_rows
        for name, row, (table, outcomes) in ((SOURCE, "fact[triple]", facts), (STEP, "statement", statements)):
            made = Shard(Table(table, row_class(row)), outcomes)
            drafts[name].commit_shard(shard, made)
            counts[name] += made.counts()
    shapes = {SOURCE: ("triples", "fact[triple]", rows, {}, {}),
              STEP: ("state_triple", "statement", kept, {"order of port each": SOURCE},
                     {SOURCE: f"digest of {rows}"})}  # fmt: skip
    for name, (kind, row, made, key_inputs, inputs) in shapes.items():
        lines = tuple((*names, n) for names, n in sorted(counts[name].items()))
        drafts[name].commit_step(Manifest(
            step=name, kind=kind, row=row, key=f"{name}key" * 8, key_inputs=key_inputs, inputs=inputs,
            digest=f"digest of {rows}", outcomes="", rows=made, shards=shards, counts=lines,
            units=(("facts.tsv", "kept", "", rows),) if name == SOURCE else (),
            reasons={"needs_model": "No rule applies.", "rare_reason": "A rare one."},
        ))  # fmt: skip
    (folder / "recipe.yaml").write_text(
        f"name: huge\nsources: {{{SOURCE}: {{}}}}\nsteps: {{{STEP}: {{}}}}\nitems: {STEP}\n"
    )


class Reader:
    """A browser at a server of the explorer in a process of its own."""

    def __init__(self, folder: Path, cache: Path, *words: str) -> None:
        command = [sys.executable, "-m", "benchbuilder", "view", str(folder), "--no-browser", *words]
        environment = {**os.environ, "BENCHBUILDER_CACHE": str(cache)}
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        line = self.server.stdout.readline() if self.server.stdout else ""
        found = re.search(r"(http://[^ ]+/)enter/\S+", line)
        if found is None:
            raise SystemExit(f"the server did not start: {line}")
        self.base = found[1].rstrip("/")
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())).open
        self._open(found[0]).read()

    def milliseconds(self, path: str) -> float:
        """How long a page takes."""
        began = time.perf_counter()
        self._open(self.base + path).read()
        return (time.perf_counter() - began) * 1000

    def text(self, path: str) -> str:
        """A page."""
        return self._open(self.base + path).read().decode()

    def memory_mb(self) -> float:
        """The memory of the server."""
        return psutil.Process(self.server.pid).memory_info().rss / 1e6

    def processor_ms(self) -> float:
        """The processor time that the server has used."""
        times = psutil.Process(self.server.pid).cpu_times()
        return (times.user + times.system) * 1000

    def close(self) -> None:
        """Stop the server."""
        self.server.terminate()
        self.server.wait()


def measure(folder: Path, rows: int, cache: Path, passes: int = PASSES) -> dict[str, dict[str, float]]:
    """The times of each kind of page: the first time, the median, the 95th percentile and the most memory."""
    name = quote(folder.name)
    base, middle = f"/b/{name}", -(-rows // PART_ROWS) // 2

    def row_address(number: int) -> str:
        return f"{base}/row/{ids('fact', (number * 7_919 + rows // 2) % rows, 1)[0]}"

    pages: dict[str, Callable[[int], str]] = {
        "builds": lambda _: "/",
        "flow": lambda _: f"{base}/",
        "rows: first page": lambda _: f"{base}/rows?step={STEP}",
        "rows: page deep inside": lambda n: f"{base}/rows?step={STEP}&after={middle + n}.700",
        "filter by source": lambda n: f"{base}/rows?step={STEP}&source=source_{n % SOURCES}",
        "filter by outcome": lambda _: f"{base}/rows?step={STEP}&outcome=dropped",
        "filter by a rare reason": lambda _: f"{base}/rows?step={STEP}&reason=rare_reason",
        "search: first 50": lambda _: f"{base}/rows?step={STEP}&q={quote('糖尿病')}",
        "search: regular expression": lambda _: f"{base}/rows?step={STEP}&re=1&q={quote('糖尿病.{0,6}胰岛素')}",
        "sample": lambda n: f"{base}/rows?step={STEP}&sample={n}",
        "row": row_address,
    }
    figures: dict[str, dict[str, float]] = {}
    reader = Reader(folder, cache, "--read-only")  # which makes no index
    try:
        for page, address in pages.items():
            slow = page in ("row", "sample", "search: regular expression")
            figures[page] = timed(reader, page, address, 4 if slow else passes)
        figures["search: count"] = {"first": _count(reader, f"{base}/count?step={STEP}&q={quote('糖尿病')}")}
        print(f"{'search: count':<28} {figures['search: count']['first']:.0f} ms")
    finally:
        reader.close()
    reader = Reader(folder, cache)
    try:
        reader.text(row_address(0))
        while rows > LARGE_STEP and len(list(cache.glob("ids/*.ids"))) < INDEXES:
            time.sleep(0.2)
        figures["row, with the index"] = timed(reader, "row, with the index", row_address, passes)
    finally:
        reader.close()
    return figures


def timed(reader: Reader, page: str, address: Callable[[int], str], passes: int) -> dict[str, float]:
    """Read a page so often, print how long that took, and return it."""
    times = [reader.milliseconds(address(0))]
    before = reader.processor_ms()
    times += [reader.milliseconds(address(number)) for number in range(1, passes)]
    later = sorted(times[1:])
    figures = {"first": times[0], "median": statistics.median(later), "p95": later[int(len(later) * 0.95)],
               "processor": (reader.processor_ms() - before) / len(later), "memory_mb": reader.memory_mb()}  # fmt: skip
    print(f"{page:<28} {json.dumps({key: round(value, 1) for key, value in figures.items()})}", flush=True)
    return figures


def _count(reader: Reader, address: str) -> float:
    began, part = time.perf_counter(), 0
    while part is not None:
        part = json.loads(reader.text(f"{address}&part={part}"))["next"]
    return (time.perf_counter() - began) * 1000


def missed(figures: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Which targets are missed."""
    memory = max(figure.get("memory_mb", 0.0) for figure in figures.values())
    checks = [(name, figures[name]["p95"], most) for name, most in TARGETS_MS.items()]
    checks += [("search: count", figures["search: count"]["first"], COUNT_MS), ("memory", memory, MEMORY_MB)]
    return [f"{name}: {value:.0f}, at most {most:.0f}" for name, value, most in checks if value > most]


def main(argv: Sequence[str] | None = None) -> int:
    """Write a build, measure, and say which targets are missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows; shows that everything runs")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--folder", type=Path, help="where the build is written, or stays from before")
    args = parser.parse_args(argv)
    rows = QUICK_ROWS if args.quick else args.rows
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary) / "huge"
        if not (folder / "recipe.yaml").is_file():
            began = time.perf_counter()
            write_build(folder, rows)
            print(f"{rows:,} facts were written in {time.perf_counter() - began:.0f} s", flush=True)
        problems = missed(measure(folder, rows, Path(temporary) / "cache"))
    print("\n".join(problems) or "every target is met")
    return 1 if problems and not args.quick else 0


if __name__ == "__main__":
    sys.exit(main())
