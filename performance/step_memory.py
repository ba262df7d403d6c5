"""Memory and time of the steps that need all rows at once, of the report and of the exports, by the number of rows.

    python performance/step_memory.py [--quick] [--rows 10000 100000] [--only items report]

Every candidate has six paragraphs. Sentences and paragraphs are those of care_mi's sample, each with a number, so that
all rows differ. They are written into the store as the steps before would write them. Each step then runs in a process
of its own: its peak is that of the resident memory, with Python and its libraries.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scale.words import CARE_MI

from benchbuilder.config import load_recipe
from benchbuilder.core import (
    Candidate,
    Evidence,
    Fact,
    ProducedBy,
    Question,
    Row,
    Statement,
    StepContext,
    Table,
    Triple,
    child_rows,
    constant_column,
    create_from_spec,
    find_kind,
    schema_of,
    source_rows,
)
from benchbuilder.exporters import Exporter
from benchbuilder.pipeline import Store, make_plan
from benchbuilder.pipeline.accounting.shard import OUTCOME_SCHEMA, Shard
from benchbuilder.pipeline.memory import peak_memory_mb, reset_peak_memory
from benchbuilder.pipeline.outputs import finished_build
from benchbuilder.pipeline.plan import Node, Plan
from benchbuilder.pipeline.run_node import NodeRunner, ShardLimits, create_executor
from benchbuilder.pipeline.store.checksums import Checksums
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.pipeline.totals import StepTotals
from benchbuilder.sources import Source

ROWS, QUICK = (10_000, 100_000), (2_000,)
PARAGRAPHS = 6
CHUNK = 25_000
"""Rows in a part; of paragraphs six times as many."""
RECIPE = ("recipe=care_mi", "annotation=none", "review=[]", "evaluation=[]", "paths.votes=null",
          "paths.model_answers=null", "paths.human_answers=null", "paths.ratings=null")  # fmt: skip
STEPS = ("candidates", "families", "deduplicate", "sample", "correct", "vote", "filter_predictable", "items")
FURTHER: dict[str, dict[str, Any]] = {
    "sample": {"n": 100_000},
    "deduplicate": {"fields": {"question": "question", "answer": "answer"}},
    "correct": {},
    "filter_predictable": {"target": "pair"},
    "vote": {"votes": {"kind": "none"}},
}
OUTPUTS = ("items_jsonl", "items_parquet", "items_tsv", "card", "report")
MADE = ProducedBy(rule="made")
SEED = 7


@dataclass(frozen=True)
class Rows:
    """Generates the rows of some facts, each of them by its number."""

    paragraphs: Sequence[str]

    def facts(self, first: int, count: int) -> Table[Any]:
        """Facts; each has a head and a tail of its own."""
        numbers = range(first, first + count)
        fields = {
            "head": _texts(f"疾病{n}" for n in numbers), "relation": constant_column("部位", count),
            "tail": _texts(f"器官{n}" for n in numbers),
        }  # fmt: skip
        kind: Any = schema_of(Fact[Triple]).field("payload").type
        columns = _filled(kind, fields, count)
        payload = pa.StructArray.from_arrays(list(columns.values()), list(columns))
        lines = pa.array(np.arange(first + 1, first + count + 1), pa.int64())
        row = Fact[Triple]
        return source_rows(
            row, "made.tsv", lines, MADE, "zh", "bios", _filled(schema_of(row), {"payload": payload}, count)
        )

    def statements(self, facts: Table[Any], text: str, polarity: str) -> Table[Any]:
        """One statement about each fact."""
        heads, tails = facts.column("payload.head"), facts.column("payload.tail")
        texts = _texts(text.format(head=head, tail=tail) for head, tail in zip(heads, tails, strict=True))
        joined = {"true": "template", "false": "replacement"}[polarity]
        return _children(Statement, facts.arrow, {
            "polarity": polarity, "text": texts, "joined": joined, "fact": facts.arrow.column("id").combine_chunks(),
            "form": "statement",
        })  # fmt: skip

    def questions(self, statements: Table[Any], sort: str, ending: str, expected: str) -> Table[Any]:
        """One question about each statement."""
        texts = _texts(f"{text}{ending}" for text in statements.column("text"))
        return _children(Question, statements.arrow, {
            "type": sort, "text": texts, "expected": expected, "form": "statement",
            "fact": statements.arrow.column("fact").combine_chunks(),
        })  # fmt: skip

    def candidates(self, questions: Table[Any], wrong: Table[Any]) -> Table[Any]:
        """One candidate of each question, with a false statement about the same fact."""
        texts = {name: questions.arrow.column(name).combine_chunks() for name in ("type", "expected", "text", "fact")}
        return _children(Candidate, questions.arrow, {
            "type": texts["type"], "expected": texts["expected"], "question": texts["text"], "fact": texts["fact"],
            "answer": _texts(text.rpartition("。")[0] + "。" for text in questions.column("text")),
            "answer_wrong": wrong.arrow.column("text").combine_chunks(), "family": texts["fact"], "form": "statement",
        })  # fmt: skip

    def evidence(self, candidates: Table[Any], first: int) -> Table[Any]:
        """Six paragraphs for each candidate."""
        places: Any = pa.array(np.repeat(np.arange(len(candidates)), PARAGRAPHS))
        ranks = np.tile(np.arange(1, PARAGRAPHS + 1), len(candidates))
        numbers = range(first * PARAGRAPHS, first * PARAGRAPHS + len(ranks))
        count = len(self.paragraphs)
        return _children(Evidence, candidates.arrow.take(places), {
            "passage": _texts(f"passage-{n:020x}" for n in numbers), "base": "textbook",
            "document": _texts(f"第{n // 50}章" for n in numbers),
            "text": _texts(f"{n} {self.paragraphs[n % count]}" for n in numbers),
            "score": pa.array(10 / ranks), "rank": pa.array(ranks, pa.int64()),
        }, _texts(f"textbook:{rank}" for rank in ranks.tolist()))  # fmt: skip


def _texts(texts: Iterable[str]) -> Any:
    return pa.array(list(texts), pa.string())


def _filled(fields: Iterable[Any], given: Mapping[str, Any], count: int) -> dict[str, Any]:
    """A column for each field: what is given, as an array or one text for all rows, else what is empty."""
    columns = dict[str, Any]()
    for field in fields:
        if field.name in Row.model_fields:  # the header is made elsewhere
            continue
        value = given.get(field.name)
        if isinstance(value, pa.Array):
            columns[field.name] = value
        elif pa.types.is_string(field.type):
            columns[field.name] = constant_column(value or "", count)
        elif pa.types.is_boolean(field.type):
            columns[field.name] = pa.array(np.zeros(count, bool))
        elif pa.types.is_list(field.type):
            columns[field.name] = pa.array([[]] * count, field.type)
        elif pa.types.is_struct(field.type):  # a span
            columns[field.name] = pa.array([{"start": 0, "end": 1}] * count, field.type)
        else:
            columns[field.name] = pa.nulls(count, field.type)
    return columns


def _children(row: Any, parents: pa.Table, given: Mapping[str, Any], slots: Any = None) -> Table[Any]:
    """Rows of a class; fields that are not given are empty."""
    count = parents.num_rows
    slots = constant_column("", count) if slots is None else slots
    return child_rows(row, parents, MADE, slots, _filled(schema_of(row), given, count))


class Steps:
    """The plan of care_mi in a store with generated rows."""

    def __init__(self, folder: Path) -> None:
        self.loaded = load_recipe([*RECIPE, f"run.dir={folder}", "run.workers=1"])
        self.store = Store(folder)
        self.plan: Plan = make_plan(self.loaded.recipe, self.store, Checksums(self.store.checksums).sha256_of)

    def write(self, count: int) -> None:
        """Write `count` candidates and what the other steps read; steps that nothing here reads have no rows."""
        text = (CARE_MI / "sample" / "textbook.jsonl").read_text(encoding="utf-8")
        rows = Rows([json.loads(line)["text"] for line in text.splitlines()])
        tables = {name: self._empty(node) for name, node in self.plan.nodes.items()}
        facts, half = -(-count // 2), CHUNK // 2
        starts = range(0, facts, half)
        made = [(start, partial(self._part, rows, start, min(half, facts - start))) for start in starts]
        manifests: dict[str, Manifest] = {}
        drafts = {
            name: self.store.draft(name, node.key, {"generated": count}) for name, node in self.plan.nodes.items()
        }
        for index, (_, part) in enumerate(made):
            for name, table in {**tables, **part()}.items():
                drafts[name].commit_shard(index, Shard(table, OUTCOME_SCHEMA.empty_table()))
        for name, node in self.plan.nodes.items():
            totals = StepTotals(node, len(made))
            if not isinstance(node.producer, Source):
                totals = StepTotals.add_up(node, drafts[name], len(made))
            manifest = totals.manifest({up: manifests[up].digest for up in node.upstream()}, {})
            manifests[name] = drafts[name].commit_step(manifest)

    def _empty(self, node: Node) -> Table[Any]:
        return Table(schema_of(node.row).empty_table(), node.row)

    def _part(self, rows: Rows, first: int, count: int) -> dict[str, Table[Any]]:
        """Rows of the steps, from some facts."""
        facts = rows.facts(first, count)
        said = {
            "state_triple": rows.statements(facts, "{head}的部位是{tail}。", "true"),
            "negate_triple": rows.statements(facts, "{head}的部位不是{tail}。", "false"),
            "swap_triple": rows.statements(facts, "{head}的部位是其他{tail}。", "false"),
        }
        asked = {
            "ask_tf_triple": rows.questions(said["state_triple"], "tf", "这种说法对吗？", "yes"),
            "ask_oe_triple": rows.questions(said["state_triple"], "oe", "请说明。", ""),
        }
        candidates = Table.concat([rows.candidates(table, said["swap_triple"]) for table in asked.values()], Candidate)
        candidates = Table(candidates.arrow.combine_chunks(), Candidate)
        evidence = rows.evidence(candidates, first)
        return {"facts_triple": facts, **said, **asked, "corrected": candidates, "evidence": evidence}

    def run(self, name: str) -> Manifest:
        """Run a step."""
        with closing(create_executor(self.loaded.recipe.run)) as executor:
            limits = ShardLimits.of_recipe(self.loaded.recipe)
            runner = NodeRunner(self.store, executor, limits, Silent(), manifests=self.manifests())
            manifest = runner.run(self.plan.nodes[name] if name in self.plan.nodes else self._further(name))
        with self.store.lock():  # it removes what the step wrote beside
            return manifest

    def _further(self, name: str) -> Node:
        """Steps that the recipe has not after its candidates."""
        kind: Any = find_kind("step", name).load()
        context = StepContext(SEED, "zh", name, self.store.cache, self.store.workplace)
        step = kind(kind.spec_class.model_validate({"kind": name, "from": "corrected", **FURTHER[name]}), context)
        return Node(name, step, {}, f"{name}0000000000", {"each": ("corrected",)}, Candidate)

    def manifests(self) -> dict[str, Manifest]:
        """What is built."""
        found = {name: self.store.manifest(name, node.key) for name, node in self.plan.nodes.items()}
        return {name: manifest for name, manifest in found.items() if manifest is not None}

    def export(self, name: str) -> str:
        """Write an output; its size."""
        finished = finished_build(self.plan, self.store, self.manifests(), self.loaded.yaml)
        exporter: Exporter = create_from_spec("exporter", self.loaded.recipe.outputs[name])
        with tempfile.TemporaryDirectory(dir=self.store.folder) as folder:
            return ", ".join(f"{file.stat().st_size / 1e6:.1f} MB" for file in exporter.write(finished, Path(folder)))


class Silent:
    """Follows a build and shows nothing."""

    def begin(self, step: str, total: int | None, unit: str) -> None:
        """Nothing."""

    def advance(self, step: str, count: int) -> None:
        """Nothing."""

    def end(self, step: str, summary: str) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


def one(name: str, folder: Path) -> str:
    """Run one step, or write one output, in this process; what it needed, as JSON."""
    steps = Steps(folder)
    reset_peak_memory(())
    begin = time.process_time()
    made = steps.export(name) if name in OUTPUTS else f"{steps.run(name).rows:,} rows"
    return json.dumps({"seconds": time.process_time() - begin, "megabytes": peak_memory_mb(()), "made": made})


def main() -> int:
    """Print a line for each number of rows and each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rows: shows that it runs")
    parser.add_argument("--rows", type=int, nargs="+", metavar="N", help="numbers of candidates")
    parser.add_argument("--only", nargs="+", metavar="STEP", default=[*STEPS, *OUTPUTS], help="steps and outputs")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where to keep the rows; else a temporary folder")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(one(given.one[0], Path(given.one[1])))
        return 0
    print("| candidates | step | peak memory | processor time | made |\n| ---: | --- | ---: | ---: | --- |")
    for count in given.rows or (QUICK if given.quick else ROWS):
        with tempfile.TemporaryDirectory(dir=given.data) as temporary:
            folder = Path(temporary) if given.data is None else given.data / str(count)
            if not (folder / "store").exists():
                Steps(folder).write(count)
            for name in given.only:
                command = [sys.executable, __file__, "--one", name, str(folder)]
                told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                cells = f"{told['megabytes']:,.0f} MB | {told['seconds']:.1f} s | {told['made']}"
                print(f"| {count:,} | `{name}` | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
