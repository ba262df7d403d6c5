"""The result of an audit as plain data."""

from __future__ import annotations

from typing import Literal

from benchbuilder.core import FrozenModel, count_phrase

AuditWord = Literal["leaks", "hint", "clean", "cannot tell"]
"""What a check found: a leak; a small but certain one; none above the limit; or too little to tell."""
EVERYTHING = "all"
"""The scope and the group of all items together."""
CROSSED = " x form"
"""What the name of a view ends with that also sees the form of the question."""
_TARGETS = ("verdict", "truth", "pair")
_STRONGEST = 10


class AuditedView(FrozenModel):
    """What somebody scores who sees only `view` of the texts in `group` (of the kind `scope`) and guesses `target`.

    `score` is the balanced accuracy with its 95 % interval; `upper` is the upper end of the one-sided one. `p` is the
    proportion of permutations that score as high, `p_family` the same over all checks together. `smallest` is the
    smallest leak that would be seen, above one half. A check that does not `gates` only informs. `allowed` is the
    reason of the author for a leak that may stay, up to one half plus `until`.
    """

    target: str
    view: str
    scope: str
    group: str
    n: int
    families: int
    score: float
    low: float
    high: float
    upper: float
    p: float
    p_family: float
    smallest: float
    word: AuditWord
    gates: bool = True
    allowed: str = ""
    until: float = 0.0

    @property
    def is_closing(self) -> bool:
        """Whether it is a leak that closes the gate."""
        return self.word == "leaks" and self.gates and not self.allowed


class AuditedWord(FrozenModel):
    """An n-gram and the verdict of the texts that contain it: `n` texts, the proportion `yes` of them, and its z."""

    target: str
    scope: str
    group: str
    text: str
    n: int
    yes: float
    z: float
    p: float
    share: float
    score: float
    leaks: bool
    allowed: str = ""

    @property
    def is_closing(self) -> bool:
        """Whether it is a leak that closes the gate."""
        return self.leaks and not self.allowed


class AuditResult(FrozenModel):
    """What an audit found.

    `kind` says what was audited: ``items`` or ``candidates``. Of `whole` of them, `items` in `families` were looked at.
    `limit` is the most that a view may score above one half. `skipped` maps a view to the reason why it does not apply.
    `closed` says whether the gate is closed.
    """

    kind: str
    items: int
    families: int
    whole: int
    limit: float
    permutations: int
    checks: tuple[AuditedView, ...] = ()
    words: tuple[AuditedWord, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    closed: bool = False

    def summary(self) -> str:
        """What was found, in a few words of a command's output."""
        checks = self.check_count()
        if not checks:
            return "audit: nothing to check"
        leaks, words = self.leak_count(), self.leaking_word_count()
        more = f", and {count_phrase(words, 'word')}" if words else ""
        unclear = self.unclear_count()
        too_few = f"; {unclear:,} {'has' if unclear == 1 else 'have'} too few items to tell" if unclear else ""
        return f"audit: {leaks} of {count_phrase(checks, 'check')} leak{'' if leaks != 1 else 's'}{more}{too_few}"

    def targets(self) -> list[str]:
        """The targets that were checked, in their order."""
        present = {check.target for check in self.checks}
        return [name for name in _TARGETS if name in present]

    def leak_count(self) -> int:
        """How many checks leak and close the gate."""
        return sum(check.is_closing for check in self.checks)

    def leaking_word_count(self) -> int:
        """How many words leak and close the gate, each once."""
        return len({word.text for word in self.words if word.is_closing})

    def check_count(self) -> int:
        """How many checks can close the gate."""
        return sum(check.gates for check in self.checks)

    def unclear_count(self) -> int:
        """How many checks that can close the gate have too few items to tell."""
        return sum(check.gates and check.word == "cannot tell" for check in self.checks)

    def groups(self, target: str) -> list[tuple[str, str]]:
        """All items together, then the sources: the scopes and groups that the card and the report show."""
        found = dict.fromkeys((c.scope, c.group) for c in self.checks if c.target == target)
        return [key for key in found if key[0] == EVERYTHING] + [key for key in found if key[0] == "source"]

    def views(self, target: str) -> list[str]:
        """The views that the card and the report show: crossed ones only where they find what their view does not."""
        shown = set(self.groups(target))
        checks = [check for check in self.checks if check.target == target and (check.scope, check.group) in shown]
        found = {(c.view, c.scope, c.group) for c in checks if c.word in ("leaks", "hint")}

        def is_shown(check: AuditedView) -> bool:
            key = (check.view, check.scope, check.group)
            plain = (check.view.removesuffix(CROSSED), check.scope, check.group)
            return plain == key or (key in found and plain not in found)

        return list(dict.fromkeys(check.view for check in checks if is_shown(check)))

    def find(self, target: str, view: str, scope: str, group: str) -> AuditedView | None:
        """One check, if it was made."""
        key = (target, view, scope, group)
        return next((c for c in self.checks if (c.target, c.view, c.scope, c.group) == key), None)

    def strongest_words(self) -> list[AuditedWord]:
        """The words that give most away, leaking ones first."""
        return sorted(self.words, key=lambda w: (not w.leaks, -abs(w.z), w.target, w.group, w.text))[:_STRONGEST]
