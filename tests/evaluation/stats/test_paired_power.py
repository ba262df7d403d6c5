"""How many families a drop of accuracy takes, and which drop some families show."""

from __future__ import annotations

from statistics import fmean

import pytest

from benchbuilder.evaluation.stats.paired_power import families_needed, smallest_drop

HOLM_OF_8 = 1 - 0.05 / 8


@pytest.mark.parametrize(
    ("changed", "needed"),
    [(0.05, (150, 97, 80, 158)), (0.10, (307, 199, 164, 325)), (0.15, (464, 302, 247, 491)),
     (0.20, (621, 404, 331, 657)), (0.30, (935, 608, 499, 989))],
)  # fmt: skip
def test_the_families_for_a_drop_of_five_points(changed: float, needed: tuple[int, ...]):
    found = tuple(families_needed(0.05, changed, [size] * 7) for size in (1, 2, 3))
    assert found == needed[:3]
    assert families_needed(0.05, changed, [2], HOLM_OF_8) == pytest.approx(needed[3], abs=1)


@pytest.mark.parametrize("sizes", [[1], [2], [3], [1, 2, 3, 6]])
def test_the_smallest_drop_is_the_one_that_so_many_families_are_needed_for(sizes: list[int]):
    for families in (35, 70, 300):
        drop = smallest_drop(0.2, sizes, families)
        assert families_needed(drop, 0.2, sizes) in (families, families + 1)
    equal = [round(fmean(sizes))] * 4
    assert families_needed(0.05, 0.2, sizes) >= families_needed(0.05, 0.2, equal), "uneven families say less"
