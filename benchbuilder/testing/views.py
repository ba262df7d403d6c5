"""The contract of views of the audit."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from benchbuilder.config import AuditTarget
from benchbuilder.evaluation import AuditSubject, View, ViewContext, ViewFeatures
from benchbuilder.testing.contract import in_worker_process, require

NamedRows = list[dict[str, float]]


def check_view(make: Callable[[], View], subjects: Sequence[AuditSubject], context: ViewContext) -> NamedRows | str:
    """Check a view: one row of features per subject, the same in any order and process.

    It must not read the expected verdict, or whether the text is negated: those are what is guessed.

    Args:
        make: Makes a new view.
        subjects: Example subjects.
        context: What the view knows besides.

    Returns:
        The features of each subject by name, or the reason why the view does not apply.

    Raises:
        ContractError: The view breaks a promise.
    """
    who = f"the view {make().kind!r}"
    require(set(make().targets) <= set(get_args(AuditTarget)), f"{who} names a target that there is not")
    seen = make().see(subjects, context)
    if isinstance(seen, str):
        require(seen.isidentifier(), f"{who} gives the reason {seen!r}, which is not an identifier")
        return seen
    require(seen.rows == len(subjects), f"{who} makes {seen.rows} rows of {len(subjects)} subjects")
    require(bool(np.all(np.isfinite(seen.values))), f"{who} makes a value that is not a number")
    rows = named_rows(seen)
    turned = make().see(list(subjects)[::-1], context)
    require(
        isinstance(turned, ViewFeatures) and named_rows(turned)[::-1] == rows, f"{who} depends on the order of subjects"
    )
    blind = [replace(subject, expected="", negated=False) for subject in subjects]
    unseen = make().see(blind, context)
    require(isinstance(unseen, ViewFeatures) and named_rows(unseen) == rows, f"{who} reads the expected verdict")
    pickle.dumps(make())
    elsewhere = in_worker_process(_see, make(), list(subjects), context)
    require(elsewhere == rows, f"{who} sees something else in another process")
    return rows


def _see(view: View, subjects: Sequence[AuditSubject], context: ViewContext) -> NamedRows:
    seen = view.see(subjects, context)
    return [] if isinstance(seen, str) else named_rows(seen)


def named_rows(features: ViewFeatures) -> NamedRows:
    """The features of each row by name."""
    rows: NamedRows = []
    for row in range(features.rows):
        entries = slice(features.indptr[row], features.indptr[row + 1])
        names = [features.names[int(place)] for place in features.indices[entries]]
        rows.append(dict(zip(names, features.values[entries].tolist(), strict=True)))
    return rows
