import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worked_examples import KRIPPENDORFF

from benchbuilder.core.stats.agreement.alpha import alpha
from benchbuilder.core.stats.agreement.coefficients import coincidences

LEVELS = ("nominal", "ordinal", "interval", "ratio")
VALUES = [1.0, 2.0, 3.0, 4.0, 5.0]
rated = st.lists(st.lists(st.none() | st.integers(0, 4), max_size=5), max_size=12)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorffs_example_at_four_levels(level, published):
    coded = [[None if value is None else value - 1 for value in unit] for unit in zip(*KRIPPENDORFF, strict=True)]
    assert float(alpha(coincidences(coded, 5), VALUES, level)) == pytest.approx(published, abs=0.0005)


def by_definition(units, level):
    """One minus observed over expected disagreement, pair by pair, with distances as Krippendorff writes them."""
    kept = [[VALUES[code] for code in unit if code is not None] for unit in units]
    kept = [unit for unit in kept if len(unit) > 1]
    pool = [value for unit in kept for value in unit]

    def distance(one, other):
        if level == "nominal":
            return float(one != other)
        if level == "interval":
            return (one - other) ** 2
        if level == "ratio":
            return ((one - other) / (one + other)) ** 2
        low, high = min(one, other), max(one, other)
        between = sum(low <= value <= high for value in pool)
        return (between - (pool.count(low) + pool.count(high)) / 2) ** 2

    observed = sum(
        distance(unit[i], unit[j]) / (len(unit) - 1)
        for unit in kept for i in range(len(unit)) for j in range(len(unit)) if i != j
    )  # fmt: skip
    expected = sum(distance(one, other) for one in pool for other in pool)
    return 1 - (len(pool) - 1) * observed / expected if expected else float("nan")


@pytest.mark.parametrize("level", LEVELS)
@given(rated)
def test_alpha_is_what_its_definition_says(level, units):
    found = float(alpha(coincidences(units, 5), VALUES, level))
    assert found == pytest.approx(by_definition(units, level), nan_ok=True)


@pytest.mark.parametrize("level", LEVELS)
@given(rated)
def test_alpha_is_undefined_exactly_without_variation(level, units):
    pairable = {code for unit in units if sum(code is not None for code in unit) > 1 for code in unit} - {None}
    assert np.isnan(alpha(coincidences(units, 5), VALUES, level)) == (len(pairable) < 2)


@given(rated)
def test_ordinal_looks_only_at_the_order(units):
    matrix = coincidences(units, 5)
    stretched = alpha(matrix, [0.0, 1.0, 10.0, 11.0, 1000.0], "ordinal")
    assert float(alpha(matrix, VALUES, "ordinal")) == pytest.approx(float(stretched), nan_ok=True)


@given(rated, st.floats(0.1, 10), st.floats(-5, 5))
def test_interval_ignores_origin_and_unit_of_the_scale(units, factor, shift):
    matrix = coincidences(units, 5)
    moved = alpha(matrix, [factor * value + shift for value in VALUES], "interval")
    assert float(alpha(matrix, VALUES, "interval")) == pytest.approx(float(moved), nan_ok=True, abs=1e-9)


def test_ratio_takes_zero():
    """Zero with zero differs by nothing, zero with anything else by all there is."""
    matrix = coincidences([[0, 0], [0, 1], [1, 1]], 2)
    assert float(alpha(matrix, [0.0, 3.0], "ratio")) == pytest.approx(float(alpha(matrix, [0.0, 3.0], "nominal")))


@pytest.mark.parametrize("level", LEVELS)
def test_a_stack_of_matrices_gives_a_value_for_each(level):
    ones = [coincidences([[0, 1], [2, 2], [4, 3]], 5), coincidences([[1, 1]], 5), np.zeros((5, 5))]
    values = alpha(np.array(ones), VALUES, level)
    assert values[0] == pytest.approx(float(alpha(ones[0], VALUES, level)))
    assert np.isnan(values[1:]).all()


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("level", LEVELS)
def test_rounding_is_no_variation(level, value):
    """The mean of many 0.1 is not 0.1 to the last digit."""
    counts = np.arange(1.0, 200.0)
    stack = np.zeros((len(counts), 2, 2))
    stack[:, 0, 0] = counts
    assert np.isnan(alpha(stack, [value, 0.9], level)).all()
