"""How fast `swap_triple` finds partners, and how much memory it takes: 10,000 facts with every bar.

    python performance/swaps.py [--quick] [--facts 10000 1000000] [--relations 10] [--data DIR]

The graph is generated: concepts with several ends each, popular and rare ones, of syllables that many names share. The
rows are written to files first. The step then runs in a process of its own and reads them as in a build: its peak is
that of the resident memory, with Python and its libraries. See README.md for what the numbers mean. 1 if the target is
missed (never with --quick).
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Passage, Statement
from benchbuilder.core.records.row import Origin, ProducedBy, Span
from benchbuilder.pipeline.accounting.gathers import gather_shards
from benchbuilder.pipeline.memory import peak_memory_mb, reset_peak_memory
from benchbuilder.pipeline.shards.worker import StoredTable
from benchbuilder.steps.swap_triple import SwapTriple
from benchbuilder.steps.swapping.spec import SwapTripleSpec

TARGET = 30.0
"""Seconds of processor for 10,000 facts."""
SEED = 20_240_101
SPEC: dict[str, Any] = {
    "kind": "swap_triple", "from": "rows", "relations": {}, "partner": "far", "unit": "characters",
    "inverse_suffix": "", "ignore": "。，",
    "bar": {
        "known": True, "any_relation": True, "synonyms": [], "generic": ["^无"],
    },
}  # fmt: skip
ROW_CLASSES: dict[str, Any] = {"each": Statement, "fact": Fact[Triple], "passages": Passage}
PART_ROWS = 25_000
Edge = tuple[str, str, str]


def header(line: int) -> dict[str, Any]:
    """The header of a generated row."""
    return {"origin": Origin(file="made.tsv", line=line), "produced_by": ProducedBy(rule="made"), "language": "zh",
            "partition": "made"}  # fmt: skip


def made_edges(count: int, relations: int) -> list[Edge]:
    """Head, relation and tail of facts, of concepts that have some ends each; few ends are popular."""
    draw = random.Random(SEED)
    signs = [chr(0x4E00 + number) for number in range(3_000)]

    def name(shortest: int, longest: int) -> str:
        length = draw.randint(shortest, longest)
        return "".join(signs[int(len(signs) * draw.random() ** 2)] for _ in range(length))

    heads = [name(3, 7) for _ in range(max(count // 4, 2))]
    tails = [name(2, 8) for _ in range(count)]
    edges: dict[Edge, None] = {}
    while len(edges) < count:
        tail = tails[int(len(tails) * draw.random() ** 1.3)]
        edges[draw.choice(heads), f"关系{draw.randrange(relations)}", tail] = None
    return list(edges)


def facts_of(edges: Sequence[Edge], first: int) -> list[Fact[Triple]]:
    """The facts of some triples; the first of them is on line `first`."""
    return [
        Fact[Triple].build(payload=Triple(head=head, relation=relation, tail=tail, tail_type="类"), **header(line))
        for line, (head, relation, tail) in enumerate(edges, first)
    ]


def stated(fact: Fact[Triple]) -> Statement:
    """The true statement of a fact."""
    triple = fact.payload
    text = f"{triple.head}的{triple.relation}包括{triple.tail}。"
    return Statement.child(
        fact, produced_by=fact.produced_by, polarity="true", text=text, joined="template", fact=fact.id,
        answer=Span(start=len(text) - 1 - len(triple.tail), end=len(text) - 1),
    )  # fmt: skip


def made_passages(edges: Sequence[Edge]) -> Iterator[Passage]:
    """As many paragraphs as facts, each with the ends of a few of them."""
    draw = random.Random(SEED + 1)
    for line in range(1, len(edges) + 1):
        text = "，".join(f"{head}见于{tail}" for head, _, tail in draw.sample(edges, 3))
        yield Passage.build(base="made", document=str(line), text=text, **header(line))


def write(folder: Path, count: int, relations: int) -> None:
    """Write the rows that the step reads."""
    edges = made_edges(count, relations)
    passages = made_passages(edges)
    for first in range(0, count, PART_ROWS):
        facts = facts_of(edges[first : first + PART_ROWS], first + 1)
        parts: dict[str, Iterable[Any]] = {
            "each": map(stated, facts), "fact": facts, "passages": islice(passages, PART_ROWS)
        }  # fmt: skip
        for port, rows in parts.items():
            table = Table.of(rows, ROW_CLASSES[port])
            pq.write_table(table.arrow, folder / f"{port}-{first:08}.parquet")


def tables_of(folder: Path) -> dict[str, Table[Any]]:
    """The tables of the ports, as a build reads them; known are the facts themselves."""
    files = {port: tuple(sorted(folder.glob(f"{port}-*.parquet"))) for port in ROW_CLASSES}
    tables = {port: StoredTable(row, files[port], folder / "cache") for port, row in ROW_CLASSES.items()}
    return {**tables, "known": StoredTable(Fact[Triple], files["fact"], folder / "cache")}


def one(folder: Path) -> str:
    """Run the step in this process; time, memory and outcomes, as JSON."""
    tables = tables_of(folder)
    step = SwapTriple(SwapTripleSpec.model_validate(SPEC), StepContext(1, "zh", "swap", folder, folder))
    reset_peak_memory(())
    began, worked, reasons = time.perf_counter(), time.process_time(), Counter[str]()
    for shard in gather_shards(step, tables, step.gather(tables), Statement):
        columns: Any = (shard.outcomes.column(name) for name in ("outcome", "reason"))
        reasons.update(why or outcome for outcome, why in zip(*(column.to_pylist() for column in columns), strict=True))
        for table in tables.values():
            table.release()
    took, processor = time.perf_counter() - began, time.process_time() - worked
    return json.dumps({"seconds": round(took, 1), "processor_s": round(processor, 1),
                       "megabytes": peak_memory_mb(()), "outcomes": dict(reasons.most_common())})  # fmt: skip


def main() -> int:
    """Measure; 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few facts: whether it runs, no more")
    parser.add_argument("--facts", type=int, nargs="+", default=[10_000])
    parser.add_argument("--relations", type=int, default=10)
    parser.add_argument("--data", type=Path, metavar="DIR", help="where to keep the rows; else a temporary folder")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(one(given.one))
        return 0
    missed = False
    for count in [300] if given.quick else given.facts:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(given.data or temporary) / f"{count}-{given.relations}"
            if not folder.exists():
                begun = folder.with_name(f"{folder.name}.begun")  # a folder of that name is whole
                shutil.rmtree(begun, ignore_errors=True)
                begun.mkdir(parents=True)
                write(begun, count, given.relations)
                begun.rename(folder)
            command = [sys.executable, __file__, "--one", str(folder)]
            told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        print(f"{count:,} facts, {given.relations} relations: {told.strip()}", flush=True)
        missed |= json.loads(told)["processor_s"] > TARGET * count / 10_000
    return int(missed and not given.quick)


if __name__ == "__main__":
    sys.exit(main())
