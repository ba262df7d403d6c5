"""Bootstrap intervals, their resampling, and Student's distribution."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from slow_statistics import statistic_of_rows

from benchbuilder.core.stats.weighted import draw_rows, percentile_interval
from benchbuilder.evaluation.stats import accuracy, agreement, intervals, student_t
from benchbuilder.evaluation.stats.statistic import Statistic, cluster_codes, mean_statistic

# --- intervals -----------------------------------------------------------------------------------------------------

HOW = {"samples": 500, "level": 0.95, "seed": 7}
FAST = {"samples": 100, "level": 0.9, "seed": 3}


def world(rows=300, each=3, seed=0):
    random = np.random.default_rng(seed)
    target = np.clip(np.repeat(random.random(rows // each), each) + random.normal(0, 0.15, rows), 0, 1)
    predicted = np.clip(0.7 * target + random.normal(0.1, 0.15, rows), 0, 1)
    return predicted, target, [f"q{row // each}" for row in range(rows)]


def test_a_sample_is_drawn_cluster_by_cluster():
    codes = cluster_codes(["b", "a", "b", "c", "a"])
    assert codes.tolist() == [0, 1, 0, 2, 1]
    for weights in draw_rows(codes, 200, 1):
        assert (weights[:, 0] == weights[:, 2]).all()
        assert (weights[:, 1] == weights[:, 4]).all()
        assert (weights[:, [0, 1, 3]].sum(1) == 3).all()


def test_draws_depend_on_nothing_but_how_many_clusters_there_are():
    few = np.concatenate(list(draw_rows(np.arange(50), 300, 5)))
    many = np.concatenate(list(draw_rows(np.repeat(np.arange(50), 200), 300, 5)))
    assert np.array_equal(few, many[:, ::200])
    assert not np.array_equal(few, np.concatenate(list(draw_rows(np.arange(50), 300, 6))))


def test_a_table_that_is_too_large_to_keep_is_drawn_alike(monkeypatch):
    kept = np.concatenate(list(draw_rows(np.arange(40), 100, 5)))
    monkeypatch.setattr("benchbuilder.core.stats.weighted._CACHED_CELLS", 0)
    assert np.array_equal(kept, np.concatenate(list(draw_rows(np.arange(40), 100, 5))))


@pytest.mark.parametrize(
    "weighted",
    [
        agreement.pearson_statistic,
        agreement.spearman_statistic,
        agreement.kendall_statistic,
        agreement.r_squared_statistic,
        accuracy.accuracy_statistic,
        accuracy.balanced_accuracy_statistic,
        accuracy.auroc_statistic,
        accuracy.brier_statistic,
        agreement.mae_statistic,
        agreement.rmse_statistic,
        agreement.bias_statistic,
        agreement.quadratic_weighted_kappa_statistic,
    ],
)
def test_weights_do_what_repeating_rows_does(weighted):
    predicted, target, clusters = world(120)
    fast = intervals.bootstrap_estimate(weighted(predicted, target), clusters, **FAST)
    repeated = statistic_of_rows(lambda rows: weighted(predicted[rows], target[rows]).value(), 120)
    slow = intervals.bootstrap_estimate(repeated, clusters, **FAST)
    assert (fast.value, fast.low, fast.high) == pytest.approx((slow.value, slow.low, slow.high), abs=1e-9)
    assert (fast.n, fast.clusters, fast.why) == (120, 40, "")


def test_the_interval_of_a_mean_is_near_that_of_scipy():
    """scipy draws rows with other random numbers: with 5,000 samples both bounds agree to a small part of the width."""
    values = np.random.default_rng(1).gamma(2, 0.2, 150)
    expected = stats.bootstrap((values,), np.mean, n_resamples=5000, method="percentile", rng=2).confidence_interval
    found = intervals.mean_estimate(values, [str(row) for row in range(150)], samples=5000, level=0.95, seed=1)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.05 * (found.high - found.low))


def test_the_interval_of_a_mean_is_that_of_numpy():
    predicted, _, clusters = world(90)
    found = intervals.mean_estimate(predicted, clusters, **HOW)
    (weights,) = draw_rows(cluster_codes(clusters), 500, 7)
    means = (weights @ predicted) / weights.sum(1)
    assert found.value == pytest.approx(predicted.mean())
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_intervals_cover_what_they_say_where_rows_hang_together():
    """The true mean is 0: clusters of five rows that share most of their deviation, 300 worlds."""
    random = np.random.default_rng(11)
    clusters = [str(row // 5) for row in range(300)]
    inside = naive = 0
    for _ in range(300):
        values = np.repeat(random.normal(0, 1, 60), 5) + random.normal(0, 0.3, 300)
        found = intervals.mean_estimate(values, clusters, samples=200, level=0.9, seed=1)
        inside += found.low <= 0 <= found.high
        found = intervals.mean_estimate(values, [str(row) for row in range(300)], samples=200, level=0.9, seed=1)
        naive += found.low <= 0 <= found.high
    assert 0.85 <= inside / 300 <= 0.95
    assert naive / 300 < 0.7


def test_missing_values_leave_their_clusters_out():
    found = intervals.mean_estimate([1.0, None, 0.0, float("nan"), 1.0], ["a", "b", "c", "b", "a"], **HOW)
    assert (found.value, found.n, found.clusters) == (pytest.approx(2 / 3), 3, 2)


@pytest.mark.parametrize("values", [[], [None], [None, None]])
def test_nothing_is_said_in_words(values):
    found = intervals.mean_estimate(values, ["q"] * len(values), **HOW)
    assert found == intervals.Estimate(None, None, None, 0, 0, intervals.WHY_NO_VALUES)


def test_one_cluster_has_a_value_and_no_interval():
    found = intervals.mean_estimate([0.0, 1.0], ["q", "q"], **HOW)
    assert found == intervals.Estimate(0.5, None, None, 2, 1, intervals.WHY_ONE_CLUSTER)
    assert intervals.paired_mean_difference([1.0], [0.0], ["q"], **HOW).p is None


def test_what_is_undefined_says_why():
    found = intervals.bootstrap_estimate(agreement.pearson_statistic([1, 1, 1], [0, 1, 0]), ["a", "b", "c"], **HOW)
    assert (found.value, found.low, found.why) == (None, None, agreement.WHY_NO_CORRELATION)


def test_mostly_undefined_samples_give_no_interval():
    """A given row of forty is missing from 36 % of samples: what needs it has an interval, what it spoils has none."""
    predicted, target = [0.0] * 40, [float(row % 2) for row in range(40)]
    predicted[0] = 1.0
    some = intervals.bootstrap_estimate(
        agreement.pearson_statistic(predicted, target), [str(row) for row in range(40)], **HOW
    )
    assert some.low is not None
    spoilt = Statistic(lambda weights: np.where(weights[:, 0] > 0, np.nan, 1.0), np.ones(40, bool), "row 0 spoils it")
    mended = Statistic(
        lambda weights: np.where(weights[:, 0] == 1, 1.0, spoilt.compute(weights)), spoilt.present, spoilt.why
    )
    never = statistic_of_rows(lambda rows: np.nan if len(set(rows)) < 40 else 1.0, 40, "rows are missing")
    found = intervals.bootstrap_estimates(
        {"spoilt": spoilt, "mended": mended, "never": never}, [str(row) for row in range(40)], **HOW
    )
    assert (found["spoilt"].value, found["spoilt"].why) == (None, "row 0 spoils it")
    assert (found["mended"].low, found["mended"].high) == (1, 1)
    assert found["never"].why == "no interval: in 500 of 500 samples rows are missing"
    mostly = Statistic(
        lambda weights: np.where(weights.min(1) == 1, 1.0, spoilt.compute(weights)), spoilt.present, spoilt.why
    )
    found = intervals.bootstrap_estimate(mostly, [str(row) for row in range(40)], **HOW)
    assert (found.value, found.low, found.high) == (1.0, None, None)
    assert found.why.startswith("no interval: in 3")
    assert found.why.endswith(" of 500 samples row 0 spoils it")


def test_many_statistics_share_their_draws_and_keep_their_names():
    predicted, target, clusters = world()
    gappy = [None if row % 7 == 0 else value for row, value in enumerate(predicted)]
    statistics = {
        "r": agreement.pearson_statistic(predicted, target),
        "gappy": agreement.pearson_statistic(gappy, target),
        "mae": agreement.mae_statistic(predicted, target),
    }
    found = intervals.bootstrap_estimates(statistics, clusters, **HOW)
    assert list(found) == ["r", "gappy", "mae"]
    assert found["gappy"].n < found["r"].n
    for name, statistic in statistics.items():
        assert found[name] == intervals.bootstrap_estimate(statistic, clusters, **HOW)


def test_a_paired_difference_is_sharper_than_two_intervals():
    predicted, target, clusters = world()
    better = np.clip(target + np.random.default_rng(2).normal(0, 0.12, 300), 0, 1)
    first, second = agreement.mae_statistic(predicted, target), agreement.mae_statistic(better, target)
    found = intervals.bootstrap_difference(first, second, clusters, **HOW)
    assert found.value == pytest.approx(first.value() - second.value())
    assert found.low > 0
    assert found.p == pytest.approx(2 / 501)


def test_the_p_value_is_of_both_sides_and_never_zero():
    values = np.array([-0.1, 0.1] * 50)
    clusters = [str(row) for row in range(100)]
    found = intervals.paired_mean_difference(values, np.zeros(100), clusters, **HOW)
    assert 0.5 < found.p <= 1
    assert intervals.paired_mean_difference(np.zeros(100), np.zeros(100), clusters, **HOW).p == 1
    ahead = intervals.paired_mean_difference(values, np.full(100, -0.2), clusters, **HOW)
    behind = intervals.paired_mean_difference(values, np.full(100, 0.2), clusters, **HOW)
    assert ahead.p == behind.p == pytest.approx(2 / 501)


def test_p_values_of_no_difference_are_uniform():
    random = np.random.default_rng(5)
    clusters = [str(row) for row in range(80)]
    p = [intervals.paired_mean_difference(*random.normal(0, 1, (2, 80)), clusters, samples=200, level=0.9, seed=2).p
         for _ in range(300)]  # fmt: skip
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.09
    assert 0.43 <= np.mean(np.array(p) <= 0.5) <= 0.57


@pytest.mark.push
def test_false_alarms_stay_at_their_level_where_questions_share_a_fact():
    """400 pairs of equal models on 100 facts with four questions each, which a model knows together or not at all."""
    random = np.random.default_rng(101)
    facts = [str(row) for row in np.repeat(np.arange(100), 4)]
    alarms = {"facts": 0, "questions": 0}
    for _ in range(400):
        knows = np.repeat(random.random((2, 100)) < 0.5, 4, axis=1)
        first, second = (random.random((2, 400)) < np.where(knows, 0.95, 0.5)).astype(float)
        for name, clusters in (("facts", facts), ("questions", [str(row) for row in range(400)])):
            found = intervals.paired_mean_difference(first, second, clusters, samples=400, level=0.95, seed=3)
            alarms[name] += found.p <= 0.05
    assert 0.03 <= alarms["facts"] / 400 <= 0.07
    assert alarms["questions"] / 400 > 0.08


def test_identical_models_do_not_differ():
    same = np.random.default_rng(4).integers(0, 2, 200)
    found = intervals.paired_mean_difference(same, same, [str(row // 4) for row in range(200)], **HOW)
    assert (found.value, found.low, found.high, found.p) == (0, 0, 0, 1)


def test_paired_means_take_rows_that_both_have():
    found = intervals.paired_mean_difference([1, None, 1, 0], [0, 1, None, 0], ["a", "b", "c", "d"], **HOW)
    assert (found.value, found.n, found.clusters) == (0.5, 2, 2)


def test_statistics_of_different_rows_are_not_paired():
    with pytest.raises(ValueError, match="different rows"):
        intervals.bootstrap_difference(mean_statistic([1.0, None]), mean_statistic([1.0, 0.0]), ["a", "b"], **HOW)


def test_every_row_needs_its_cluster():
    with pytest.raises(ValueError, match="2 rows cannot belong to 1 clusters"):
        intervals.mean_estimate([1.0, 0.0], ["a"], **HOW)


def test_infinite_values_are_refused():
    with pytest.raises(ValueError, match="infinite"):
        intervals.mean_estimate([1.0, float("inf")], ["a", "b"], **HOW)


def test_sd_is_of_a_sample():
    assert intervals.sample_sd([1.0, 2.0, None, 4.0]) == pytest.approx(np.std([1, 2, 4], ddof=1))
    assert np.isnan(intervals.sample_sd([1.0]))
    assert np.isnan(intervals.sample_sd([]))


@pytest.mark.push
@given(
    st.lists(st.tuples(st.one_of(st.none(), st.floats(0, 1)), st.sampled_from("abcdef")), max_size=30),
    st.integers(0, 2**31),
)
def test_any_mean_lies_in_its_interval_or_says_why_not(rows, seed):
    values, clusters = [value for value, _ in rows], [cluster for _, cluster in rows]
    found = intervals.mean_estimate(values, clusters, samples=100, level=0.95, seed=seed)
    given_values = [value for value in values if value is not None]
    assert found.n == len(given_values)
    if found.low is None:
        assert found.why
        assert found.clusters < 2
    else:
        assert not found.why
        assert min(given_values) - 1e-9 <= found.low <= found.high <= max(given_values) + 1e-9


@pytest.mark.push
@given(st.permutations(range(12)))
def test_the_order_of_clusters_that_rows_keep_does_not_matter(order):
    """Rows may stand in any order as long as the clusters come up in the same one."""
    values, clusters = [float(row % 5) for row in range(12)], [str(row // 4) for row in range(12)]
    ordered = sorted(range(12), key=lambda place: (place // 4, order[place]))
    found = intervals.mean_estimate([values[place] for place in ordered], clusters, **FAST)
    assert found.low == pytest.approx(intervals.mean_estimate(values, clusters, **FAST).low)


def test_thirty_statistics_of_five_thousand_rows_take_seconds():
    random = np.random.default_rng(1)
    target = random.random(5_000)
    clusters = [str(row // 4) for row in range(5_000)]
    statistics = {}
    for number in range(10):
        predicted = target + random.normal(0, 0.1 + number / 10, 5_000)
        statistics[f"pearson {number}"] = agreement.pearson_statistic(predicted, target)
        statistics[f"mae {number}"] = agreement.mae_statistic(predicted, target)
        statistics[f"accuracy {number}"] = accuracy.accuracy_statistic(predicted, target)
    start = time.process_time()
    intervals.bootstrap_estimates(statistics, clusters, samples=1000, level=0.95, seed=1)
    assert time.process_time() - start < 5


# --- bootstrap -----------------------------------------------------------------------------------------------------


def test_every_sample_draws_as_many_clusters_as_there_are():
    rows = np.concatenate(list(draw_rows(np.arange(7), 150, 3)))
    assert rows.shape == (150, 7)
    assert (rows.sum(1) == 7).all()
    assert rows.max() > 1


def test_more_samples_only_add_rows():
    few, many = (np.concatenate(list(draw_rows(np.arange(5), samples, 1))) for samples in (10, 200))
    np.testing.assert_array_equal(few, many[:10])
    assert not np.array_equal(few, np.concatenate(list(draw_rows(np.arange(5), 10, 2))))


def test_nothing_is_drawn_of_nothing():
    assert list(draw_rows(np.arange(0), 100, 1)) == []
    assert list(draw_rows(np.arange(5), 0, 1)) == []


def test_percentiles():
    assert percentile_interval(np.arange(101.0), 0.9, 10) == {"low": 5.0, "high": 95.0}


def test_undefined_values_are_counted_and_too_many_give_words():
    some = np.array([np.nan, 1.0, 1.0])
    assert percentile_interval(some, 0.9, 10) == {"low": 1.0, "high": 1.0, "left_out": 1}
    most = percentile_interval(np.array([np.nan, np.nan, 1.0]), 0.9, 10, "nobody came")
    assert most == {"low": None, "high": None, "why": "undefined: in 2 of 3 resamples nobody came"}


@pytest.mark.parametrize(("clusters", "words"), [(1, "one candidate"), (2, "no resample")])
def test_no_interval(clusters, words):
    assert words in percentile_interval(np.zeros(0), 0.9, clusters)["why"]


# --- student -------------------------------------------------------------------------------------------------------

FREEDOM = [1, 2, 3, 4, 5, 8, 29, 30, 99, 1000]


@pytest.mark.parametrize("freedom", FREEDOM)
def test_probabilities_equal_scipy(freedom):
    for t in (-40, -3.2, -1, -0.1, 0, 0.4, 2, 12):
        assert student_t.probability_below(t, freedom) == pytest.approx(stats.t.cdf(t, freedom), abs=1e-12)
    assert student_t.probability_below(np.inf, freedom) == 1


@pytest.mark.parametrize("freedom", FREEDOM)
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.95, 0.999])
def test_quantiles_equal_scipy(freedom, level):
    assert student_t.two_sided_quantile(level, freedom) == pytest.approx(
        stats.t.ppf((1 + level) / 2, freedom), rel=1e-9
    )
