"""The table that ends an evaluation: means by type, known facts, and what counts for them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from rich.console import Console

from benchbuilder.cli.scoreboard import print_scoreboard
from benchbuilder.evaluation.analysis.answered import AnsweredItems, AnsweringSystem, ItemColumns
from benchbuilder.evaluation.analysis.read_answers import Measure
from benchbuilder.evaluation.analysis.scoreboard import Scoreboard, SystemScore, known_facts, scoreboard
from benchbuilder.evaluation.results.run import ScorerRole
from benchbuilder.evaluation.results.stated_metrics import StatedMetric
from benchbuilder.evaluation.stats.intervals import Estimate
from benchbuilder.exporters import TableCell, TableLine
from benchbuilder.models import Receipt

NAN = float("nan")


def texts(*values: str) -> np.ndarray:
    column = np.empty(len(values), np.object_)
    column[:] = values
    return column


def answers() -> AnsweredItems:
    """Two true/false questions on fact A, an open one on A, and one without a fact that only the rule was asked."""
    empty = texts(*[""] * 4)
    items = ItemColumns(
        ids=texts("1", "2", "3", "4"), sources=empty, types=texts("tf", "tf", "oe", "tf"), forms=empty,
        families=np.array([0, 0, 0, 1]), facts=texts("A", "A", "A", ""), relations=empty,
        expected=texts("yes", "no", "", "yes"), negated=np.zeros(4, np.bool_), questions=empty, answers=empty,
        wrong_answers=empty, options=((),) * 4, keys=empty, scorers=texts("verdict", "verdict", "ratings", "verdict"),
        aspects=texts("verdict", "verdict", "correctness", "verdict"),
    )  # fmt: skip
    systems = (
        AnsweringSystem("weak", "model"), AnsweringSystem("strong", "model", "Strong 7B", invented=True),
        AnsweringSystem("echo", "rule"),
    )  # fmt: skip
    scores = np.array([[1, 0, 0.4, NAN], [1, 1, 0.8, NAN], [1, 1, NAN, 0]])
    without = np.array([[False, True, False, False], [False] * 4, [False] * 4])
    return AnsweredItems("", systems, items, scores, without, np.full((3, 4), NAN), np.full((3, 4), -1))


def board() -> Scoreboard:
    roles: dict[str, ScorerRole] = {"verdict": "rule", "ratings": "people"}
    return replace(scoreboard(answers(), samples=100, level=0.95, seed=1), roles=roles)


def test_models_come_first_the_best_first_on_the_items_that_a_model_answered() -> None:
    scores = board().scores
    assert [score.system.name for score in scores] == ["strong", "weak", "echo"]
    assert [score.answered for score in scores] == [3, 3, 2]
    assert [score.means["tf"].value for score in scores] == [1.0, 0.5, 1.0]
    assert "oe" not in scores[2].means
    assert scores[1].without == 1


def test_a_fact_is_known_if_all_its_questions_are_answered_right() -> None:
    asked, known = known_facts(answers())
    assert asked.sum(axis=1).tolist() == [1, 1, 1]  # the rule answered no open question, and the one without a fact
    assert known.sum(axis=1).tolist() == [0, 1, 0]


def receipt(step: str, usd: float | None) -> Receipt:
    return Receipt(step, "s", "http://x", 3, 0, 10, 10, 0, 0, 0, 0, usd, "2026-01-01", {})


def printed(*receipts: Receipt, width: int = 120, shown: Scoreboard | None = None) -> list[str]:
    console = Console(width=width, record=True, force_terminal=width < 100)
    with console.capture() as capture:
        print_scoreboard(console, shown or board(), receipts)
    return [re.sub("\x1b[^m]*m", "", line) for line in capture.get().splitlines()]


def test_a_line_says_what_a_system_came_to_and_what_it_cost() -> None:
    lines = printed(
        receipt("answer.strong", 0.25), receipt("reworded_answer.strong", 0.5), receipt("answer.weak", None)
    )
    cells = [line.split() for line in lines]
    assert cells[1:3] == [["tf", "oe"], ["model", "accuracy", "correctness", "known", "invalid", "USD"]]
    assert cells[3] == ["Strong", "7B", "*", "1.00", "0.80", "1/1", "0/3", "0.75"]
    assert cells[4] == ["weak", "0.50", "0.40", "0/1", "1/3", "?"]
    assert cells[5] == ["rules:"]
    assert cells[6][:2] == ["echo", "1.00"]
    assert "tf accuracy: mean by the rule verdict, from 0 to 1, higher is better" in lines
    assert "oe correctness: mean by people (ratings), from 0 to 1, higher is better" in lines
    assert "USD: ? where no price is known" in lines


def test_the_table_fits_into_80_columns_with_whole_names() -> None:
    mean = Estimate(0.812, 0.761, 0.864, 357, 120)
    systems = [AnsweringSystem("gpt-4o-mini-2024", "model"), AnsweringSystem("always_disagree", "rule")]
    scores = [SystemScore(system, {"tf": mean, "oe": mean}, 120, 127, 17, 357) for system in systems]
    measures = {"tf": (Measure("verdict", "verdict"),), "oe": (Measure("ratings", "correctness"),)}
    wide = Scoreboard(tuple(scores), measures, answers())
    lines = printed(receipt("answer.gpt-4o-mini-2024", 12.25), width=80, shown=wide)
    table = [line.rstrip() for line in lines[1:6]]
    assert all(len(line) <= 80 for line in table)
    assert table[2].split() == ["gpt-4o-mini-2024", *["0.81", "(0.76-0.86)"] * 2, "120/127", "17/357", "12.25"]
    assert table[4].split()[0] == "always_disagree"


def metric(name: str, *values: float, figure: str = "F1") -> StatedMetric:
    lines = tuple(
        TableLine((TableCell(words=who), TableCell(value, low=value - 0.04, high=value + 0.04), TableCell(3.0)), group)
        for (who, group), value in zip(
            (("Strong 7B", "model"), ("weak", "model"), ("echo", "rule")), values, strict=True
        )
    )
    published = TableLine((TableCell(words="weak"), TableCell(0.99), TableCell(9.0)), "model", block="published")
    return StatedMetric(name, "标题", figure, "percent", (), (*lines, published))


def test_the_metrics_of_a_recipe_stand_in_the_place_of_means_and_name_their_figure() -> None:
    shown = replace(
        board(),
        metrics=(metric("level_0", 0.9, 0.5, 0.1), metric("wrong_names", 0.1, 0.2, 0.3, figure="")),
        falling=frozenset({"wrong_names"}),
    )
    lines = printed(shown=shown)
    cells = [line.split() for line in lines]
    assert cells[1:3] == [["level", "0", "wrong", "names"], ["model", "F1", "%", "%", "known", "invalid"]]
    assert cells[4][:5] == ["weak", "50", "(46-54)", "20", "(16-24)"]
    assert "level 0 F1: metric level_0 of the recipe, in %, higher is better" in lines
    assert "wrong names: metric wrong_names of the recipe, in %, lower is better" in lines
    assert not any("mean by" in line for line in lines)


def test_columns_that_do_not_fit_stand_in_a_further_table_under_their_own_names() -> None:
    shown = replace(board(), metrics=tuple(metric(f"metric_{n}", 0.9, 0.5, 0.1) for n in range(6)))
    lines = [line.rstrip() for line in printed(width=80, shown=shown)]
    assert all(len(line) <= 80 for line in lines if "  " in line)
    heads = [line for line in lines if line.startswith("model")]
    assert len(heads) == 2
    assert sum(head.count("F1 %") for head in heads) == 6
    assert "known" in heads[1]
    assert sum(line.startswith("weak") for line in lines) == 2
