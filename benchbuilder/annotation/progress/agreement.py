"""How far people agree on each guiding question: figures with intervals, or why there is none, by a code for words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchbuilder.annotation.aggregate import Verdicts, agreement
from benchbuilder.annotation.base import Ballot, Subject, Value
from benchbuilder.annotation.tasks import Asked
from benchbuilder.config.spec.annotation import GuidingQuestion, JudgingSpec
from benchbuilder.core.stats.agreement.ratings import paradox

WhyUndefined = Literal["", "nothing", "unanimous", "few", "alike"]
WhyWithoutInterval = Literal["", "single", "resamples"]

MEASURES = (
    "percent", "kappa", "weighted_kappa", "ac1", "mean_difference", "within_tolerance", "alpha", "icc21", "icc2k",
)  # fmt: skip

_OBSERVED = ("percent", "mean_difference", "within_tolerance")
"""Those that say what was observed; the others compare it with chance, which says nothing if all answers are one."""


@dataclass(frozen=True)
class Figure:
    """A measure of agreement with its interval, or why it is undefined.

    `why` is ``nothing`` (two people judged nothing), ``unanimous`` (everybody gave just `only`), ``few`` (fewer than
    two things were judged by all) or ``alike`` (the judgements do not tell things apart). Where only the interval is
    missing, `without` says why: ``single`` (one task alone) or ``resamples`` (undefined in most of them).
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    why: WhyUndefined = ""
    only: float | None = None
    without: WhyWithoutInterval = ""


@dataclass(frozen=True)
class QuestionStanding:
    """A guiding question: how far people agree on it before adjudication, and what is in dispute.

    `shared` counts what two or more judged, and `measures` (by name, in the order of `MEASURES`) is of these; texts
    have none. `judged` counts what all annotators that it takes have judged, `disputed` what of it they are in
    dispute about, `settled` what of that an adjudicator decided. `common` is the most frequent answer and its share
    of 1 of all answers, where there is one. `paradox` says that people mostly agree and kappa is low all the same,
    since one answer is so frequent.
    """

    name: str
    question: GuidingQuestion
    required: float | None
    scale: str
    raters: int
    shared: int
    measures: Mapping[str, Figure]
    kappa_kind: str
    paradox: bool
    common: tuple[float, float] | None
    judged: int
    disputed: int
    settled: int


def question_standings(
    spec: JudgingSpec, asked: Mapping[Subject, Asked], ballot: Ballot, verdicts: Verdicts, samples: int
) -> tuple[QuestionStanding, ...]:
    """One for each guiding question in their order, with intervals of `samples` resamples."""
    draw = spec.bootstrap.model_copy(update={"samples": samples})
    found = agreement(asked, ballot, spec.model_copy(update={"bootstrap": draw}))
    waiting = Counter(asked[subject].question for subject in verdicts.disputed)
    settled = Counter(asked[subject].question for subject in verdicts.adjudicated)
    judged = waiting + Counter(asked[subject].question for subject in verdicts.decided)
    given = _given(spec, asked, ballot)
    required = spec.required("claim") | spec.required("evidence")
    return tuple(
        QuestionStanding(
            name=name,
            question=question,
            required=required.get(name),
            scale=found[name]["scale"] if name in found else "",
            raters=len(given[name].people),
            shared=given[name].shared,
            measures=_figures(found[name], given[name]) if name in found else {},
            kappa_kind=found[name].get("kappa_kind", "cohen") if name in found else "",
            paradox=name in found and paradox(found[name]),
            common=given[name].common(),
            judged=judged[name] or given[name].complete,
            disputed=waiting[name] + settled[name],
            settled=settled[name],
        )
        for name, question in spec.asked().items()
    )


class _Given:
    """The answers to one question: `shared` counts what two or more people judged, `complete` what enough did."""

    def __init__(self) -> None:
        self.values = Counter[Value]()
        self.people = set[str]()
        self.shared = self.complete = 0

    def common(self) -> tuple[float, float] | None:
        numbers = [(value, n) for value, n in self.values.most_common(1) if not isinstance(value, str)]
        return next(((float(value), n / self.values.total()) for value, n in numbers), None)

    def only(self) -> float | None:
        """The value that everybody gave, if it is just one."""
        common = self.common()
        return common[0] if common and len(self.values) == 1 else None


def _given(spec: JudgingSpec, asked: Mapping[Subject, Asked], ballot: Ballot) -> dict[str, _Given]:
    each = spec.votes_each()
    found = {name: _Given() for name in spec.asked()}
    values: dict[str, list[Value]] = {name: [] for name in found}
    for subject, votes in ballot.votes.items():
        what = asked.get(subject)
        if what is None:
            continue
        given = found[what.question]
        given.complete += len(votes) >= each
        if len(votes) >= 2:
            given.shared += 1
            given.people.update(votes)
            values[what.question] += votes.values()
    for name, given in found.items():
        given.values = Counter(values[name])
    return found


def _figures(data: Mapping[str, Any], given: _Given) -> dict[str, Figure]:
    return {name: _figure(data, name, given) for name in MEASURES if name in data}


def _figure(data: Mapping[str, Any], name: str, given: _Given) -> Figure:
    measured: Mapping[str, Any] = data[name]
    if "undefined" in measured or (name not in _OBSERVED and len(given.values) == 1):
        why = _why(data, given)
        return Figure(None, why=why, only=given.only() if why == "unanimous" else None)
    low, high = measured.get("low"), measured.get("high")
    if low is None:
        return Figure(measured["value"], without="single" if data["clusters"] < 2 else "resamples")
    return Figure(measured["value"], low, high)


def _why(data: Mapping[str, Any], given: _Given) -> WhyUndefined:
    if data["n"] == 0:
        return "nothing"
    if len(given.values) == 1:
        return "unanimous"
    return "few" if data.get("complete", 2) < 2 else "alike"
