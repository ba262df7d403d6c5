"""The analysis of answers: 200 models and 5,000 items within 60 seconds of processor time and 2 GB.

Its page is made within 5 seconds of these, and is smaller than 2 MB.

    python performance/analysis.py [--quick]

Answers are generated. Every section is computed that needs answers alone. See README.md for what the numbers mean.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np

from benchbuilder.config import AnalysisSpec, load_recipe
from benchbuilder.core import Claim, Item, Origin, ProducedBy, Table, page_texts
from benchbuilder.evaluation.analysis.answered import AnsweredItems, AnsweringSystem, ItemColumns, Texts
from benchbuilder.evaluation.analysis.files import analysis_page
from benchbuilder.evaluation.analysis.run import SECTIONS, Analysis
from benchbuilder.evaluation.analysis.section import AnalysisSection, AnalysisSettings

SIZE, QUICK = (200, 5_000), (60, 400)
SECONDS, MEGABYTES = 60.0, 2_000.0
PAGE_SECONDS, PAGE_MEGABYTES = 5.0, 2.0


def main() -> int:
    """Time each section; 1 if all together take more than they may."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small benchmark, to see that it runs")
    models, items = QUICK if parser.parse_args().quick else SIZE
    rows = [row(number) for number in range(items)]
    answered = generated(models, rows)
    names = [system.name for system in answered.systems]
    groups = {"size": {"title": "small and large", "one": names[: models // 2], "other": names[models // 2 :]}}
    settings = AnalysisSettings(AnalysisSpec.model_validate({"groups": groups}), 1)
    total, sections = 0.0, dict[str, AnalysisSection]()
    for name, make in SECTIONS.items():
        begun = time.process_time()
        sections[name] = make(answered, settings)
        seconds = time.process_time() - begun
        total += seconds
        sys.stdout.write(f"{name:<16}{seconds:8.2f} s\n")
    loaded, begun = load_recipe(["recipe=care_mi"]), time.process_time()
    folder, shown = Path("analysis"), Table.of(rows, Item[Claim])
    page = analysis_page(Analysis(loaded, "Generated", folder, answered, sections, shown, {}), page_texts("en"))
    seconds, size = time.process_time() - begun, len(page.encode()) / 1e6
    total += seconds
    sys.stdout.write(f"{'page':<16}{seconds:8.2f} s, {size:.2f} MB\n")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    sys.stdout.write(f"{models} models, {items} items: {total:.1f} s of processor time, {memory:.0f} MB at most\n")
    return int(total > SECONDS or memory > MEGABYTES or seconds > PAGE_SECONDS or size > PAGE_MEGABYTES)


def row(number: int) -> Item[Claim]:
    """An item with a question of usual length."""
    claim = Claim(
        type="tf", expected="yes" if number % 2 else "no", answer=f"It does ({number}).", answer_wrong="It does not.",
        question=f"Question {number}: does the daily intake of folic acid lower the risk of neural tube defects?",
    )  # fmt: skip
    return Item[Claim].build(
        origin=Origin(file="generated", line=number + 1), produced_by=ProducedBy(rule="generated"), language="en",
        partition=f"source-{number % 4}", payload=claim, candidate="", fact=f"fact-{number // 4}", reviewed=True,
    )  # fmt: skip


def generated(models: int, rows: list[Item[Claim]]) -> AnsweredItems:
    """Answers of models to true/false questions, four to a family, a tenth of them not asked."""
    random, items = np.random.default_rng(1), len(rows)
    chance = 1 / (1 + np.exp(random.normal(-1, 1, items) - random.normal(size=(models, 1))))
    scores = np.where(random.random(chance.shape) < 0.1, np.nan, random.random(chance.shape) < chance)
    columns = ItemColumns(
        ids=column([row.id for row in rows]),
        sources=column([row.partition for row in rows]),
        types=column(["tf"] * items), forms=column(["statement"] * items), families=np.arange(items) // 4,
        facts=column([f"fact-{number // 4}" for number in range(items)]),
        relations=column([f"relation-{number % 20}" for number in range(items)]),
        expected=column([row.payload.expected for row in rows]),
        negated=np.arange(items) % 4 > 1, questions=column([""] * items), answers=column([""] * items),
        wrong_answers=column([""] * items), options=((),) * items, keys=column([""] * items),
        scorers=column(["verdict"] * items), aspects=column(["verdict"] * items),
    )  # fmt: skip
    systems = tuple(AnsweringSystem(f"model-{number}", "model") for number in range(models))
    nothing = np.full(scores.shape, np.nan)
    return AnsweredItems(
        "", systems, columns, scores, np.zeros(scores.shape, np.bool_), nothing, np.full(scores.shape, -1)
    )


def column(values: list[str]) -> Texts:
    """A column of texts."""
    made = np.empty(len(values), np.object_)
    made[:] = values
    return made


if __name__ == "__main__":
    sys.exit(main())
