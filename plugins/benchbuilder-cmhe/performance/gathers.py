"""Memory and time of the steps of cmhe that need all rows: forms, codes and exchanged answers.

    python plugins/benchbuilder-cmhe/performance/gathers.py [--quick] [--rows 100000]

Rows are made up and lie in files, as in a build. Each step has a process of its own: its peak is that of the resident
memory, with Python and its libraries. The sum is over everything that comes out, so that two states can be compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from benchbuilder.config import KindSpec
from benchbuilder.core import Fact, Origin, ProducedBy, StepContext, Table
from benchbuilder.pipeline.accounting.gathers import gather_shards
from benchbuilder.pipeline.memory import peak_memory_mb, reset_peak_memory
from benchbuilder.pipeline.shards.worker import StoredTable

from benchbuilder_cmhe.dd.case import Diagnosis, PatientCase
from benchbuilder_cmhe.dd.chat import IntakeForm
from benchbuilder_cmhe.dd.form_sheet import FormSheet, FormSheetSpec
from benchbuilder_cmhe.dd.proofread import Proofread, ProofreadSpec
from benchbuilder_cmhe.hd.dialogue import Dialogue
from benchbuilder_cmhe.hd.exchange_answers import ExchangeAnswers, ExchangeAnswersSpec

ROWS, QUICK, PART = 100_000, 1_000, 10_000
TALK = "患者说已经难受了几天，夜里加重，早上好一些，没有发热，也没有别的病史。医生请他描述得更清楚一点。"
NOBODY = KindSpec(kind="none")
FORM = {"kind": "form_sheet", "from": "x", "votes": NOBODY, "needed": {"complaint": ("symptoms", "complaint")}}
RULES = {
    "kind": "exchange_answers", "from": "x", "stops": "。", "repeats": 1_000, "reach": 2,
    "numbers": {
        "days": {"frames": {"course": {"before": "疗程", "after": "天"}}, "same": "name", "least": 2.0, "most": 10.0}
    },
}  # fmt: skip


def payload(name: str, n: int) -> Any:
    """What row `n` is about."""
    if name == "form_sheet":
        return IntakeForm(chat=f"{n}。{TALK * 4}", age=f"{n % 90}岁", symptoms="头痛", diagnosis="偏头痛")
    if name == "proofread":
        found = Diagnosis(name=f"病{n}", code="J30.400", entry="鼻炎", how="exact", score=100.0, chapter="X",
                          block="J30-J39", category="J30")  # fmt: skip
        return PatientCase(text=f"{n}。{TALK * 4}", diagnoses=(found,), setting="exam")
    return Dialogue(question=f"第{n}个问题：{TALK}", answer=f"疗程{n % 97 + 3}天，{n}。{TALK * 3}")


def step(name: str, folder: Path) -> Any:
    """The step of that name."""
    context = StepContext(seed=3, language="zh", step=name, cache=folder, workplace=folder / "annotation")
    if name == "form_sheet":
        return FormSheet(FormSheetSpec.model_validate(FORM), context)
    if name == "proofread":
        spec = ProofreadSpec.model_construct(kind=name, votes=NOBODY, per="name", labels={}, sheet=None)
        return Proofread(spec, context)
    return ExchangeAnswers(ExchangeAnswersSpec.model_validate(RULES), context)


ROW_OF: Mapping[str, Any] = {
    "form_sheet": Fact[IntakeForm], "proofread": Fact[PatientCase], "exchange_answers": Fact[Dialogue]
}  # fmt: skip


def write(name: str, count: int, folder: Path) -> None:
    """Write the rows of a step into files."""
    made = ProducedBy(rule="made")
    for part, start in enumerate(range(0, count, PART)):
        rows = (
            ROW_OF[name].build(payload=payload(name, n), origin=Origin(file="made.csv", line=n), produced_by=made,
                               language="zh", partition="made")
            for n in range(start, min(start + PART, count))
        )  # fmt: skip
        pq.write_table(Table.of(rows, ROW_OF[name]).arrow, folder / f"{name}-{part:03}.parquet")


def one(name: str, folder: Path) -> str:
    """Run one step; what it needed, as JSON."""
    made, table = step(name, folder), StoredTable(ROW_OF[name], sorted(folder.glob(f"{name}-*.parquet")), folder)
    reset_peak_memory(())
    begin, seen = time.process_time(), (hashlib.sha256(), hashlib.sha256())
    rows = 0
    for shard in gather_shards(made, {"each": table}, made.gather({"each": table}), made.output or table.row):
        rows += len(shard.rows)
        for sum_of, pieces in zip(seen, (shard.rows.arrow, shard.outcomes), strict=True):
            for row in lines(pieces):
                sum_of.update(row)
    took = time.process_time() - begin
    told = {
        "seconds": took,
        "megabytes": peak_memory_mb(()),
        "made": f"{rows:,} rows",
        "sum": " ".join(each.hexdigest()[:8] for each in seen),
    }
    return json.dumps(told)


def lines(table: pa.Table) -> Iterator[bytes]:
    """Each row as text."""
    for batch in table.to_batches(max_chunksize=1_000):
        yield from (repr(row).encode() for row in batch.to_pylist())


def main() -> int:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rows: shows that it runs")
    parser.add_argument("--rows", type=int, metavar="N", help="the number of rows")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(one(given.one[0], Path(given.one[1])))
        return 0
    count = given.rows or (QUICK if given.quick else ROWS)
    print("| rows | step | peak memory | processor time | made | sum |\n| ---: | --- | ---: | ---: | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in ROW_OF:
            write(name, count, Path(folder))
            command = [sys.executable, __file__, "--one", name, folder]
            told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            cells = f"{told['megabytes']:,.0f} MB | {told['seconds']:.1f} s | {told['made']} | {told['sum']}"
            print(f"| {count:,} | `{name}` | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
