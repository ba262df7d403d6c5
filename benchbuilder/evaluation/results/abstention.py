"""Who says that it does not know: abstentions beside the accuracy, and a score in which a wrong answer costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.config import PenaltySpec
from benchbuilder.core import DataError
from benchbuilder.evaluation.parsing.verdict_tables import read_verdict_table
from benchbuilder.evaluation.results.columns import ItemScores, ItemValues
from benchbuilder.evaluation.results.context import CellValue, ResultsFrame
from benchbuilder.evaluation.results.means import expected_verdicts, ranked_systems
from benchbuilder.evaluation.results.run import ScoredAspect
from benchbuilder.evaluation.results.stated_metrics import ABSTENTION
from benchbuilder.exporters import ResultTable, TableCell, TableColumn

_ATTEMPTED = ("right", "wrong", "invalid")
_ABSTAINED = ("abstained", "refused")


def abstention_table(frame: ResultsFrame, measure: ScoredAspect, evaluation: Mapping[str, Any]) -> ResultTable:
    """Accuracy, accuracy of attempts, abstention rate, wrong rate and penalty score of each system.

    A verdict table without a list of abstentions leaves them unread: then the figures that need them are missing, and a
    note says which table it is.
    """
    t, penalty = frame.t, PenaltySpec.model_validate(evaluation.get("penalty") or {})
    unread = _tables_without_list(evaluation, measure)
    why = t("results.abstention_unread", tables=t("report.list_comma").join(unread)) if unread else ""
    weights = t("results.penalty_weights", **{name: f"{value:g}" for name, value in penalty.model_dump().items()})
    return ResultTable(
        name=f"{ABSTENTION}{measure.slug}",
        title=frame.with_form(t("results.abstention"), measure),
        introduction=t("results.abstention_lead"),
        columns=(
            TableColumn("model", t("common.model"), "words"),
            TableColumn("accuracy", t("results.accuracy"), "percent"),
            TableColumn("attempted", t("results.attempted"), "percent"),
            TableColumn("abstention", t("results.abstention_rate"), "percent"),
            TableColumn("abstained", t("results.abstained"), "percent"),
            TableColumn("refused", t("results.refused"), "percent"),
            TableColumn("wrong", t("results.wrong_rate"), "percent"),
            TableColumn("penalty", t("results.penalty", weights=weights), "signed"),
            TableColumn("n", t("results.questions"), "count"),
        ),
        lines=tuple(
            frame.line(system, *_cells(frame, measure, system.name, penalty, why))
            for system in ranked_systems(frame, measure)
        ),
        notes=tuple(filter(None, (t("results.abstention_note"), why))),
    )


def _cells(
    frame: ResultsFrame, measure: ScoredAspect, model: str, penalty: PenaltySpec, why: str
) -> tuple[CellValue, ...]:
    scores = frame.run.valued_scores(measure, model)
    scores = scores.where(expected_verdicts(frame, measure.form)[scores.places])

    def share(*labels: str) -> TableCell:
        return frame.mean_cell(_indicator(scores, labels), spread=False)

    weights = np.array([penalty.of(name) for name in scores.labels.names], np.float64)[scores.labels.codes]
    tried = scores.where(scores.labels.among(_ATTEMPTED))
    return (
        share("right"),
        TableCell(why=why) if why else frame.mean_cell(_indicator(tried, ("right",)), spread=False),
        TableCell(why=why) if why else share(*_ABSTAINED),
        TableCell(why=why) if why else share("abstained"),
        share("refused"),
        share("wrong"),
        frame.mean_cell(ItemValues(scores.places, weights), spread=False),
        len(scores.places),
    )


def _indicator(scores: ItemScores, labels: tuple[str, ...]) -> ItemValues:
    return ItemValues(scores.places, scores.labels.among(labels).astype(np.float64))


def _tables_without_list(evaluation: Mapping[str, Any], measure: ScoredAspect) -> list[str]:
    """The names of the verdict tables of the scorer that have no list of abstentions, or cannot be read any more."""
    spec: Mapping[str, Any] = (evaluation.get("scorers") or {}).get(measure.scorer) or {}
    named = [table if isinstance(table, Mapping) else {"path": str(table)} for table in spec.get("tables") or ()]
    files = [Path(str(table.get("resolved_path") or table["path"])) for table in named]
    return [file.name for file in files if not _has_list(file)]


def _has_list(file: Path) -> bool:
    try:
        table = read_verdict_table(file)
    except DataError:
        return False
    return bool(table.abstain)
