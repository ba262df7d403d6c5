"""The held-out answers of a judge as arrays, and the context that all tables of the report share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from benchbuilder.core import DifferenceEstimate, Estimate, Floats, Statistic, bootstrap_difference, bootstrap_estimates
from benchbuilder.evaluation.judge_report.probe_spec import ValiditySpec
from benchbuilder.evaluation.judge_training.predictions import Prediction, Side, ValidationRun
from benchbuilder.evaluation.published import PublishedJudges
from benchbuilder.evaluation.results.context import BootstrapSettings, estimate_cell
from benchbuilder.exporters import Language, ReportTexts, ResultTable, TableCell, TableColumn, TableLine, ValueFormat

THRESHOLD = 0.5
SIDES = get_args(Side)


@dataclass(frozen=True)
class HeldOutAnswers:
    """Held-out answers that one judge scored, one row per answer.

    `targets` holds the mean human scores and `predicted` the scores of the judge. `without_evidence` holds its scores
    without paragraphs, `baselines` those of simpler predictors; both are nan where that was not tried.
    """

    name: str
    card: Mapping[str, Any]
    rows: tuple[Prediction, ...]
    predicted: Floats
    targets: Floats
    without_evidence: Floats
    baselines: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def split(self) -> str:
        """The name of the split."""
        return str(self.card.get("split", ""))

    @property
    def shared_paragraphs(self) -> Mapping[str, int]:
        """How many ``answers`` have paragraphs and share ``some`` or ``all`` of them with the training data."""
        found: Mapping[str, Any] = self.card.get("held_out") or {}
        return found.get("shared_paragraphs", {})

    @property
    def families(self) -> list[str]:
        """The item family of each row; rows of one family are not independent."""
        return [row.example.family for row in self.rows]

    @property
    def models(self) -> list[str]:
        """The model that wrote the answer of each row."""
        return [row.example.model for row in self.rows]

    @property
    def ratings(self) -> list[dict[str, float]]:
        """The ratings of each row, by rater."""
        return [dict(row.example.ratings) for row in self.rows]

    def names(self) -> list[str]:
        """A name for each row; the same answer has the same name for every judge."""
        return [f"{row.example.item}/{row.example.model}" for row in self.rows]

    def filtered(self, keep: Sequence[bool] | NDArray[np.bool_]) -> HeldOutAnswers:
        """The rows for which `keep` is true."""
        return _answers_of(self.name, self.card, [row for row, kept in zip(self.rows, keep, strict=True) if kept])


def held_out_answers(run: ValidationRun, *, synthetic: bool, sides: Collection[Side] = ("held_out",)) -> HeldOutAnswers:
    """The synthetic or the rated rows of a validation run on the given `sides`, in a fixed order."""
    every = (*run.predictions, *run.left_out)
    rows = [row for row in every if row.example.synthetic == synthetic and row.side in sides]
    return _answers_of(run.name, run.card, sorted(rows, key=_order))


def held_out_questions(run: ValidationRun) -> HeldOutAnswers:
    """The rated answers to held-out questions, by held-out models and by training models."""
    return held_out_answers(run, synthetic=False, sides=("held_out", "known_model"))


def _order(row: Prediction) -> tuple[str, str, str, float]:
    example = row.example
    return example.family, example.item, example.model, example.target


def _answers_of(name: str, card: Mapping[str, Any], rows: Sequence[Prediction]) -> HeldOutAnswers:
    others = dict.fromkeys(other for row in rows for other in row.others)
    return HeldOutAnswers(
        name=name,
        card=card,
        rows=tuple(rows),
        predicted=np.array([row.predicted for row in rows], np.float64),
        targets=np.array([row.example.target for row in rows], np.float64),
        without_evidence=_column(row.without_evidence for row in rows),
        baselines={other: _column(row.others.get(other) for row in rows) for other in others},
    )


def _column(values: Any) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


@dataclass(frozen=True)
class JudgeReportFrame:
    """What all tables of a report share: texts, bootstrap settings, validity settings and published figures."""

    t: ReportTexts
    language: Language
    bootstrap: BootstrapSettings
    numbers: ValiditySpec
    published: PublishedJudges | None = None

    def cells(self, answers: HeldOutAnswers, statistics: Mapping[str, Statistic]) -> dict[str, TableCell]:
        """Each statistic of the rows with its interval over families."""
        found = bootstrap_estimates(statistics, answers.families, **self.bootstrap)
        return {name: self.cell(value) for name, value in found.items()}

    def cell(self, estimate: Estimate) -> TableCell:
        """An estimate as a cell; the reason for a missing value is translated."""
        cell = estimate_cell(estimate)
        return TableCell(cell.value, low=cell.low, high=cell.high, n=cell.n, why=self.why(cell.why))

    def why(self, reason: str) -> str:
        """The reason in the language of the report, if there is a translation."""
        return self.t.get(f"judges.why.{reason}", reason)

    def comparison_cells(
        self, answers: HeldOutAnswers, first: Statistic, second: Statistic
    ) -> tuple[TableCell, TableCell]:
        """The difference of two statistics of the same rows, and its p value."""
        found = bootstrap_difference(first, second, answers.families, **self.bootstrap)
        return self.cell(found), p_value_cell(found)

    def table(
        self, aspect: str, name: str, columns: Mapping[str, ValueFormat], lines: Sequence[TableLine], *, keys: int = 1,
        notes: Sequence[str] = (), **values: object,
    ) -> ResultTable:  # fmt: skip
        """A table; its title, introduction and headings are looked up by `name` and the keys of `columns`."""
        return ResultTable(
            name=f"{aspect}_{name}" if aspect else name,
            title=self.t(f"judges.{name}.title"),
            columns=tuple(TableColumn(key, self.t(f"judges.column.{key}"), form) for key, form in columns.items()),
            lines=tuple(lines),
            introduction=self.t(f"judges.{name}.lead", **values),
            notes=tuple(notes),
            keys=keys,
        )


def p_value_cell(difference: DifferenceEstimate) -> TableCell:
    """The p value of a difference as a cell."""
    return TableCell(difference.p)


def value_cell(value: float | None, why: str = "") -> TableCell:
    """A number without an interval as a cell; nan counts as missing."""
    return TableCell(None if value is None or np.isnan(value) else float(value), why=why)


def group_answers(answers: HeldOutAnswers, group_of: Callable[[Prediction], str]) -> list[tuple[str, HeldOutAnswers]]:
    """The rows by group, in the order of their names."""
    labels = [group_of(row) for row in answers.rows]
    return [(label, answers.filtered([other == label for other in labels])) for label in sorted(set(labels))]
