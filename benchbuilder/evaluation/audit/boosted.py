"""How well boosted trees guess labels, whole families held out; permutations would take hours, so there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import erfc, sqrt
from typing import Any

import numpy as np

from benchbuilder.evaluation.audit.estimator import fold_numbers
from benchbuilder.evaluation.audit.family_bootstrap import family_draws
from benchbuilder.evaluation.audit.features import Integers, Reals
from benchbuilder.evaluation.audit.findings import AuditCheck, AuditFinding, AuditSettings
from benchbuilder.evaluation.audit.run_checks import Z_SEEN, audit_word, why_not_measured


def run_boosted_checks(checks: Sequence[AuditCheck], settings: AuditSettings) -> list[AuditFinding]:
    """One finding per check; p is that of the bootstrap of families, by Bonferroni over these checks."""
    return [_finding(check, settings, len(checks)) for check in checks if not why_not_measured(check)]


def _finding(check: AuditCheck, settings: AuditSettings, many: int) -> AuditFinding:
    order = np.argsort(np.asarray(check.ids, np.str_), kind="stable")
    names, codes = np.unique(np.asarray(check.families, np.str_)[order], return_inverse=True)
    labels = np.asarray(check.labels, np.float64)[order]
    table = check.features.take(order).values.reshape(len(order), -1)
    folds = fold_numbers(codes.astype(np.int64), settings.folds, settings.seed, 0)
    hits = _hits(table, labels, folds, settings.seed)
    score = float(np.mean([hits[labels == label].mean() for label in (0, 1)]))
    drawn = family_draws(hits, labels, codes.astype(np.int64), settings.samples, settings.seed)
    low, high, upper = (float(bound) for bound in np.quantile(drawn, [0.025, 0.975, 0.95]))
    spread = max(float(drawn.std()), 1e-9)
    p = 0.5 * erfc((score - 0.5) / spread / sqrt(2))
    finding = AuditFinding(
        target=check.target, view=check.view, scope=check.scope, n=len(order), families=len(names), score=score,
        low=low, high=high, upper=max(upper, 0.5 + upper - score), p=p, p_family=min(1.0, p * many),
        smallest_visible=Z_SEEN * spread, word="cannot tell", gates=check.gates,
    )  # fmt: skip
    return replace(finding, word=audit_word(finding, settings))


def _hits(table: Reals, labels: Reals, folds: Integers, seed: int) -> Reals:
    """For each row 1, 0 or a half: whether its label is guessed from the other folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # of the extra `audit`

    hits = np.full(len(labels), 0.5)
    for fold in np.unique(folds):
        held, rest = folds == fold, folds != fold
        yes = labels[rest].mean()
        if yes in (0, 1):
            continue
        weights = np.where(labels[rest] == 1, 0.5 / yes, 0.5 / (1 - yes))
        model: Any = HistGradientBoostingClassifier(max_iter=100, random_state=seed)
        model.set_params(early_stopping=False)
        model.fit(table[rest], labels[rest], sample_weight=weights)
        margin = np.sign(model.decision_function(table[held]))
        hits[held] = np.where(labels[held] == 1, 0.5 + margin / 2, 0.5 - margin / 2)
    return hits
