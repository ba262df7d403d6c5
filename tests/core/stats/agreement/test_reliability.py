"""Reliability of ratings: Krippendorff's alpha and intraclass correlation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from worked_examples import ANXIETY, KRIPPENDORFF, SHROUT

from benchbuilder.core.stats.agreement import icc
from benchbuilder.core.stats.agreement.alpha import alpha_coefficient
from benchbuilder.core.stats.agreement.coefficients import coincidences

# --- alpha -----------------------------------------------------------------------------------------------------------

LEVELS = ("nominal", "ordinal", "interval", "ratio")
VALUES = [1.0, 2.0, 3.0, 4.0, 5.0]
rated = st.lists(st.lists(st.none() | st.integers(0, 4), max_size=5), max_size=12)


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorffs_example_at_four_levels(level, published):
    coded = [[None if value is None else value - 1 for value in unit] for unit in zip(*KRIPPENDORFF, strict=True)]
    assert float(alpha_coefficient(coincidences(coded, 5), VALUES, level)) == pytest.approx(published, abs=0.0005)


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
    found = float(alpha_coefficient(coincidences(units, 5), VALUES, level))
    assert found == pytest.approx(by_definition(units, level), nan_ok=True)


@pytest.mark.parametrize("level", LEVELS)
@given(rated)
def test_alpha_is_undefined_exactly_without_variation(level, units):
    pairable = {code for unit in units if sum(code is not None for code in unit) > 1 for code in unit} - {None}
    assert np.isnan(alpha_coefficient(coincidences(units, 5), VALUES, level)) == (len(pairable) < 2)


@given(rated)
def test_ordinal_looks_only_at_the_order(units):
    matrix = coincidences(units, 5)
    stretched = alpha_coefficient(matrix, [0.0, 1.0, 10.0, 11.0, 1000.0], "ordinal")
    assert float(alpha_coefficient(matrix, VALUES, "ordinal")) == pytest.approx(float(stretched), nan_ok=True)


@given(rated, st.floats(0.1, 10), st.floats(-5, 5))
def test_interval_ignores_origin_and_unit_of_the_scale(units, factor, shift):
    matrix = coincidences(units, 5)
    moved = alpha_coefficient(matrix, [factor * value + shift for value in VALUES], "interval")
    assert float(alpha_coefficient(matrix, VALUES, "interval")) == pytest.approx(float(moved), nan_ok=True, abs=1e-9)


def test_ratio_takes_zero():
    """Zero with zero differs by nothing, zero with anything else by all there is."""
    matrix = coincidences([[0, 0], [0, 1], [1, 1]], 2)
    assert float(alpha_coefficient(matrix, [0.0, 3.0], "ratio")) == pytest.approx(
        float(alpha_coefficient(matrix, [0.0, 3.0], "nominal"))
    )


@pytest.mark.parametrize("level", LEVELS)
def test_a_stack_of_matrices_gives_a_value_for_each(level):
    ones = [coincidences([[0, 1], [2, 2], [4, 3]], 5), coincidences([[1, 1]], 5), np.zeros((5, 5))]
    values = alpha_coefficient(np.array(ones), VALUES, level)
    assert values[0] == pytest.approx(float(alpha_coefficient(ones[0], VALUES, level)))
    assert np.isnan(values[1:]).all()


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("level", LEVELS)
def test_rounding_is_no_variation(level, value):
    """The mean of many 0.1 is not 0.1 to the last digit."""
    counts = np.arange(1.0, 200.0)
    stack = np.zeros((len(counts), 2, 2))
    stack[:, 0, 0] = counts
    assert np.isnan(alpha_coefficient(stack, [value, 0.9], level)).all()


# --- icc -------------------------------------------------------------------------------------------------------------

ALL = {
    "icc11": icc.icc11, "icc21": icc.icc21, "icc31": icc.icc31,
    "icc1k": icc.icc1k, "icc2k": icc.icc2k, "icc3k": icc.icc3k,
}  # fmt: skip
scored = arrays.arrays(
    np.float64, st.tuples(st.integers(2, 8), st.integers(2, 4)), elements=st.integers(0, 10).map(float)
)


def analysed(scores):
    return icc.anova_mean_squares(icc.anova_sums(scores - scores.mean()).sum(0))


@pytest.mark.parametrize(
    ("name", "published"),
    [("icc11", 0.17), ("icc21", 0.29), ("icc31", 0.71), ("icc1k", 0.44), ("icc2k", 0.62), ("icc3k", 0.91)],
)
def test_shrout_and_fleiss(name, published):
    """Shrout and Fleiss (1979), table 4."""
    assert float(ALL[name](analysed(SHROUT))) == pytest.approx(published, abs=0.005)


def test_shrout_and_fleiss_mean_squares():
    """Their table 3: 11.24 between targets, 6.26 within, 32.49 between judges, 1.02 residual."""
    found = analysed(SHROUT)
    squares = [float(found.between), float(found.within), float(found.of_raters), float(found.residual)]
    assert squares == pytest.approx([11.24, 6.26, 32.49, 1.02], abs=0.005)


def test_irr_anxiety():
    """The R package irr: icc(anxiety, model = "twoway", type = "agreement") is 0.198."""
    assert float(icc.icc21(analysed(np.array(ANXIETY, float).T))) == pytest.approx(0.198, abs=0.0005)


@given(scored)
def test_mean_squares_are_those_of_the_residuals(scores):
    units, raters = scores.shape
    found = analysed(scores)
    if (scores == scores[0, 0]).all():
        assert np.isnan(found.between)
        return
    rows, columns = scores.mean(1, keepdims=True), scores.mean(0, keepdims=True)
    rest = ((scores - rows - columns + scores.mean()) ** 2).sum() / ((units - 1) * (raters - 1))
    within = ((scores - rows) ** 2).sum() / (units * (raters - 1))
    assert float(found.residual) == pytest.approx(rest, abs=1e-9)
    assert float(found.within) == pytest.approx(within, abs=1e-9)
    assert float(found.between) == pytest.approx(raters * rows.var(ddof=1), abs=1e-9)
    assert float(found.of_raters) == pytest.approx(units * columns.var(ddof=1), abs=1e-9)


@given(scored)
def test_no_coefficient_exceeds_one(scores):
    found = analysed(scores)
    for coefficient in ALL.values():
        value = float(coefficient(found))
        assert np.isnan(value) or value <= 1 + 1e-9


@given(scored, st.lists(st.integers(-5, 5), min_size=4, max_size=4))
def test_consistency_forgives_a_strict_rater(scores, added):
    moved = scores + np.array(added[: scores.shape[1]])
    for coefficient in (icc.icc31, icc.icc3k):
        before, after = float(coefficient(analysed(scores))), float(coefficient(analysed(moved)))
        if not np.isnan(before) and not np.isnan(after):
            assert before == pytest.approx(after, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    "scores",
    [np.full((5, 3), 0.1), np.array([[1.0, 2.0]]), np.array([[1.0], [2.0], [3.0]]), np.zeros((1, 1))],
    ids=["unanimous", "one unit", "one rater", "one score"],
)
def test_undefined(scores):
    found = analysed(scores)
    assert all(np.isnan(coefficient(found)) for coefficient in ALL.values())


def test_rounding_is_no_variance():
    """A resample of units that are all scored 0.1, off the mean of the whole."""
    one = icc.anova_sums(np.full((1, 3), 0.1))
    found = icc.anova_mean_squares(one * np.arange(1.0, 200.0)[:, None])
    assert all(np.isnan(coefficient(found)).all() for coefficient in ALL.values())


def test_perfect_agreement_on_units_that_differ():
    found = analysed(np.array([[0.1, 0.1, 0.1], [0.7, 0.7, 0.7], [0.3, 0.3, 0.3]]))
    assert [float(coefficient(found)) for coefficient in ALL.values()] == pytest.approx([1.0] * 6)


def test_no_positive_variance_to_divide_by():
    """Two raters who always say the opposite: the estimate would be two."""
    assert np.isnan(icc.icc2k(analysed(np.array([[0.0, 1.0], [1.0, 0.0]]))))
