"""People's ratings of claims: a sample for them to rate, and how far they agree with the verifier."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchbuilder.annotation import EXPORT_COLUMNS, csv_bytes, escape_formula, read_exported_answers, unescape_formula
from benchbuilder.core import (
    AnswerClaim,
    Floats,
    Table,
    measure_agreement,
    normalise_space,
    raise_row_errors,
    read_row_file,
    safe_ratio,
    show_invisible,
)
from benchbuilder.evaluation.judges.base import Case
from benchbuilder.evaluation.results.columns import AskedItems
from benchbuilder.evaluation.results.context import BootstrapSettings
from benchbuilder.evaluation.stats.intervals import Estimate, bootstrap_estimates
from benchbuilder.evaluation.stats.statistic import Bools, Statistic, statistic_of_sums

ANSWERS: Mapping[str, Mapping[str, str]] = {
    "verdict": {"0": "contradicted", "1": "not_addressed", "2": "supported"},
    "asserts_wrong": {"0": "no", "1": "yes"},
}
"""What people are asked about a claim, and what their values mean."""
_SHOWN = ("supported", "contradicted", "not_addressed")
_EMPTY = "_"


@dataclass(frozen=True)
class AuditLine:
    """How often verifier and people find `name`, and how far they agree: counts are of rated claims."""

    name: str
    by_verifier: int
    by_people: int
    precision: Estimate
    recall: Estimate


@dataclass(frozen=True)
class ClaimAudit:
    """How far people agree with the verifier.

    Attributes:
        claims: Claims on whose verdict or assertion people are of one mind.
        raters: How many people rated.
        undecided: Ratings of a claim by several people without a majority.
        other: Rated claims that are not in this evaluation, or read otherwise now.
        lines: A line for each verdict, and for asserting the wrong statement. Claims weigh as many as they stand for.
        kappa: Cohen's kappa of verifier and people, by what was asked.
        people: Gwet's AC1 of people among themselves, by what was asked; ``None`` where it is undefined.
    """

    claims: int
    raters: int
    undecided: int
    other: int
    lines: tuple[AuditLine, ...]
    kappa: Mapping[str, Estimate]
    people: Mapping[str, float | None]

    @property
    def checked(self) -> tuple[str, ...]:
        """What people were asked and answered."""
        return tuple(self.kappa)


@dataclass(frozen=True, slots=True)
class _Rating:
    claim: str
    text: str
    question: str
    person: str
    role: str
    value: str


def stratum(row: AnswerClaim) -> str:
    """What claims are drawn by: the verdict, which other parts have none of; empty for a claim that was not read."""
    return row.verdict or ("" if row.kind == "claim" else "not_addressed")


def says_of(row: AnswerClaim) -> Mapping[str, str]:
    """What the verifier answers to the questions that people are asked."""
    wrong = row.kind == "claim" and row.taken_back_by is None and (row.wrong == "says" or row.right == "denies")
    return {"verdict": stratum(row), "asserts_wrong": "yes" if wrong else "no"}


def draw_claims(answers: Iterable[Sequence[AnswerClaim]], most: int, seed: int) -> dict[str, str]:
    """Ids of up to `most` claims with those of their answers: alike from each system and verdict, drawn by `seed`."""
    strata: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
    for rows in answers:
        for row in rows if rows[0].number else ():
            drawn = hashlib.blake2b(f"{seed}\0{row.id}".encode(), digest_size=8).hexdigest()
            if name := stratum(row):
                strata[row.model, name].append((drawn, row.id, row.of))
    turns = sorted((turn, *one) for found in strata.values() for turn, one in enumerate(sorted(found)))
    return {claim: answer for _, _, claim, answer in turns[:most]}


def row_to_rate(row: AnswerClaim, case: Case) -> dict[str, Any]:
    """A claim as people are shown it: marked in its answer, without the system and the verdict."""
    marked = f"{case.answer[: row.start]}【{case.answer[row.start : row.end]}】{case.answer[row.end :]}"
    shown = {"question": case.question, "answer": marked, "claim": row.text, "right": case.right, "wrong": case.wrong}
    return {"id": row.id, **shown, "evidence": list(case.evidence)}


def sheet_to_rate(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The rows as a sheet, with empty columns for the values of one person."""
    lines: list[list[str]] = []
    for row in rows:
        evidence = "\n".join(f"{number}. {text}" for number, text in enumerate(row["evidence"], 1))
        cells = [*(str(value) for name, value in row.items() if name != "evidence"), evidence]
        lines.append([*(escape_formula(show_invisible(cell)) for cell in cells), "", ""])
    head = ["id", "question", "answer", "claim", "right", "wrong", "evidence", *(f"{name}.1" for name in ANSWERS)]
    return csv_bytes([head, *lines])


def read_claim_ratings(path: Path) -> list[_Rating]:
    """The ratings in an export of votes, or in a sheet with columns ``verdict.RATER`` and ``asserts_wrong.RATER``.

    DataError lists rows without an id, and values that are none of those asked for.
    """
    rows = read_row_file(path)
    columns = set[str]().union(*(row for _, row in rows))
    found: list[_Rating] = []
    if columns >= EXPORT_COLUMNS:
        for vote in read_exported_answers(path, rows):
            if vote.question in ANSWERS:
                text = vote.fields.get("claim", "")
                own = (vote.question, vote.person, vote.role, str(vote.value))
                found += [_Rating(claim or vote.location, text, *own) for claim in vote.metadata.get("id", ("",))]
    else:
        for line, row in rows:
            claim = str(row.get("id") or "").strip() or f"{path.name}:{line}"
            text = unescape_formula(str(row.get("claim") or ""))
            for name in sorted(column for column in row if column.partition(".")[0] in ANSWERS):
                question, _, person = name.partition(".")
                if str(row[name] or "").strip():
                    found.append(_Rating(claim, text, question, person or "1", "annotator", str(row[name])))
    problems = [
        f"{one.claim}: {one.question} is {one.value!r}; known are {', '.join(ANSWERS[one.question])}"
        for one in found
        if _label(one) == _EMPTY
    ]
    if not found:
        problems = [f"{path.name}: no row has a value in verdict or asserts_wrong"]
    raise_row_errors(problems, f"{path.name} holds ratings of claims that cannot be used", "correct these cells")
    return found


def _label(one: _Rating) -> str:
    """What a value means; a number may be written as a spreadsheet writes it (2.0)."""
    value = one.value.strip().lower().removesuffix(".0")
    known = ANSWERS[one.question]
    return known.get(value, value if value in known.values() else _EMPTY)


def audit_claims(
    tables: Sequence[Table[Any]], ratings: Sequence[_Rating], items: AskedItems, bootstrap: BootstrapSettings
) -> ClaimAudit:
    """How far `ratings` agree with the claims in `tables`, one of a system each."""
    by_claim: dict[str, list[_Rating]] = defaultdict(list)
    for one in ratings:
        by_claim[one.claim].append(one)
    rows: dict[str, AnswerClaim] = {}
    sizes: Counter[tuple[str, str]] = Counter()
    for table in tables:
        for row in table.find(by_claim):
            texts = {normalise_space(one.text) for one in by_claim[row.id]} - {""}
            if stratum(row) and texts <= {normalise_space(row.text)}:
                rows[row.id] = row
        for batch in table.batches(["model", "kind", "verdict", "number"]):
            for part in batch.to_pylist():
                verdict = part["verdict"] or ("" if part["kind"] == "claim" else "not_addressed")
                sizes[part["model"], verdict] += part["number"] > 0
    rated = Counter((row.model, stratum(row)) for row in rows.values())
    weights = {claim: sizes[row.model, stratum(row)] / rated[row.model, stratum(row)] for claim, row in rows.items()}
    places, families = {name: at for at, name in enumerate(items.ids)}, items.clusters.codes
    lines: list[AuditLine] = []
    kappa: dict[str, Estimate] = {}
    people: dict[str, float | None] = {}
    decided = set[str]()
    undecided = 0
    for question, values in ANSWERS.items():
        votes = {claim: [one for one in by_claim[claim] if one.question == question] for claim in rows}
        labels = {claim: _decided(own) for claim, own in votes.items() if own}
        undecided += sum(not label for label in labels.values())
        if not (kept := [claim for claim, label in labels.items() if label]):
            continue
        decided |= set(kept)
        theirs, own = (
            np.array([labels[claim] for claim in kept]),
            np.array([says_of(rows[at])[question] for at in kept]),
        )
        weight = np.array([weights[claim] for claim in kept])
        clusters = families[[places[rows[claim].item] for claim in kept]]
        shown = _SHOWN if question == "verdict" else ("yes",)
        statistics = dict(_statistics(own, theirs, weight, shown, tuple(values.values())))
        found = bootstrap_estimates(statistics, clusters, **bootstrap)
        kappa[question] = found["kappa"]
        for value in shown:
            name = value if question == "verdict" else question
            said, by_people = (int((side == value).sum()) for side in (own, theirs))
            lines.append(AuditLine(name, said, by_people, found[f"precision {value}"], found[f"recall {value}"]))
        units = [[{one.person: _label(one) for one in mine if one.role != "adjudicator"}] for mine in votes.values()]
        agreed = measure_agreement(
            units, level="nominal", samples=0, confidence_level=0.95, seed=0, categories=values.values()
        )
        people[question] = agreed["ac1"].get("value")
    raters = len({one.person for claim in rows for one in by_claim[claim]})
    return ClaimAudit(len(decided), raters, undecided, len(by_claim) - len(rows), tuple(lines), kappa, people)


def _decided(ratings: Sequence[_Rating]) -> str:
    """What an adjudicator says, else most people; empty if there is no majority."""
    final = [one for one in ratings if one.role == "adjudicator"]
    (label, most), *others = Counter(map(_label, final or ratings)).most_common()
    return "" if others and others[0][1] == most else label


Labels = NDArray[np.str_]


def _statistics(
    own: Labels, theirs: Labels, weights: Floats, shown: Sequence[str], labels: Sequence[str]
) -> Iterator[tuple[str, Statistic]]:
    """Precision and recall of each shown answer of the verifier (`own`), and kappa over all `labels`."""
    everywhere: Bools = np.ones(len(weights), np.bool_)

    def share(hit: Bools, of: Bools) -> Statistic:
        columns = [weights * of, weights * (of & hit)]
        return statistic_of_sums(columns, lambda sums: safe_ratio(sums[:, 1], sums[:, 0]), everywhere, "there is none")

    for value in shown:
        yield f"precision {value}", share(theirs == value, own == value)
        yield f"recall {value}", share(own == value, theirs == value)

    def kappa(sums: Floats) -> Floats:
        cells = sums.reshape(len(sums), len(labels), len(labels))
        total = sums.sum(1)
        agreed = safe_ratio(np.trace(cells, axis1=1, axis2=2), total)
        expected = safe_ratio((cells.sum(1) * cells.sum(2)).sum(1), total**2)
        return safe_ratio(agreed - expected, 1 - expected)

    cells = [weights * ((own == one) & (theirs == other)) for one in labels for other in labels]
    yield "kappa", statistic_of_sums(cells, kappa, everywhere, "people and verifier gave one answer only")
