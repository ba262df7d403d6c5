import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchbuilder.evaluation.stats import prediction_powered as pp

LEVEL = 0.95
MEAN = 0.6


def world(random, rows, noise=0.08, offset=0.3):
    """People's values with mean 0.6, and a judge that is lenient by 0.12 in the mean."""
    truth = random.beta(3, 2, rows)
    return truth, offset + 0.7 * truth + random.normal(0, noise, rows)


def by_row(truth, said, rest):
    """The mean of rows of which each is a cluster of its own."""
    names = [str(row) for row in range(len(truth) + len(rest))]
    return pp.clustered_prediction_powered_mean(truth, said, names[: len(truth)], rest, names[len(truth) :], LEVEL)


def published(truth, said, rest, level):
    """The estimator and the tuning of the PPI++ paper for a mean, written from its formulas, by scipy."""
    n, many = len(truth), len(rest)
    tuning = np.cov(truth, said)[0, 1] / ((1 + n / many) * np.var(np.r_[said, rest], ddof=1))
    tuning = min(max(tuning, 0), 1)
    value = tuning * rest.mean() + (truth - tuning * said).mean()
    error = np.sqrt(tuning**2 * stats.sem(rest) ** 2 + stats.sem(truth - tuning * said) ** 2)
    return tuning, value, *stats.t.interval(level, n - 1, value, error)


@pytest.mark.parametrize("seed", range(5))
def test_it_is_near_the_published_formulas(seed):
    """Each row is a cluster of its own: that leaves terms that vanish in large samples."""
    truth, said = world(np.random.default_rng(seed), 500)
    found = by_row(truth[:80], said[:80], said[80:])
    expected = published(truth[:80], said[:80], said[80:], LEVEL)
    assert found.tuning == pytest.approx(expected[0], rel=0.2)
    assert (found.value, found.low, found.high) == pytest.approx(expected[1:], abs=0.005)
    human = stats.t.interval(LEVEL, 79, truth[:80].mean(), stats.sem(truth[:80]))
    assert (found.human_only.low, found.human_only.high) == pytest.approx(human)
    assert found.judge_alone == pytest.approx(said.mean())


@pytest.mark.push
@pytest.mark.parametrize("labelled", [30, 100])
def test_intervals_cover_and_are_narrower_than_those_of_people_alone(labelled):
    random = np.random.default_rng(42)
    covered, people, widths, alone, judge = [], [], [], [], []
    for _ in range(400):
        truth, said = world(random, 1000)
        found = by_row(truth[:labelled], said[:labelled], said[labelled:])
        covered.append(found.low <= MEAN <= found.high)
        people.append(found.human_only.low <= MEAN <= found.human_only.high)
        widths.append(found.width)
        alone.append(found.human_only.width)
        judge.append(abs(found.judge_alone - MEAN) < 1.96 * said.std() / np.sqrt(1000))
    assert np.mean(covered) >= 0.93
    assert np.mean(people) >= 0.93
    assert np.mean(judge) < 0.01
    assert np.mean(widths) < 0.7 * np.mean(alone)
    assert np.mean(np.array(widths) < alone) > 0.97


def clustered(random, clusters, each):
    base = np.repeat(random.normal(0, 0.2, clusters), each)
    truth = MEAN + base + random.normal(0, 0.05, clusters * each)
    said = 0.2 + 0.8 * truth + np.repeat(random.normal(0, 0.05, clusters), each) + random.normal(0, 0.03, len(truth))
    return truth, said, [str(row // each) for row in range(len(truth))]


@pytest.mark.push
def test_clusters_keep_the_coverage_that_rows_alone_lose():
    """Forty of 300 questions rated, five answers each: a question's answers are good or bad together."""
    random = np.random.default_rng(9)
    covered, naive, widths, alone = [], [], [], []
    for _ in range(300):
        truth, said, names = clustered(random, 300, 5)
        found = pp.clustered_prediction_powered_mean(
            truth[:200], said[:200], names[:200], said[200:], names[200:], LEVEL
        )
        covered.append(found.low <= MEAN <= found.high)
        widths.append(found.width)
        alone.append(found.human_only.width)
        found = by_row(truth[:200], said[:200], said[200:])
        naive.append(found.low <= MEAN <= found.high)
    assert np.mean(covered) >= 0.93
    assert np.mean(naive) < 0.75
    assert np.mean(widths) < 0.7 * np.mean(alone)


def test_clusters_may_have_both_rated_and_unrated_rows():
    """One answer of each question is rated: what the rated and the others share is taken into account."""
    random = np.random.default_rng(10)
    covered = []
    for _ in range(300):
        truth, said, names = clustered(random, 60, 5)
        rated = np.arange(300) % 5 == 0
        rest = [name for name, skip in zip(names, rated, strict=True) if not skip]
        found = pp.clustered_prediction_powered_mean(truth[rated], said[rated], names[::5], said[~rated], rest, LEVEL)
        covered.append(found.low <= MEAN <= found.high)
    assert np.mean(covered) >= 0.93


def test_a_judge_that_knows_nothing_counts_for_nothing():
    random = np.random.default_rng(1)
    truth, noise = random.beta(3, 2, 100), random.random(1000)
    found = by_row(truth, [0.7] * 100, [0.7] * 900)
    assert found.tuning == 0
    assert (found.low, found.high) == (found.human_only.low, found.human_only.high)
    against = by_row(truth, 1 - truth, noise)
    assert (against.tuning, against.value) == (0, truth.mean())


@pytest.mark.parametrize("rest", [[], [0.4]])
def test_where_everything_is_rated_people_stand_alone(rest):
    truth, said = world(np.random.default_rng(1), 50)
    found = by_row(truth, said, rest)
    assert (found.tuning, found.value) == (0, pytest.approx(truth.mean()))
    assert found.width == pytest.approx(found.human_only.width)


def test_too_few_rated_rows_are_said_in_words():
    for truth, said in (([], []), ([0.5], [0.4]), ([0.5, None], [0.4, 0.3]), ([0.5, 0.2], [0.4, None])):
        found = by_row(truth, said, [0.7, None, 0.9])
        assert (found.value, found.low, found.width, found.why) == (None, None, None, pp.WHY_TOO_FEW_RATED)
        assert (found.labelled, found.unlabelled) == (min(len(truth), 1), 2)
        assert found.judge_alone is not None
    assert by_row([], [], []).judge_alone is None


def test_one_rated_cluster_is_said_in_words():
    found = pp.clustered_prediction_powered_mean([0.1, 0.9], [0.2, 0.8], ["q", "q"], [0.5], ["r"], LEVEL)
    assert (found.value, found.human_only.value, found.why) == (None, 0.5, pp.WHY_TOO_FEW_CLUSTERS)


def test_people_who_always_say_the_same_give_no_false_certainty():
    found = by_row([1.0] * 5, [0.9, 0.8, 0.7, 0.9, 1.0], [0.6] * 20)
    assert (found.value, found.low, found.human_only.low, found.why) == (1.0, None, None, pp.WHY_NO_VARIATION)


unit = st.floats(0, 1)


@pytest.mark.push
@given(st.lists(st.tuples(unit, unit), min_size=2, max_size=20), st.lists(unit, max_size=20), st.data())
def test_any_scores_give_bounds_around_the_value_or_words(rows, rest, data):
    truth, said = zip(*rows, strict=True)
    names = data.draw(st.lists(st.sampled_from("abcd"), min_size=len(rows) + len(rest), max_size=len(rows) + len(rest)))
    own, others = names[: len(rows)], names[len(rows) :]
    for found in (
        by_row(truth, said, rest),
        pp.clustered_prediction_powered_mean(truth, said, own, rest, others, LEVEL),
    ):
        assert (found.low is None) == bool(found.why)
        if found.low is not None:
            assert found.low <= found.value <= found.high
            assert 0 <= found.tuning <= 1
