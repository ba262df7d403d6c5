"""The step `convert_script` over facts in traditional script, by column and row by row.

    python performance/script_conversion.py [--quick]

See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchbuilder.config import bundled_folder
from benchbuilder.core import (
    Choice,
    Fact,
    Kept,
    MultipleAnswerChoice,
    Option,
    Origin,
    Payload,
    ProducedBy,
    StepContext,
    Table,
    Term,
    Triple,
    convert_script,
)
from benchbuilder.steps.convert_script import ConvertScript, ConvertScriptSpec

ROWS, QUICK_ROWS = 20_000, 500
ROUNDS = 3
LEAST = 10.0
"""By column must be so many times as fast."""


def main() -> int:
    """Measure; 1 if a target is missed (never with ``--quick``) or results differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rows, rough numbers")
    quick: bool = parser.parse_args().quick
    count = QUICK_ROWS if quick else ROWS
    sample = bundled_folder("recipes") / "recipe" / "care_mi" / "sample"
    tables = {"triples": triples(sample, count), "choices": choices(sample, count)}
    tables |= {"several choices": several(tables["choices"]), "terms": terms(tables["triples"])}
    ratios = [compare(name, table) for name, table in tables.items()]
    met = min(ratios) >= LEAST
    print("the targets are met" if met or quick else f"too slow: at least {LEAST:g} times as fast is wanted")
    return 0 if met or quick else 1


def compare(name: str, table: Table[Any]) -> float:
    """How many times as fast columns are: the median over rounds, both ways in turn."""
    context = StepContext(seed=1, language="zh", step="ordered", cache=Path("none"), workplace=Path("none"))
    step = ConvertScript(ConvertScriptSpec(kind="convert_script", convert="t2s", from_={"each": ("rows",)}), context)
    rounds: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        by_row, rows = timed(lambda: converted_by_row(step, table))
        by_column, columns = timed(lambda: converted_by_column(step, table))
        if not rows.arrow.equals(columns.arrow):
            raise SystemExit(f"{name}: the rows differ")
        rounds.append((by_row, by_column))
    ratios = sorted(by_row / by_column for by_row, by_column in rounds)
    each = [statistics.median(seconds) / len(table) * 1e6 for seconds in zip(*rounds, strict=True)]
    print(f"{len(table):,} {name}: {each[0]:.0f} us a row by row, {each[1]:.1f} us by column: "
          f"{statistics.median(ratios):.1f} times ({ratios[0]:.1f} to {ratios[-1]:.1f})")  # fmt: skip
    return statistics.median(ratios)


def timed(work: Callable[[], Table[Any]]) -> tuple[float, Table[Any]]:
    """The seconds of the processor that `work` takes, and its result."""
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def converted_by_row(step: ConvertScript, table: Table[Any]) -> Table[Any]:
    """The rows of the step, made one by one."""
    outcomes = (outcome for row in table for outcome in step.map(row, {}))
    return Table.of((outcome.row for outcome in outcomes if isinstance(outcome, Kept)), table.row)


def converted_by_column(step: ConvertScript, table: Table[Any]) -> Table[Any]:
    """The rows of the step, made by column."""
    batch = step.map_columns(table)
    assert batch is not None
    return batch.rows


def triples(sample: Path, count: int) -> Table[Any]:
    """Triples of the sample in traditional script, each with a number of its own."""
    lines = [line.split("\t") for line in (sample / "cpubmed.tsv").read_text("utf-8").splitlines()]
    known = [tuple(map(traditional, cells[:3])) for cells in lines if len(cells) >= 3]
    return table_of([
        Triple(head=f"{head}{number}", relation=relation, tail=f"{tail}{number}", head_terms=(f"{head}{number}",))
        for number in range(count) for head, relation, tail in [known[number % len(known)]]
    ])  # fmt: skip


def choices(sample: Path, count: int) -> Table[Any]:
    """Questions of the sample in traditional script, no two of whose texts are equal."""
    lines = re.findall(r"^\{.*\}$", (sample / "medqa" / "train.jsonl").read_text("utf-8"), re.MULTILINE)
    known = [row for row in map(json.loads, lines) if row.get("answer_idx") in row.get("options", ())]
    made: list[Choice] = []
    for number in range(count):
        row = known[number % len(known)]
        options = {key: f"{traditional(text)}{number}" for key, text in row["options"].items()}
        answer = options[row["answer_idx"]]
        listed = tuple(Option(key=key, text=text) for key, text in options.items())
        question = f"{number}{traditional(row['question'])}"
        made.append(Choice(question=question, options=listed, answer_key=row["answer_idx"], answer=answer))
    return table_of(made)


def several(questions: Table[Any]) -> Table[Any]:
    """Questions with several right options."""
    return table_of([
        MultipleAnswerChoice(
            question=row.payload.question, options=row.payload.options,
            answer_keys=tuple(option.key for option in row.payload.options[:2]),
        )
        for row in questions
    ])  # fmt: skip


def terms(facts: Table[Any]) -> Table[Any]:
    """Words of a list: the heads of triples."""
    return table_of([Term(text=row.payload.head, lists=("made",), note="made") for row in facts])


def traditional(text: str) -> str:
    """`text` in traditional script."""
    return convert_script(text, "s2t")


def table_of(payloads: list[Any]) -> Table[Any]:
    """A table of facts."""
    fact: Any = Fact[type(payloads[0])]
    read, rule = "made.jsonl", ProducedBy(rule="made")
    rows = (built(fact, payload, Origin(file=read, line=line), rule) for line, payload in enumerate(payloads, 1))
    return Table.of(rows, fact)


def built(fact: Any, payload: Payload, origin: Origin, rule: ProducedBy) -> Fact[Any]:
    """A fact that a source read."""
    return fact.build(origin=origin, produced_by=rule, language="zh", partition="made", payload=payload)


if __name__ == "__main__":
    sys.exit(main())
