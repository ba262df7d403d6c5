"""The held-out answers of a judge as columns, and what every table of the report is made with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core.stats.intervals import Difference, Estimate, difference, estimates
from benchbuilder.core.stats.weighted import Floats, Statistic
from benchbuilder.evaluation.judge_report.probe_spec import ValiditySpec
from benchbuilder.evaluation.judge_report.published import PublishedJudges
from benchbuilder.evaluation.judge_training.predictions import Prediction, Side, Trial
from benchbuilder.evaluation.results.context import Drawn, estimate_cell
from benchbuilder.exporters.render.i18n import Language, Wording
from benchbuilder.exporters.render.tables import Cell, Column, Form, Line, Sheet

THRESHOLD = 0.5
SIDES = get_args(Side)


@dataclass(frozen=True)
class Held:
    """Held-out answers that one judge scored, by row: what people said in the mean, what the judge said, and of what.

    `without` is the score without paragraphs, and `others` what simpler predictors said; nan where that was not tried.
    """

    name: str
    card: Mapping[str, Any]
    rows: tuple[Prediction, ...]
    predicted: Floats
    targets: Floats
    without: Floats
    others: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def split(self) -> str:
        """The name of the split by which the answers were held out."""
        return str(self.card.get("split", ""))

    @property
    def shared_paragraphs(self) -> Mapping[str, int]:
        """How many ``answers`` have paragraphs of which ``some`` or ``all`` were learned from; empty if not counted."""
        found: Mapping[str, Any] = self.card.get("held_out") or {}
        return found.get("shared_paragraphs", {})

    @property
    def families(self) -> list[str]:
        """The family of each row: questions that hang together."""
        return [row.example.family for row in self.rows]

    @property
    def models(self) -> list[str]:
        """Who wrote the answer of each row."""
        return [row.example.model for row in self.rows]

    @property
    def ratings(self) -> list[dict[str, float]]:
        """What each person said of each row."""
        return [dict(row.example.ratings) for row in self.rows]

    def names(self) -> list[str]:
        """A name for each row that the same answer has at every judge."""
        return [f"{row.example.item}/{row.example.model}" for row in self.rows]

    def only(self, keep: Sequence[bool] | NDArray[np.bool_]) -> Held:
        """The rows that `keep` marks."""
        return _held(self.name, self.card, [row for row, kept in zip(self.rows, keep, strict=True) if kept])


def held_rows(trial: Trial, *, synthetic: bool, sides: Collection[Side] = ("held_out",)) -> Held:
    """The synthetic rows of a trial, or those that people rated, of the `sides`; in an order of their own."""
    every = (*trial.predictions, *trial.left_out)
    rows = [row for row in every if row.example.synthetic == synthetic and row.side in sides]
    return _held(trial.name, trial.card, sorted(rows, key=_order))


def of_every_model(trial: Trial) -> Held:
    """The rated answers to held-out questions, by held-out models and by those that were learned from."""
    return held_rows(trial, synthetic=False, sides=("held_out", "known_model"))


def _order(row: Prediction) -> tuple[str, str, str, float]:
    example = row.example
    return example.family, example.item, example.model, example.target


def _held(name: str, card: Mapping[str, Any], rows: Sequence[Prediction]) -> Held:
    others = dict.fromkeys(other for row in rows for other in row.others)
    return Held(
        name=name,
        card=card,
        rows=tuple(rows),
        predicted=np.array([row.predicted for row in rows], np.float64),
        targets=np.array([row.example.target for row in rows], np.float64),
        without=_column(row.without_evidence for row in rows),
        others={other: _column(row.others.get(other) for row in rows) for other in others},
    )


def _column(values: Any) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


@dataclass(frozen=True)
class Frame:
    """The words of the report, how intervals are drawn, its numbers, and what others published."""

    t: Wording
    language: Language
    drawn: Drawn
    numbers: ValiditySpec
    published: PublishedJudges | None = None

    def cells(self, held: Held, statistics: Mapping[str, Statistic]) -> dict[str, Cell]:
        """Each statistic of the rows with its interval over families."""
        found = estimates(statistics, held.families, **self.drawn)
        return {name: self.cell(value) for name, value in found.items()}

    def cell(self, found: Estimate) -> Cell:
        """An estimate as a cell; what is the matter in words of the report where it has some."""
        cell = estimate_cell(found)
        return Cell(cell.value, low=cell.low, high=cell.high, n=cell.n, why=self.why(cell.why))

    def why(self, words: str) -> str:
        """What is the matter, in the language of the report where that is known."""
        return self.t.get(f"judges.why.{words}", words)

    def compared(self, held: Held, first: Statistic, second: Statistic) -> tuple[Cell, Cell]:
        """The difference of two statistics of the same rows, and its p value."""
        found = difference(first, second, held.families, **self.drawn)
        return self.cell(found), p_cell(found)

    def sheet(
        self, aspect: str, name: str, columns: Mapping[str, Form], lines: Sequence[Line], *, keys: int = 1,
        notes: Sequence[str] = (), **values: object,
    ) -> Sheet:  # fmt: skip
        """A table: its title, lead and headings are looked up by their names."""
        return Sheet(
            name=f"{aspect}_{name}" if aspect else name,
            title=self.t(f"judges.{name}.title"),
            columns=tuple(Column(key, self.t(f"judges.column.{key}"), form) for key, form in columns.items()),
            lines=tuple(lines),
            lead=self.t(f"judges.{name}.lead", **values),
            notes=tuple(notes),
            keys=keys,
        )


def p_cell(found: Difference) -> Cell:
    """The p value of a difference as a cell."""
    return Cell(found.p)


def value_cell(value: float | None, why: str = "") -> Cell:
    """A number without an interval as a cell; nan counts as none."""
    return Cell(None if value is None or np.isnan(value) else float(value), why=why)


def grouped(held: Held, of: Callable[[Prediction], str]) -> list[tuple[str, Held]]:
    """The rows by group, in the order of their names."""
    labels = [of(row) for row in held.rows]
    return [(label, held.only([other == label for other in labels])) for label in sorted(set(labels))]
