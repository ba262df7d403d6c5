"""Agreement equals published worked examples and other packages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from krippendorff import alpha as krippendorff_alpha
from sklearn.metrics import cohen_kappa_score
from worked_examples import ANXIETY, FLEISS, FOURTEEN, KRIPPENDORFF, SHROUT, dealt, units

from benchbuilder.core.stats.agreement import coefficients
from benchbuilder.core.stats.agreement.ratings import measure_agreement

LEVELS = ("nominal", "ordinal", "interval")
ROUNDED = 1e-6  # results have six decimals


def measures(clusters, level="nominal"):
    return measure_agreement(clusters, level=level, samples=0, confidence_level=0.95, seed=1)


def table_of(counts):
    """Units of two raters; `counts` is how often the first gave the row and the second the column."""
    return [[{"A": r, "B": c}] for r, row in enumerate(counts) for c, n in enumerate(row) for _ in range(n)]


def value(found, name):
    return found[name].get("value", np.nan)


# --- published --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_example(level, published):
    found = measures(units(KRIPPENDORFF), level)
    assert (found["n"], found["raters"]) == (11, 4)  # the twelfth unit has one value
    assert value(found, "alpha") == pytest.approx(published, abs=0.0005)


@pytest.mark.parametrize(
    ("counts", "percent", "kappa", "ac1"),
    [
        ([[20, 5], [10, 15]], 0.7, 0.4, (0.7 - 0.495) / (1 - 0.495)),  # by hand: mean margins of 0.55 and 0.45
        ([[88, 14, 18], [10, 40, 10], [2, 6, 12]], 0.7, 0.492, None),  # Cohen (1960), in the counts of Cohen (1968)
        ([[118, 5], [2, 0]], 0.944, -0.0234, 0.9408),  # Gwet (2008)
        ([[0, 2], [3, 95]], 0.95, -0.025, 0.947),  # 95 % of all judgements are 1
        ([[0, 0], [4, 6]], 0.6, 0.0, None),  # one coder is constant
    ],
)
def test_kappa_and_ac1_of_two_coders(counts, percent, kappa, ac1):
    found = measures(table_of(counts))
    assert found["kappa_kind"] == "cohen"
    assert value(found, "percent") == pytest.approx(percent)
    assert value(found, "kappa") == pytest.approx(kappa, abs=0.0005)
    assert ac1 is None or value(found, "ac1") == pytest.approx(ac1, abs=0.0005)


@pytest.mark.parametrize(
    ("counts", "name", "published"),
    [
        (FLEISS, "kappa", 0.4302445),  # Fleiss (1971) prints .430; the R package irr
        (FLEISS, "kappa", 0.43024452),  # statsmodels 0.15.0, fleiss_kappa
        (FOURTEEN, "kappa", 0.2099307),  # statsmodels 0.15.0, fleiss_kappa
        (FLEISS[:15], "percent", 0.55111),  # irrCAC, distrib.6raters
        (FLEISS[:15], "kappa", 0.41393),
        (FLEISS[:15], "ac1", 0.44480),
    ],
)
def test_many_raters(counts, name, published):
    found = measures(dealt(counts))
    assert found["kappa_kind"] == "fleiss"
    assert value(found, name) == pytest.approx(published, abs=5e-6)


@pytest.mark.parametrize(
    ("scores", "one", "mean"),
    [
        (SHROUT, 0.28976378, 0.62005055),  # Shrout and Fleiss (1979) print .29 and .62
        (np.array(ANXIETY, float).T, 0.19799826, 0.42549875),  # the R package irr prints 0.198
        (np.random.default_rng(7).integers(0, 11, (12, 3)) / 10, 0.0217837, 0.06262279),
    ],
)
def test_intraclass_correlations_equal_pingouin(scores, one, mean):
    """ICC(A,1) and ICC(A,k) of pingouin.intraclass_corr, version 0.7.0, run once by hand."""
    found = measures(units(scores.T), "interval")
    assert found["complete"] == len(scores)
    assert (value(found, "icc21"), value(found, "icc2k")) == pytest.approx((one, mean), abs=ROUNDED)


def test_quadratic_weights_equal_irr():
    """kappa2(anxiety[, 1:2], "squared") of the R package irr is 0.297."""
    found = measures(units(ANXIETY[:2]), "ordinal")
    assert found["kappa_kind"] == "quadratic"
    assert value(found, "weighted_kappa") == pytest.approx(0.297, abs=0.0005)
    assert "weighted_kappa" not in measures(units(ANXIETY), "ordinal")


# --- other packages ---------------------------------------------------------------------------------------------------

ratings = arrays.arrays(
    np.float64, st.tuples(st.integers(2, 5), st.integers(2, 12)), elements=st.sampled_from([np.nan, 1, 2, 3, 4, 5])
)


@pytest.mark.push
@pytest.mark.parametrize("level", LEVELS)
@given(ratings)
def test_alpha_equals_krippendorff(level, data):
    """With missing values, one row per rater."""
    clusters = units([[None if np.isnan(rating) else float(rating) for rating in row] for row in data])
    pairable = data[:, (~np.isnan(data)).sum(0) > 1]
    found = measures(clusters, level)
    if len(set(pairable[~np.isnan(pairable)])) < 2:
        assert "undefined" in found["alpha"]
    else:
        expected = krippendorff_alpha(reliability_data=data, level_of_measurement=level)
        assert value(found, "alpha") == pytest.approx(expected, abs=ROUNDED)


@pytest.mark.push
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=40))
def test_kappa_equals_scikit_learn(pairs):
    """Of two raters, plain and with quadratic weights."""
    one, other = np.array(pairs).T
    for level, name, weights in (("nominal", "kappa", None), ("ordinal", "weighted_kappa", "quadratic")):
        found = measures(units([one.tolist(), other.tolist()]), level)
        if len({*one, *other}) < 2:
            assert "undefined" in found[name]
        else:
            expected = cohen_kappa_score(one, other, labels=range(1, 5), weights=weights)
            assert value(found, name) == pytest.approx(expected, abs=ROUNDED)


def test_kappa_of_many_raters_is_scotts_pi_for_two():
    """Scott (1955) takes chance from the proportions of both coders together: here 0.55 and 0.45."""
    agreed, margins = np.array([35.0]), np.array([[27.5, 22.5]])
    chance = 0.55**2 + 0.45**2
    assert coefficients.kappa(agreed, margins, margins) == pytest.approx((0.7 - chance) / (1 - chance))


# --- undefined --------------------------------------------------------------------------------------------------------


def analysed(scores):
    sums = coefficients.anova_sums(scores - scores.mean()).sum(0)
    return [float(found) for found in coefficients.intraclass_correlations(sums)]


@pytest.mark.parametrize(
    "scores",
    [np.full((5, 3), 0.1), np.array([[1.0, 2.0]]), np.array([[1.0], [2.0], [3.0]]), np.zeros((1, 1))],
    ids=["unanimous", "one unit", "one rater", "one score"],
)
def test_no_intraclass_correlation(scores):
    assert np.isnan(analysed(scores)).all()


def test_rounding_is_no_variation():
    """Resamples of units that are all rated 0.1, off the mean of the whole: the mean of many 0.1 is not 0.1."""
    times = np.arange(1.0, 200.0)
    found = coefficients.intraclass_correlations(coefficients.anova_sums(np.full((1, 3), 0.1)) * times[:, None])
    assert np.isnan(found).all()
    margins, values = np.stack([times, 0 * times], axis=1), np.array([0.1, 0.9])
    assert np.isnan(coefficients.distance_alpha(0 * times, margins, values)).all()
    assert np.isnan(coefficients.weighted_kappa(0 * times, margins, margins, values)).all()
    assert np.isnan(coefficients.kappa(times, margins, margins)).all()
    assert coefficients.gwet_ac1(times, margins) == pytest.approx(1.0)


def test_perfect_agreement_on_units_that_differ():
    assert analysed(np.array([[0.1, 0.1, 0.1], [0.7, 0.7, 0.7], [0.3, 0.3, 0.3]])) == pytest.approx([1.0] * 2)


scored = arrays.arrays(np.float64, st.tuples(st.integers(2, 8), st.integers(2, 4)), elements=st.integers(0, 10))


@given(scored)
def test_no_intraclass_correlation_exceeds_one(scores):
    assert all(np.isnan(found) or found <= 1 + 1e-9 for found in analysed(scores))
