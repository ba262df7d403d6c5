import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr

from benchbuilder.core.stats import human_ceiling
from benchbuilder.core.stats.intervals import bootstrap, estimate

RATINGS = [
    {"ann": 0.1, "bea": 0.2, "cy": 0.0},
    {"ann": 0.5, "bea": 0.4, "cy": 0.9},
    {"ann": 0.9, "bea": 0.8, "cy": 0.6},
    {"ann": 0.7, "bea": 0.9, "cy": 0.8},
    {"ann": 0.3, "bea": 0.1, "cy": 0.4},
]
JUDGE = [0.2, 0.3, 0.9, 0.6, 0.3]


def column(name):
    return np.array([row[name] for row in RATINGS])


def test_each_rater_is_held_against_the_mean_of_the_others():
    found = human_ceiling.human_ceiling(RATINGS, JUDGE)
    rest = {
        "ann": (column("bea") + column("cy")) / 2,
        "bea": (column("ann") + column("cy")) / 2,
        "cy": (column("ann") + column("bea")) / 2,
    }
    for name, others in rest.items():
        assert found.by_rater[name] == pytest.approx(pearsonr(column(name), others)[0])
    assert found.mean == pytest.approx(np.mean([pearsonr(column(name), others)[0] for name, others in rest.items()]))
    assert found.judge == pytest.approx(np.mean([pearsonr(JUDGE, others)[0] for others in rest.values()]))
    assert (found.n, found.why) == ({"ann": 5, "bea": 5, "cy": 5}, "")


def test_people_as_good_as_each_other_leave_a_judge_who_knows_the_truth_above_them():
    random = np.random.default_rng(3)
    truth = random.random(2000)
    ratings = [{name: value + random.normal(0, 0.2) for name in "abc"} for value in truth]
    found = human_ceiling.human_ceiling(ratings, truth)
    assert found.mean < found.judge
    assert human_ceiling.judge_over_ceiling(found.judge, found.mean) > 1
    assert found.mean == pytest.approx(pearsonr(truth, truth + random.normal(0, 0.2, 2000))[0] * found.judge, abs=0.02)


def test_missing_ratings_leave_pairs_out():
    found = human_ceiling.human_ceiling([{"a": 0.1, "b": 0.2}, {"a": 0.5}, {"a": 0.9, "b": 0.7}, {"a": 0.4, "b": 0.5}])
    assert found.n == {"a": 3, "b": 3}
    assert found.by_rater["a"] == found.by_rater["b"] == pytest.approx(pearsonr([0.1, 0.9, 0.4], [0.2, 0.7, 0.5])[0])


def test_a_rater_who_never_varies_has_no_correlation_and_the_others_have():
    ratings = [{**row, "dee": 0.5} for row in RATINGS]
    found = human_ceiling.human_ceiling(ratings)
    assert found.by_rater["dee"] is None
    assert found.mean == pytest.approx(np.mean([found.by_rater[name] for name in ("ann", "bea", "cy")]))


@pytest.mark.parametrize("ratings", [[], [{}], [{"a": 0.5}, {"a": 0.7}], [{"a": 0.5, "b": 0.5}]])
def test_without_others_there_is_no_ceiling(ratings):
    found = human_ceiling.human_ceiling(ratings, [0.5] * len(ratings))
    assert (found.mean, found.judge, found.why) == (None, None, human_ceiling.WHY)
    assert set(found.by_rater.values()) <= {None}


def test_the_share_needs_a_ceiling_above_nothing():
    assert human_ceiling.judge_over_ceiling(0.6, 0.8) == pytest.approx(0.75)
    assert human_ceiling.judge_over_ceiling(0.6, None) is None
    assert human_ceiling.judge_over_ceiling(None, 0.8) is None
    assert human_ceiling.judge_over_ceiling(0.6, -0.1) is None


def test_intervals_are_those_of_repeated_rows():
    random = np.random.default_rng(8)
    ratings = [{name: value + random.normal(0, 0.2) for name in "abc" if random.random() < 0.8}
               for value in random.random(40)]  # fmt: skip
    judge, clusters = random.random(40), [str(row // 2) for row in range(40)]
    how = {"samples": 100, "level": 0.9, "seed": 1}
    fast = estimate(human_ceiling.of_judge_over_ceiling(ratings, judge), clusters, **how)
    present = human_ceiling.of_ceiling(ratings).present
    kept = np.flatnonzero(present)

    def slow(rows):
        found = human_ceiling.human_ceiling([ratings[kept[row]] for row in rows], judge[kept[rows]])
        return human_ceiling.judge_over_ceiling(found.judge, found.mean) or np.nan

    expected = bootstrap(slow, [clusters[row] for row in kept], **how)
    assert (fast.value, fast.low, fast.high) == pytest.approx((expected.value, expected.low, expected.high))


@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1)), max_size=15))
def test_any_ratings_give_a_correlation_or_words(ratings):
    found = human_ceiling.human_ceiling(ratings, np.linspace(0, 1, len(ratings)))
    assert (found.mean is None) == bool(found.why)
    assert all(value is None or -1 <= value <= 1 for value in found.by_rater.values())
