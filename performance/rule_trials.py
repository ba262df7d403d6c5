"""How long a draft of rules takes from its text to what it makes of 5,000 rows.

    python performance/rule_trials.py [--quick]

See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from benchbuilder.authoring import open_dry_run
from benchbuilder.config import bundled_folder, load_recipe
from benchbuilder.explorer.workbench.trial_process import BenchSettings, TrialProcess
from benchbuilder.pipeline import Checksums, JournalDriver, LineProgress, Store, make_plan

ROWS, QUICK_ROWS = 5_000, 500
MOST_S, MOST_FIRST_S = 1.0, 0.25
"""The median of all rows, and of the first rows, may take so long."""
ROUNDS = 5
SEAMS = "seams: [是, 为,"


def main() -> int:
    """Measure, and print whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, rough numbers")
    quick: bool = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        all_rows, first_rows, opening, rows = measure(Path(folder), QUICK_ROWS if quick else ROWS)
    met = all_rows <= MOST_S and first_rows <= MOST_FIRST_S
    print(f"{rows} rows: opened in {opening:.2f} s, first rows {first_rows:.3f} s, all rows {all_rows:.3f} s")
    print("the targets are met" if met or quick else f"too slow: at most {MOST_FIRST_S} s and {MOST_S} s")
    return 0 if met or quick else 1


def measure(folder: Path, count: int) -> tuple[float, float, float, int]:
    """The seconds of all rows, of the first rows and of opening them, and the number of rows."""
    overrides = write_questions(folder, count)
    recipe = load_recipe(overrides).recipe
    store = Store(folder / "build")
    plan = make_plan(recipe, store, Checksums(store.checksums).sha256_of)
    before = plan.ancestors_of(["state_choice"]) - {"state_choice"}
    driver = JournalDriver(lambda spec, request: None)  # noqa: ARG005
    with open_dry_run(plan, store, driver, LineProgress(Console(stderr=True)), only=before):
        pass
    process = TrialProcess(BenchSettings(tuple(overrides), (), folder / "build", "state_choice"))
    text = (bundled_folder("recipes") / "rules" / "zh_claims.yaml").read_text("utf-8")
    try:
        start = time.perf_counter()
        opened = process.try_draft(text, whole=False)
        opening = time.perf_counter() - start
        times: dict[bool, list[float]] = {True: [], False: []}
        for number in range(ROUNDS):
            draft = text.replace(SEAMS, f"seams: [end{number}, 为,", 1)
            for whole, seconds in times.items():
                start = time.perf_counter()
                result = process.try_draft(draft, whole=whole)
                seconds.append(time.perf_counter() - start)
                if result is None or not result.counts["lost"]:
                    raise SystemExit("the draft changed nothing")
        rows = opened.total if opened is not None else 0
    finally:
        process.close()
    return statistics.median(times[True]), statistics.median(times[False]), opening, rows


def write_questions(folder: Path, count: int) -> list[str]:
    """A file of questions in the form of the bundled sample, each with a number of its own; the words of the recipe."""
    sample = bundled_folder("recipes") / "recipe" / "care_mi" / "sample" / "medqa" / "train.jsonl"
    lines = re.findall(r"^\{.*\}$", sample.read_text("utf-8"), re.MULTILINE)
    known = [json.loads(line) for line in lines]
    (folder / "medqa").mkdir()
    with (folder / "medqa" / "train.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count * 137 // 100):  # some are dropped before the rules
            row = dict(known[number % len(known)])
            row["question"] = f"第{number}例：{row['question']}"
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return ["recipe=care_mi", "source=[medqa]", f"paths.medqa={folder}/medqa"]


if __name__ == "__main__":
    sys.exit(main())
