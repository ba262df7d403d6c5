"""The held-out answers of a judge as arrays, and the context that all tables of the report share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from benchbuilder.config import EvaluationSpec
from benchbuilder.core import Floats, PageTexts
from benchbuilder.evaluation.judge_report.probe_spec import ProbesSpec, ValiditySpec
from benchbuilder.evaluation.judge_training.predictions import Prediction, Side, ValidationRun
from benchbuilder.evaluation.published import PublishedJudges
from benchbuilder.evaluation.results.context import (
    BootstrapSettings,
    CellValue,
    bootstrap_settings,
    estimate_cell,
    table_line,
)
from benchbuilder.evaluation.stats.intervals import Estimate, bootstrap_difference, bootstrap_estimates
from benchbuilder.evaluation.stats.statistic import Statistic
from benchbuilder.exporters import ResultTable, TableCell, TableColumn, TableLine, ValueFormat

THRESHOLD = 0.5
SIDES = get_args(Side)
Measure = Callable[[Floats, Floats], Statistic]
_COLUMNS: Mapping[ValueFormat, str] = {
    "words": "judge kind note baseline measure better model rater outcome pairs source type side group probe verdict "
    "expected limits view finding",
    "count": "n raters labelled unlabelled models compared swapped",
    "signed": "over_majority bias difference delta",
    "percent": "guessed positive near narrower level coverage judge_advantage human_advantage flips",
}
"""The keys of columns by their format; all other columns are scores."""


@dataclass(frozen=True)
class HeldOutAnswers:
    """Held-out answers that one judge scored, one row per answer."""

    name: str
    card: Mapping[str, Any]
    rows: tuple[Prediction, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def predicted(self) -> Floats:
        """The scores of the judge."""
        return _column(row.predicted for row in self.rows)

    @cached_property
    def targets(self) -> Floats:
        """The mean human scores."""
        return _column(row.example.target for row in self.rows)

    @cached_property
    def without_evidence(self) -> Floats:
        """The scores of the judge without paragraphs; nan where that was not tried."""
        return _column(row.without_evidence for row in self.rows)

    @cached_property
    def baselines(self) -> Mapping[str, Floats]:
        """The scores of simpler predictors; nan where one was not tried."""
        names = dict.fromkeys(name for row in self.rows for name in row.others)
        return {name: _column(row.others.get(name) for row in self.rows) for name in names}

    @property
    def split(self) -> str:
        """The name of the split."""
        return str(self.card.get("split", ""))

    @property
    def shared_paragraphs(self) -> Mapping[str, int]:
        """How many ``answers`` have paragraphs and share ``some`` or ``all`` of them with the training data."""
        return (self.card.get("held_out") or {}).get("shared_paragraphs", {})

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

    def statistics(self, **measures: Measure) -> dict[str, Statistic]:
        """Each measure of the predicted scores against the human scores."""
        return {name: measure(self.predicted, self.targets) for name, measure in measures.items()}

    def names(self) -> list[str]:
        """A name for each row; the same answer has the same name for every judge."""
        return [f"{row.example.item}/{row.example.model}" for row in self.rows]

    def filtered(self, keep: Sequence[bool] | NDArray[np.bool_]) -> HeldOutAnswers:
        """The rows for which `keep` is true."""
        return replace(self, rows=tuple(row for row, kept in zip(self.rows, keep, strict=True) if kept))


def held_out_answers(run: ValidationRun, *, synthetic: bool, sides: Collection[Side] = ("held_out",)) -> HeldOutAnswers:
    """The synthetic or the rated rows of a validation run on the given `sides`, in a fixed order."""
    every = (*run.predictions, *run.left_out)
    rows = [row for row in every if row.example.synthetic == synthetic and row.side in sides]
    return HeldOutAnswers(run.name, run.card, tuple(sorted(rows, key=_order)))


def held_out_questions(run: ValidationRun) -> HeldOutAnswers:
    """The rated answers to held-out questions, by held-out models and by training models."""
    return held_out_answers(run, synthetic=False, sides=("held_out", "known_model"))


def _order(row: Prediction) -> tuple[str, str, str, float]:
    example = row.example
    return example.family, example.item, example.model, example.target


def _column(values: Iterable[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


@dataclass(frozen=True)
class JudgeReportFrame:
    """What all tables of a report share: texts, settings, probes and published figures."""

    t: PageTexts
    spec: EvaluationSpec
    probes: ProbesSpec | None
    published: PublishedJudges | None

    @cached_property
    def bootstrap(self) -> BootstrapSettings:
        """How intervals are drawn."""
        return bootstrap_settings(self.spec.bootstrap)

    @cached_property
    def numbers(self) -> ValiditySpec:
        """The settings that are a matter of judgement."""
        return self.probes.validity if self.probes is not None else ValiditySpec()

    def cells(self, answers: HeldOutAnswers, statistics: Mapping[str, Statistic]) -> dict[str, TableCell]:
        """Each statistic of the rows with its interval over families."""
        estimates = bootstrap_estimates(statistics, answers.families, **self.bootstrap)
        return {name: self.cell(value) for name, value in estimates.items()}

    def cell(self, estimate: Estimate) -> TableCell:
        """An estimate as a cell; the reason for a missing value is translated."""
        return estimate_cell(replace(estimate, why=self.why(estimate.why)))

    def why(self, reason: str) -> str:
        """The reason in the language of the report, if there is a translation."""
        return self.t.get(f"judges.why.{reason}", reason)

    def comparison_cells(
        self, answers: HeldOutAnswers, first: Statistic, second: Statistic
    ) -> tuple[TableCell, TableCell]:
        """The difference of two statistics of the same rows, and its p value."""
        difference = bootstrap_difference(first, second, answers.families, **self.bootstrap)
        return self.cell(difference), TableCell(difference.p)

    def line(self, answers: HeldOutAnswers, *values: CellValue) -> TableLine:
        """The line of a judge: its name, the number of its answers, and `values`."""
        return table_line(answers.name, len(answers), *values, group="judge")

    def table(
        self, aspect: str, name: str, columns: str, lines: Sequence[TableLine], *, keys: int = 1,
        notes: Sequence[str] = (), **values: object,
    ) -> ResultTable:  # fmt: skip
        """A table with `columns` (keys with spaces between); its texts are looked up by `name` and these keys."""
        return ResultTable(
            name=f"{aspect}_{name}" if aspect else name,
            title=self.t(f"judges.{name}.title"),
            columns=tuple(TableColumn(key, self.t(f"judges.column.{key}"), _format(key)) for key in columns.split()),
            lines=tuple(lines),
            introduction=self.t(f"judges.{name}.lead", **values),
            notes=tuple(notes),
            keys=keys,
        )


def _format(key: str) -> ValueFormat:
    for form, keys in _COLUMNS.items():
        if key in keys.split():
            return form
    return "score"


def group_answers(answers: HeldOutAnswers, group_of: Callable[[Prediction], str]) -> list[tuple[str, HeldOutAnswers]]:
    """The rows by group, in the order of their names."""
    labels = [group_of(row) for row in answers.rows]
    return [(label, answers.filtered([other == label for other in labels])) for label in sorted(set(labels))]
