"""What the audit finds: one word for each target, view and scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchbuilder.evaluation.audit.features import ViewFeatures

Target = Literal["verdict", "truth", "pair"]
AuditWord = Literal["leaks", "hint", "clean", "cannot tell"]

FEWEST_FAMILIES = 20
"""With fewer families the word is always "cannot tell"."""


@dataclass(frozen=True)
class AuditSettings:
    """How the audit measures, and where it draws the line.

    `limit` is the most that a view may score above one half, `level` the proportion of false alarms over all checks
    together. `least`, `z` and `share` are the bars of the word test.
    """

    seed: int
    limit: float = 0.05
    level: float = 0.05
    permutations: int = 999
    folds: int = 10
    repetitions: int = 3
    samples: int = 2000
    least: int = 10
    z: float = 4.0
    share: float = 0.02


@dataclass(frozen=True, eq=False)
class AuditCheck:
    """One view of the items of a scope, and what it must not tell.

    `ids`, `labels` and `families` have one entry per row of `features`. For the target ``pair`` the features are
    signed, and `labels` are ignored: leave them empty. `gates`: a leak closes the gate; otherwise it is information.
    """

    target: Target
    view: str
    scope: str
    features: ViewFeatures
    ids: Sequence[str]
    labels: Sequence[bool]
    families: Sequence[str]
    gates: bool = True


@dataclass(frozen=True)
class AuditFinding:
    """How well the target can be guessed from a view in a scope: balanced accuracy, one half by chance.

    `low` and `high` bound the two-sided 95 % interval, `upper` the one-sided one. `upper` counts a score below one half
    as one half, since a score below chance is luck and proves nothing. `p` is of this check alone, `p_family` of
    all checks together. `smallest_visible` is the smallest leak that would be seen in four of five cases, above one
    half. All are ``None`` if nothing can be measured; `why` then gives the reason. `allowed` is the reason for which
    a leak is accepted.
    """

    target: Target
    view: str
    scope: str
    n: int
    families: int
    score: float | None
    low: float | None
    high: float | None
    upper: float | None
    p: float | None
    p_family: float | None
    smallest_visible: float | None
    word: AuditWord
    gates: bool = True
    allowed: str = ""
    why: str = ""

    @property
    def closes(self) -> bool:
        """Whether the gate is closed by this finding."""
        return self.word == "leaks" and self.gates and not self.allowed


@dataclass(frozen=True)
class WordFinding:
    """A word whose presence tells the label; see ``audit_words``.

    `n` families have it; `yes` is its share of yes there, `prior` that of the scope. `share` is the proportion of
    items that have it. `accuracy` is that of answering by this word, and by the prior where the word is absent.
    """

    target: Target
    scope: str
    name: str
    n: int
    yes: float
    prior: float
    z: float
    p: float
    lmi: float
    share: float
    accuracy: float
    leaks: bool
    allowed: str = ""

    @property
    def closes(self) -> bool:
        """Whether the gate is closed by this word."""
        return self.leaks and not self.allowed
