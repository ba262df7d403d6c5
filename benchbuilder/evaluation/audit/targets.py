"""What is guessed: the verdict, the truth, or the right one of two answers; and the checks of each view of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchbuilder.config import AuditScope, AuditTarget
from benchbuilder.core import STATEMENT_FORM
from benchbuilder.evaluation.audit.features import ViewFeatures
from benchbuilder.evaluation.audit.findings import AuditCheck
from benchbuilder.evaluation.audit.subjects import AuditedBenchmark, AuditSubject
from benchbuilder.evaluation.audit.views.base import View, ViewContext
from benchbuilder.exporters import CROSSED

FEWEST_OF_RELATION = 40
"""A relation with fewer families is no scope of its own."""


@dataclass(frozen=True)
class TargetSubjects:
    """The subjects of a target with their labels. For the target ``pair``, `wrong` are the other answers."""

    target: AuditTarget
    subjects: tuple[AuditSubject, ...]
    labels: tuple[bool, ...]
    wrong: tuple[AuditSubject, ...] = ()

    def see(self, view: View, context: ViewContext) -> SeenTarget | str:
        """What a view sees; of a pair, the features of the right answer minus those of the wrong one."""
        seen = view.see((*self.subjects, *self.wrong), context)
        if isinstance(seen, str):
            return seen
        present = np.diff(seen.indptr) > 0
        if not self.wrong or seen.signed:
            return SeenTarget(seen, present)
        count = len(self.subjects)
        return SeenTarget(difference_rows(seen), present[:count] | present[count:])


@dataclass(frozen=True)
class SeenTarget:
    """The features of each subject, and whether the view applies to it: whether it has any, on either side."""

    features: ViewFeatures
    applies: NDArray[np.bool_]


def audit_targets(benchmark: AuditedBenchmark) -> list[TargetSubjects]:
    """The targets that the benchmark has: ``truth`` only where some questions are negated and others are not."""
    questions = benchmark.questions
    found: list[TargetSubjects] = []
    if questions:
        verdicts = tuple(subject.expected == "yes" for subject in questions)
        found.append(TargetSubjects("verdict", questions, verdicts))
        if any(subject.negated for subject in questions):
            truth = tuple(yes != subject.negated for yes, subject in zip(verdicts, questions, strict=True))
            found.append(TargetSubjects("truth", questions, truth))
    if benchmark.pairs:
        right, wrong = (tuple(getattr(pair, side) for pair in benchmark.pairs) for side in ("right", "wrong"))
        found.append(TargetSubjects("pair", right, tuple(True for _ in right), wrong))
    return found


def difference_rows(seen: ViewFeatures) -> ViewFeatures:
    """The first half of the rows minus the second half; what both have is left out."""
    count, width = seen.rows // 2, max(seen.width, 1)
    owner = seen.row_of_entry
    signs = np.where(owner < count, 1.0, -1.0)
    keys, places = np.unique((owner % count) * width + seen.indices, return_inverse=True)
    values = np.bincount(places, seen.values * signs, minlength=len(keys)).astype(np.float64)
    left = values != 0
    rows, indices = np.divmod(keys[left], width)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int64)
    return ViewFeatures(indptr, indices, values[left], seen.names, signed=True)


@dataclass(frozen=True)
class SkippedView:
    """A view that does not apply, and the reason: a name, such as ``no_triples``."""

    view: str
    why: str


class TargetChecks:
    """The checks of all views of a target, in all scopes."""

    def __init__(self, target: TargetSubjects, scopes: Sequence[AuditScope]) -> None:
        self.target = target
        self.groups = dict(_groups(target, scopes))
        self.skipped: list[SkippedView] = []
        self._forms_checked = set[str]()

    def checks(
        self, views: Mapping[str, View], context: ViewContext, *, paragraphs_shown: bool
    ) -> Iterator[AuditCheck]:
        """One check for each view and group; with both forms, each view also crossed with the form."""
        seen: dict[str, ViewFeatures] = {}
        for name, view in views.items():
            if self.target.target not in view.targets:
                continue
            found = self.target.see(view, replace(context, seen=dict(seen)))
            if isinstance(found, str):
                self.skipped.append(SkippedView(name, found))
                continue
            gates = view.closes_gate(paragraphs_shown=paragraphs_shown)
            if gates and not view.boosted:
                seen[name] = found.features
            yield from self._checks_of_view(name, found, gates=gates, crossing=not view.boosted)

    def _checks_of_view(self, name: str, found: SeenTarget, *, gates: bool, crossing: bool) -> Iterator[AuditCheck]:
        for scope, group in self.groups.items():
            rows = [row for row in group if found.applies[row]]
            if not self._can_be_guessed(rows):
                continue
            part = found.features.take(rows)
            says_nothing = _is_constant(part)
            if not says_nothing or len(rows) == len(self.target.subjects):
                yield self._check(name, scope, rows, part, gates=gates)
            negated = [self.target.subjects[row].negated for row in rows]
            if not crossing or self.target.target != "verdict" or all(negated) or not any(negated):
                continue
            if not says_nothing or scope not in self._forms_checked:
                yield self._check(name + CROSSED, scope, rows, part.crossed(negated), gates=gates)
            if says_nothing:
                self._forms_checked.add(scope)  # what says nothing sees the form alone when crossed with it

    def _can_be_guessed(self, rows: Sequence[int]) -> bool:
        """Whether there is anything to guess: two families, and two labels or two answers."""
        target = self.target
        several = len({target.subjects[row].family for row in rows}) > 1
        return several and (bool(target.wrong) or len({target.labels[row] for row in rows}) > 1)

    def _check(self, view: str, scope: str, rows: Sequence[int], features: ViewFeatures, *, gates: bool) -> AuditCheck:
        subjects = self.target.subjects
        return AuditCheck(
            self.target.target, view, scope, features, [subjects[row].id for row in rows],
            [] if features.signed else [self.target.labels[row] for row in rows],
            [subjects[row].family for row in rows], gates,
        )  # fmt: skip


def _is_constant(features: ViewFeatures) -> bool:
    """Whether all rows say the same, which tells nothing; of pairs, whether no answer differs from the other."""
    if features.signed:
        return not len(features.indices)
    first = features.take([0])
    if features.rows * len(first.indices) != len(features.indices):
        return False
    entries = (features.indices, first.indices), (features.values, first.values)
    return all(bool(np.all(every == np.tile(one, features.rows))) for every, one in entries)


def _groups(target: TargetSubjects, scopes: Sequence[AuditScope]) -> Iterator[tuple[str, list[int]]]:
    """The groups of each scope with their places; equal groups once, and only those with both labels."""
    known = set[tuple[int, ...]]()
    for scope in scopes:
        for group, rows in rows_by_group(target.subjects, scope).items():
            if target.target == "pair" and group in ("affirmed", "negated"):
                continue
            families = {target.subjects[row].family for row in rows}
            labels = {target.labels[row] for row in rows}
            small = len(families) < (FEWEST_OF_RELATION if scope == "relation" else 2)
            if not small and (target.wrong or len(labels) > 1) and tuple(rows) not in known:
                known.add(tuple(rows))
                yield scope_name(scope, group), rows


def scope_name(scope: str, group: str) -> str:
    """The name of a group of a scope in checks."""
    return f"{scope}\t{group}"


def rows_by_group(subjects: Sequence[AuditSubject], scope: AuditScope) -> dict[str, list[int]]:
    """The places of the subjects by the group that they are in; those without one are in none."""
    groups: dict[str, list[int]] = {}
    for place, subject in enumerate(subjects):
        if group := _group_of(subject, scope):
            groups.setdefault(group, []).append(place)
    return dict(sorted(groups.items()))


def _group_of(subject: AuditSubject, scope: AuditScope) -> str:
    if scope == "all":
        return "all"
    if scope == "form" and subject.form != STATEMENT_FORM:
        return subject.form
    if scope == "form":
        return "negated" if subject.negated else "affirmed"
    return {"source": subject.source, "relation": subject.relation, "type": subject.type}[scope]
