"""The tables of what the claims of answers come to, and the same as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import Any

from benchbuilder.evaluation.results.claims import OUTCOMES, ClaimFigures, ClaimResults
from benchbuilder.evaluation.results.context import CellValue, ResultsFrame, estimate_cell, table_columns
from benchbuilder.evaluation.results.run import EvaluatedSystem
from benchbuilder.exporters import ResultTable, TableColumn, TableLine

_COLUMNS = (
    "model:words=common.model asserts_wrong:percent asserts_right:percent contradictions:percent contradicted:decimal"
    " claim_precision:percent grounded:percent f1_at_k key_recall:percent claims:decimal n:count=results.answers_n"
    " n_decided:count n_claims:count"
)


def claim_tables(frame: ResultsFrame, found: ClaimResults | None) -> tuple[ResultTable, ...]:
    """What the claims come to by system, the outcomes of answers, and the misinformation rate by their length."""
    if found is None:
        return ()
    t = frame.t
    systems = {system.name: system for system in frame.run.systems}
    order = {group: place for place, group in enumerate(("model", "people", "rule"))}
    figures = sorted(found.figures, key=lambda one: order[systems[one.system].group])
    floor = [t("results.claims_floor")] if found.by_rule else []
    notes = [*floor, t("results.claims_k", k=found.k), t("results.claims_unaudited"), *_warnings(frame, figures)]
    return (
        ResultTable(
            "claims",
            t("results.claims_title", verifier=found.verifier),
            _columns(frame, _COLUMNS),
            tuple(_line(frame, systems[one.system], one) for one in figures),
            t("results.claims_lead"),
            tuple(notes),
        ),
        _outcomes(frame, systems, figures, floor),
        *_by_parts(frame, found, systems, figures, floor),
    )


def _columns(frame: ResultsFrame, columns: str) -> tuple[TableColumn, ...]:
    """Columns with their headings: ``results.claims_KEY`` unless another is given."""
    whole = (part if "=" in part else f"{part}=results.claims_{part.partition(':')[0]}" for part in columns.split())
    return table_columns(frame.t, " ".join(whole))


def _line(frame: ResultsFrame, system: EvaluatedSystem, one: ClaimFigures) -> TableLine:
    aspects = one.aspects
    numbers = {**aspects, "contradicted": one.contradicted, "claims": one.claims}
    names = [part.partition("=")[0].partition(":")[0] for part in _COLUMNS.split()[1:-3]]
    counts = (aspects["asserts_wrong"].n, aspects["claim_precision"].n, aspects["grounded"].n)
    return frame.line(system, *(estimate_cell(numbers[name]) for name in names), *map(float, counts))


def _outcomes(
    frame: ResultsFrame, systems: Mapping[str, EvaluatedSystem], figures: Sequence[ClaimFigures], notes: Sequence[str]
) -> ResultTable:
    t = frame.t
    shown = [name for name in OUTCOMES if any(one.outcomes.get(name) for one in figures)]
    columns = (TableColumn(name, t.get(f"results.claim_outcome.{name}", name), "count") for name in shown)
    lines = (frame.line(systems[one.system], *(float(one.outcomes.get(name, 0)) for name in shown)) for one in figures)
    head = TableColumn("model", t("common.model"), "words")
    return ResultTable(
        "claims_outcomes", t("results.claims_outcomes"), (head, *columns), tuple(lines), notes=tuple(notes)
    )


def _by_parts(
    frame: ResultsFrame,
    found: ClaimResults,
    systems: Mapping[str, EvaluatedSystem],
    figures: Sequence[ClaimFigures],
    notes: Sequence[str],
) -> tuple[ResultTable, ...]:
    """The misinformation rate of short and long answers; nothing if all have the same number of parts."""
    if not found.bounds:
        return ()
    t, columns = frame.t, [TableColumn("model", frame.t("common.model"), "words")]
    edges = [0, *found.bounds]
    labels = [t("results.claims_parts", low=low + 1, high=high) for low, high in pairwise(edges)]
    labels.append(t("results.claims_parts_over", low=edges[-1]))
    for number, label in enumerate(labels, 1):
        columns += [
            TableColumn(f"third_{number}", label, "percent"),
            TableColumn(f"n_{number}", t("results.answers_n"), "count"),
        ]
    lines: list[TableLine] = []
    for one in figures:
        cells: list[CellValue] = []
        for estimate in one.by_parts:
            cells += [estimate_cell(estimate), float(estimate.n)]
        lines.append(frame.line(systems[one.system], *cells))
    return (
        ResultTable(
            "claims_by_parts",
            t("results.claims_by_parts"),
            tuple(columns),
            tuple(lines),
            t("results.claims_by_parts_lead"),
            tuple(notes),
        ),
    )


def _warnings(frame: ResultsFrame, figures: Sequence[ClaimFigures]) -> list[str]:
    """That some answers are in no rate."""
    unread = sum(one.unread for one in figures)
    return [frame.t("results.claims_unread", n=unread)] if unread else []


def claims_data(found: ClaimResults) -> Mapping[str, Any]:
    """All figures as plain data, for ``results.json``."""
    about = {name: getattr(found, name) for name in ("scorer", "verifier", "by_rule", "k")}
    return {**about, "bounds": list(found.bounds), "systems": [_plain(one) for one in found.figures]}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {one.name: _plain(part) for one in fields(value) if (part := getattr(value, one.name)) != ""}
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return [_plain(part) for part in value] if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownVariableType]
