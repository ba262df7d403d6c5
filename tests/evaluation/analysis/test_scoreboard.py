"""The table that ends an evaluation: means by type, known facts, and what counts for them."""

from __future__ import annotations

import numpy as np
from rich.console import Console

from benchbuilder.cli.scoreboard import print_scoreboard
from benchbuilder.evaluation.analysis.answered import AnsweredItems, AnsweringSystem, ItemColumns
from benchbuilder.evaluation.analysis.scoreboard import Scoreboard, known_facts, scoreboard
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
    )  # fmt: skip
    systems = (
        AnsweringSystem("weak", "model"), AnsweringSystem("strong", "model", "Strong 7B", invented=True),
        AnsweringSystem("echo", "rule"),
    )  # fmt: skip
    scores = np.array([[1, 0, 0.4, NAN], [1, 1, 0.8, NAN], [1, 1, NAN, 0]])
    without = np.array([[False, True, False, False], [False] * 4, [False] * 4])
    return AnsweredItems("", systems, items, scores, without, np.full((3, 4), NAN), np.full((3, 4), -1))


def board() -> Scoreboard:
    return scoreboard(answers(), samples=100, level=0.95, seed=1)


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


def test_a_line_says_what_a_system_came_to_and_what_it_cost() -> None:
    receipt = Receipt("answer.strong", "s", "http://x", 3, 0, 10, 10, 0, 0, 0, 0, 0.25, "2026-01-01", {})
    console = Console(width=120, record=True, force_terminal=False)
    with console.capture() as capture:
        print_scoreboard(console, board(), [receipt])
    lines = [line.split() for line in capture.get().splitlines()]
    assert lines[1] == ["model", "items", "tf", "oe", "known", "invalid", "USD"]
    assert lines[2] == ["Strong", "7B", "*", "3", "1.00", "0.80", "1", "of", "1", "-", "0.25"]
    assert lines[4][:4] == ["echo", "(rule)", "2", "1.00"]
    assert "oe: mean of ratings, with its interval over item families" in capture.get()
