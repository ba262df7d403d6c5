"""What the claims of answers come to, by system: how many answers assert the wrong statement, and what they rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.core import Floats, PageTexts, Table, find_kind
from benchbuilder.evaluation.plan import Evaluation
from benchbuilder.evaluation.results.claim_audit import ClaimAudit, audit_claims, read_claim_ratings
from benchbuilder.evaluation.results.columns import AskedItems, ItemScores
from benchbuilder.evaluation.results.context import (
    BootstrapSettings,
    CellValue,
    ResultsFrame,
    bootstrap_settings,
    estimate_cell,
    table_columns,
    table_line,
)
from benchbuilder.evaluation.results.gather import read_scores
from benchbuilder.evaluation.results.run import EvaluatedSystem
from benchbuilder.evaluation.scorers.claims import CLAIM_ASPECTS
from benchbuilder.evaluation.stats.intervals import Estimate, bootstrap_estimates, mean_estimate
from benchbuilder.evaluation.stats.statistic import mean_statistic
from benchbuilder.evaluation.steps.claims import CLAIMS
from benchbuilder.exporters import ResultTable, TableColumn, TableLine
from benchbuilder.pipeline import StepTables

OUTCOMES = ("right", "wrong", "mixed", "abstained", "refused", "off_topic", "empty", "filtered")
"""The outcomes of answers, in the order of tables."""
_THIRDS = 3


@dataclass(frozen=True)
class ClaimFigures:
    """What the claims of one system come to.

    Attributes:
        system: Its name.
        aspects: The mean of each aspect, with its number of answers, by `CLAIM_ASPECTS`.
        contradicted: Contradicted claims an answer.
        claims: Claims an answer.
        outcomes: How many answers have each outcome.
        by_parts: The misinformation rate of answers with few, more and most parts, by `ClaimResults.bounds`.
        unread: How many answers have a claim without a verdict that could change the rate, and are not in it.
    """

    system: str
    aspects: Mapping[str, Estimate]
    contradicted: Estimate
    claims: Estimate
    outcomes: Mapping[str, int]
    by_parts: tuple[Estimate, ...]
    unread: int

    @property
    def asserts_wrong(self) -> Estimate:
        """The misinformation rate: the share of answers that assert the wrong statement."""
        return self.aspects[CLAIM_ASPECTS[0]]


@dataclass(frozen=True)
class ClaimResults:
    """What the claims of all systems come to.

    Attributes:
        scorer: The scorer that counted them.
        verifier: The kind of verifier.
        by_rule: Whether it is a rule, so that the figures are a floor.
        k: The K of F1@K.
        bounds: The largest number of parts in the first and in the second third of all answers.
        figures: One entry a system; the least misinformation first.
        audit: How far people agree with the verifier; ``None`` if nobody has rated claims.
    """

    scorer: str
    verifier: str
    by_rule: bool
    k: int
    bounds: tuple[int, ...]
    figures: tuple[ClaimFigures, ...]
    audit: ClaimAudit | None = None

    def figure(self, system: str) -> ClaimFigures:
        """The figures of one system; KeyError without claims."""
        for one in self.figures:
            if one.system == system:
                return one
        raise KeyError(system)


def read_claims(
    tables: Mapping[str, Table[Any]], items: AskedItems, evaluation: Mapping[str, Any], bootstrap: BootstrapSettings
) -> ClaimResults | None:
    """What the claims of answers come to, by the first scorer that counts them; ``None`` if none does.

    Args:
        tables: The tables of the steps, by name.
        items: The items that were asked.
        evaluation: The evaluation of the recipe as plain data.
        bootstrap: How intervals are drawn.
    """
    scorers: Mapping[str, Any] = evaluation.get("scorers") or {}
    scorer = next((name for name, spec in scorers.items() if spec and spec["kind"] == "claims"), "")
    verifier = (evaluation.get("answer_claims") or {}).get("kind", "")
    if not scorer or not verifier:
        return None
    own = {name: table for name, table in tables.items() if name.startswith(f"{scorer}.")}
    scores = read_scores(own, items.index(), {})
    by_system: dict[str, dict[str, ItemScores]] = {}
    for (aspect, _, system), found in scores.items():
        by_system.setdefault(system, {})[aspect] = found
    parts = [found["contradictions"].counts for found in by_system.values()]
    sizes = np.concatenate([np.zeros(0), *(counts[:, 2] for counts in parts if counts is not None)])
    bounds = _bounds(sizes)
    if not by_system:
        return None
    figures = [_figures(name, found, items, bounds, bootstrap) for name, found in by_system.items()]
    figures.sort(key=lambda one: (one.asserts_wrong.value is None, one.asserts_wrong.value or 0.0, one.system))
    by_rule = find_kind("verifier", verifier).load().by_rule
    audit = _audit(tables, items, evaluation.get("claim_ratings"), bootstrap)
    return ClaimResults(scorer, verifier, by_rule, int(scorers[scorer]["k"]), bounds, tuple(figures), audit)


def _audit(
    tables: Mapping[str, Table[Any]], items: AskedItems, file: Any, bootstrap: BootstrapSettings
) -> ClaimAudit | None:
    """What people's ratings in a file, as a recipe names it, say of the claims."""
    if not (path := file.get("resolved_path") or file.get("path") if isinstance(file, Mapping) else file):  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return None
    own = [table for name, table in tables.items() if name.startswith(f"{CLAIMS}.")]
    return audit_claims(own, read_claim_ratings(Path(str(path))), items, bootstrap)  # pyright: ignore[reportUnknownArgumentType]


def evaluation_claims(evaluation: Evaluation) -> ClaimResults | None:
    """What the claims of answers come to in an evaluation that has run; ``None`` if they are not counted."""
    spec, store, plan = evaluation.spec, evaluation.store, evaluation.plan
    if spec.answer_claims is None:
        return None
    manifests = {name: store.manifest(name, node.key) for name, node in plan.nodes.items()}
    tables = StepTables(store, {name: manifest for name, manifest in manifests.items() if manifest is not None})
    data = {
        "answer_claims": {"kind": spec.answer_claims.kind},
        "scorers": {name: scorer.model_dump() for name, scorer in spec.scorers.items()},
        "claim_ratings": None if spec.claim_ratings is None else str(spec.claim_ratings.file),
    }
    return read_claims(tables, AskedItems.of(tables[plan.recipe.items]), data, bootstrap_settings(spec.bootstrap))


def _bounds(sizes: Floats) -> tuple[int, ...]:
    """The largest numbers of parts of the first and the second third of all answers; none if all have the same."""
    if not len(sizes):
        return ()
    found = np.quantile(sizes, [at / _THIRDS for at in range(1, _THIRDS)], method="lower").astype(int).tolist()
    return tuple(dict.fromkeys(bound for bound in found if bound < sizes.max()))


def _figures(
    name: str, scores: Mapping[str, ItemScores], items: AskedItems, bounds: Sequence[int], bootstrap: BootstrapSettings
) -> ClaimFigures:
    families = items.clusters.codes
    wrong, counted = scores["asserts_wrong"], scores["contradictions"]
    aspects = {
        aspect: mean_estimate(scores[aspect].numbers, families[scores[aspect].places], **bootstrap)
        for aspect in CLAIM_ASPECTS
    }
    counts = counted.counts if counted.counts is not None else np.zeros((len(counted.places), 3))
    clusters = families[counted.places]
    has_verdicts = counted.has_value
    numbers = bootstrap_estimates(
        {
            "contradicted": mean_statistic(np.where(has_verdicts, counts[:, 0], np.nan)),
            "claims": mean_statistic(counts[:, 1]),
        },
        clusters,
        **bootstrap,
    )
    group = np.searchsorted(np.array(bounds, np.float64), counts[:, 2])
    by_parts = tuple(
        mean_estimate(np.where(group == at, wrong.numbers, np.nan), clusters, **bootstrap)
        for at in range(len(bounds) + 1)
    )
    outcomes = Counter(wrong.labels)
    unread = int((~wrong.has_value).sum())
    return ClaimFigures(name, aspects, numbers["contradicted"], numbers["claims"], outcomes, by_parts, unread)


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
    notes = [*floor, t("results.claims_k", k=found.k), audit_note(frame.t, found.audit), *_warnings(frame, figures)]
    return (
        ResultTable(
            "claims",
            t("results.claims_title", verifier=found.verifier),
            _columns(frame, _COLUMNS),
            tuple(_line(frame, systems[one.system], one) for one in figures),
            t("results.claims_lead"),
            tuple(notes),
        ),
        *_audit_table(frame, found.audit),
        _outcomes(frame, systems, figures, floor),
        *_by_parts(frame, found, systems, figures, floor),
    )


def audit_note(t: PageTexts, audit: ClaimAudit | None) -> str:
    """Which figures people have checked; that nobody has, if so."""
    if audit is None or not audit.kappa:
        return t("results.claims_unaudited")
    checked = t("report.list_comma").join(t(f"results.claims_checked_{name}") for name in audit.checked)
    return t("results.claims_audited", n=audit.claims, raters=audit.raters, checked=checked)


def _audit_table(frame: ResultsFrame, audit: ClaimAudit | None) -> tuple[ResultTable, ...]:
    """How far people agree with the verifier; nothing if nobody has rated."""
    if audit is None or not audit.lines:
        return ()
    t = frame.t
    lines: list[TableLine] = []
    for one in audit.lines:
        cells = map(estimate_cell, (one.precision, one.recall))
        lines.append(table_line(t(f"results.claims_audit_{one.name}"), one.by_verifier, one.by_people, *cells))
    notes: list[str] = []
    for name, kappa in audit.kappa.items():
        value, low, high = ("–" if one is None else f"{one:.2f}" for one in (kappa.value, kappa.low, kappa.high))
        people = audit.people[name]
        among = "–" if people is None else f"{people:.2f}"
        asked = t(f"results.claims_asked_{name}")
        notes.append(t("results.claims_kappa", asked=asked, n=kappa.n, value=value, low=low, high=high, people=among))
    if audit.undecided or audit.other:
        notes.append(t("results.claims_left_out", undecided=audit.undecided, other=audit.other))
    columns = (
        "what:words=results.claims_audit_what by_verifier:count=results.claims_by_verifier"
        " by_people:count=results.claims_by_people precision:percent=results.claims_audit_precision"
        " recall:percent=results.claims_audit_recall"
    )
    return (
        frame.table(
            "claims_audit",
            t("results.claims_audit"),
            columns,
            lines,
            lead=t("results.claims_audit_lead"),
            notes=notes,
        ),
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
    audit = {} if found.audit is None else {"audit": _plain(found.audit)}
    return {**about, **audit, "bounds": list(found.bounds), "systems": [_plain(one) for one in found.figures]}


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {one.name: _plain(part) for one in fields(value) if (part := getattr(value, one.name)) != ""}
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return [_plain(part) for part in value] if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownVariableType]
