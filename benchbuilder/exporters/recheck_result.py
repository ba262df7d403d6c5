"""What people found who checked a sample of the items again, as plain data."""

from __future__ import annotations

from benchbuilder.core import FrozenModel


class CheckedPart(FrozenModel):
    """The rate of wrong labels in a part of the items; `rate` and its bounds are missing until it is known."""

    size: int
    checked: int
    wrong: int
    rate: float | None
    low: float | None
    high: float | None


class RecheckResult(FrozenModel):
    """The rate of wrong labels by a sample that was checked again.

    Attributes:
        items: A digest of the items that the sample was drawn from.
        questions: The guiding questions whose yes makes a label wrong.
        drawn: How many items were drawn.
        decided: On how many of them people have decided.
        people: How many people checked.
        level: The level of the intervals, which are Wilson's.
        whole: All items.
        sources: The items of each source.
        flagged: The items that an analysis flagged; they are a stratum of their own. Without an analysis, ``None``.
    """

    items: str
    questions: tuple[str, ...]
    drawn: int
    decided: int
    people: int
    level: float
    whole: CheckedPart
    sources: dict[str, CheckedPart]
    flagged: CheckedPart | None

    @property
    def is_complete(self) -> bool:
        """Whether people have decided on every drawn item; before, there is no rate."""
        return self.whole.rate is not None
