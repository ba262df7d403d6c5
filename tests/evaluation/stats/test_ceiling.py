"""Judges beside people: the human ceiling, and the test of an alternative annotator."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import pearsonr
from slow_statistics import statistic_of_rows

from benchbuilder.core.errors import InstallationError
from benchbuilder.evaluation.stats import human_ceiling
from benchbuilder.evaluation.stats.human_ceiling import alternative_annotator_test, benjamini_yekutieli
from benchbuilder.evaluation.stats.intervals import bootstrap_estimate

# --- ceiling ---------------------------------------------------------------------------------------------------------

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
    found = human_ceiling.compute_human_ceiling(RATINGS, JUDGE)
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
    found = human_ceiling.compute_human_ceiling(ratings, truth)
    assert found.mean < found.judge
    assert human_ceiling.judge_over_ceiling_statistic(ratings, truth).value() > 1
    assert found.mean == pytest.approx(pearsonr(truth, truth + random.normal(0, 0.2, 2000))[0] * found.judge, abs=0.02)


def test_missing_ratings_leave_pairs_out():
    found = human_ceiling.compute_human_ceiling(
        [{"a": 0.1, "b": 0.2}, {"a": 0.5}, {"a": 0.9, "b": 0.7}, {"a": 0.4, "b": 0.5}]
    )
    assert found.n == {"a": 3, "b": 3}
    assert found.by_rater["a"] == found.by_rater["b"] == pytest.approx(pearsonr([0.1, 0.9, 0.4], [0.2, 0.7, 0.5])[0])


def test_a_rater_who_never_varies_has_no_correlation_and_the_others_have():
    ratings = [{**row, "dee": 0.5} for row in RATINGS]
    found = human_ceiling.compute_human_ceiling(ratings)
    assert found.by_rater["dee"] is None
    assert found.mean == pytest.approx(np.mean([found.by_rater[name] for name in ("ann", "bea", "cy")]))


@pytest.mark.parametrize("ratings", [[], [{}], [{"a": 0.5}, {"a": 0.7}], [{"a": 0.5, "b": 0.5}]])
def test_without_others_there_is_no_ceiling(ratings):
    found = human_ceiling.compute_human_ceiling(ratings, [0.5] * len(ratings))
    assert (found.mean, found.judge, found.why) == (None, None, human_ceiling.WHY_NO_CEILING)
    assert set(found.by_rater.values()) <= {None}


def test_intervals_are_those_of_repeated_rows():
    random = np.random.default_rng(8)
    ratings = [{name: value + random.normal(0, 0.2) for name in "abc" if random.random() < 0.8}
               for value in random.random(40)]  # fmt: skip
    judge, clusters = random.random(40), [str(row // 2) for row in range(40)]
    how = {"samples": 100, "level": 0.9, "seed": 1}
    fast = bootstrap_estimate(human_ceiling.judge_over_ceiling_statistic(ratings, judge), clusters, **how)
    kept = np.flatnonzero(human_ceiling.ceiling_statistic(ratings).present)

    def slow(rows):
        found = human_ceiling.compute_human_ceiling([ratings[kept[row]] for row in rows], judge[kept[rows]])
        return found.judge / found.mean if found.mean and found.judge and found.mean > 0 else np.nan

    expected = bootstrap_estimate(statistic_of_rows(slow, len(kept)), [clusters[row] for row in kept], **how)
    assert (fast.value, fast.low, fast.high) == pytest.approx((expected.value, expected.low, expected.high))


@pytest.mark.push
@given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1)), max_size=15))
def test_any_ratings_give_a_correlation_or_words(ratings):
    found = human_ceiling.compute_human_ceiling(ratings, np.linspace(0, 1, len(ratings)))
    assert (found.mean is None) == bool(found.why)
    assert all(value is None or -1 <= value <= 1 for value in found.by_rater.values())


# --- alternative annotator -------------------------------------------------------------------------------------------


def by_hand(humans, judge, epsilon, q, metric):
    """The procedure of the paper, item by item: winning rate, advantage, p values."""
    p, advantages = [], []
    for name, own in humans.items():
        ahead, as_good = [], []
        for item, value in own.items():
            others = [values[item] for other, values in humans.items() if other != name and item in values]
            if not others or item not in judge:
                continue
            if metric == "accuracy":
                mine, its = (np.mean([x == other for other in others]) for x in (value, judge[item]))
            else:
                mine, its = (-np.sqrt(np.mean([(x - other) ** 2 for other in others])) for x in (value, judge[item]))
            ahead.append(int(mine >= its) - int(its >= mine))
            as_good.append(its >= mine)
        p.append(stats.ttest_1samp(ahead, epsilon, alternative="less").pvalue)
        advantages.append(np.mean(as_good))
    rejected = stats.false_discovery_control(p, method="by") <= q
    return rejected.mean(), np.mean(advantages), p


def ratings(seed, items=80, raters=4, noise=0.2, steps=10, judge_noise=0.1):
    random = np.random.default_rng(seed)
    truth = random.random(items)

    def rounded(spread):
        return np.clip(np.round((truth + random.normal(0, spread, items)) * steps), 0, steps)

    humans = {
        f"rater {number}": {
            str(item): float(value) for item, value in enumerate(rounded(noise)) if random.random() < 0.8
        }
        for number in range(raters)
    }
    return humans, {str(item): float(value) for item, value in enumerate(rounded(judge_noise))}


@pytest.mark.parametrize("metric", ["neg_rmse", "accuracy"])
@pytest.mark.parametrize("seed", range(6))
def test_it_equals_the_procedure_by_hand(metric, seed):
    humans, judge = ratings(seed, judge_noise=0.05 + 0.06 * seed)
    found = alternative_annotator_test(humans, judge, epsilon=0.15, metric=metric)
    rate, advantage, p = by_hand(humans, judge, 0.15, 0.05, metric)
    assert found.winning_rate == pytest.approx(rate)
    assert found.advantage == pytest.approx(advantage)
    assert [opponent.p for opponent in found.opponents] == pytest.approx(p, rel=1e-6)
    assert found.passes == (rate >= 0.5)
    assert found.warnings == ()


def test_a_small_example_worked_out():
    """On x the people agree and the judge does not. On y the distances to the other two are, of the person and of the
    judge: ann 2.55 and 0.5, bea 2.24 and 1.80, cy 1.58 and 1.80.
    """
    humans = {"ann": {"x": 4, "y": 5}, "bea": {"x": 4, "y": 2}, "cy": {"x": 4, "y": 3}}
    found = alternative_annotator_test(humans, {"x": 3, "y": 2.5}, epsilon=0.2)
    shares = {opponent.name: (opponent.judge_advantage, opponent.human_advantage) for opponent in found.opponents}
    assert shares == {"ann": (0.5, 0.5), "bea": (0.5, 0.5), "cy": (0, 1)}
    assert found.advantage == pytest.approx(1 / 3)
    assert (found.winning_rate, found.passes) == (0, False)
    same = alternative_annotator_test(humans, {"x": 4, "y": 2}, epsilon=0.2)
    shares = {opponent.name: (opponent.judge_advantage, opponent.human_advantage) for opponent in same.opponents}
    assert shares == {"ann": (1, 0.5), "bea": (1, 1), "cy": (0.5, 1)}


def test_a_judge_like_the_mean_of_the_people_passes_and_a_random_one_fails():
    humans, _ = ratings(1, items=120, raters=3)
    humans = {name: {**dict.fromkeys(map(str, range(120)), 5.0), **values} for name, values in humans.items()}
    middle = {item: float(np.mean([values[item] for values in humans.values()])) for item in humans["rater 0"]}
    found = alternative_annotator_test(humans, middle, epsilon=0.2)
    assert (found.passes, found.winning_rate) == (True, 1)
    assert found.advantage > 0.9
    random = np.random.default_rng(0)
    blind = {item: float(random.integers(0, 11)) for item in middle}
    found = alternative_annotator_test(humans, blind, epsilon=0.2)
    assert (found.passes, found.winning_rate) == (False, 0)


def test_a_higher_allowance_helps_the_judge():
    humans, judge = ratings(2, judge_noise=0.22)
    rates = [alternative_annotator_test(humans, judge, epsilon=epsilon).winning_rate for epsilon in (0, 0.1, 0.2, 0.5)]
    assert rates == sorted(rates)
    assert rates[0] < rates[-1]


def test_categories_are_compared_by_equality():
    humans = {name: {str(item): "yes" if item % 2 else "no" for item in range(40)} for name in ("a", "b", "c")}
    found = alternative_annotator_test(humans, humans["a"], epsilon=0.2, metric="accuracy")
    assert (found.winning_rate, found.advantage, found.passes) == (1, 1, True)
    assert [opponent.p for opponent in found.opponents] == [0, 0, 0]
    wrong = dict.fromkeys(humans["a"], "perhaps")
    found = alternative_annotator_test(humans, wrong, epsilon=0.2, metric="accuracy")
    assert (found.winning_rate, found.advantage) == (0, 0)
    assert [opponent.p for opponent in found.opponents] == [1, 1, 1]
    with pytest.raises(ValueError, match="compare categories by accuracy"):
        alternative_annotator_test(humans, wrong, epsilon=0.2)


def test_few_items_and_few_people_are_warned_of():
    humans, judge = ratings(3, items=20, raters=2)
    found = alternative_annotator_test(humans, judge, epsilon=0.2)
    assert {opponent.test for opponent in found.opponents} == {"wilcoxon"}
    assert len(found.warnings) == 3
    assert "signed ranks" in found.warnings[0]
    assert "2 people are fewer than the 3" in found.warnings[-1]


def test_signed_ranks_equal_scipy():
    humans, judge = ratings(5, items=25, raters=2, judge_noise=0.1)
    found = alternative_annotator_test(humans, judge, epsilon=0.1)
    shared = [item for item in humans["rater 0"] if item in humans["rater 1"]]
    mine = [abs(humans["rater 0"][item] - humans["rater 1"][item]) for item in shared]
    its = [abs(judge[item] - humans["rater 1"][item]) for item in shared]
    ahead = np.array([int(a <= b) - int(b <= a) for a, b in zip(np.array(mine), np.array(its), strict=True)], float)
    expected = stats.wilcoxon(ahead - 0.1, alternative="less", method="asymptotic").pvalue
    assert found.opponents[0].p == pytest.approx(expected)


def test_few_items_need_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    humans, judge = ratings(3, items=20)
    with pytest.raises(InstallationError, match="needs scipy"):
        alternative_annotator_test(humans, judge, epsilon=0.2)
    humans, judge = ratings(3)
    assert alternative_annotator_test(humans, judge, epsilon=0.2).passes is not None


def test_who_shares_nothing_is_left_out_and_named():
    humans, judge = ratings(4)
    humans["rater 9"] = {"elsewhere": 3.0, "0": None}
    found = alternative_annotator_test(humans, judge, epsilon=0.2)
    assert "rater 9" not in {opponent.name for opponent in found.opponents}
    assert "rater 9 shares no item" in found.warnings[0]
    without = alternative_annotator_test({k: v for k, v in humans.items() if k != "rater 9"}, judge, epsilon=0.2)
    assert found.winning_rate == without.winning_rate


@pytest.mark.parametrize("humans", [{}, {"a": {}}, {"a": {"x": 1.0}}, {"a": {"x": 1.0}, "b": {"y": 1.0}}])
def test_nobody_to_compare_is_said_in_words(humans):
    found = alternative_annotator_test(humans, {"x": 1.0}, epsilon=0.2)
    assert (found.winning_rate, found.advantage, found.passes) == (None, None, None)
    assert found.why


def test_a_judge_as_near_as_rounding_allows_is_not_behind():
    """0.6 and 0.4 are as far from 0.5 as each other, whatever their binary fractions say."""
    humans = {"a": {str(i): 0.4 for i in range(30)}, "b": {str(i): 0.5 for i in range(30)}}
    found = alternative_annotator_test(humans, {str(i): 0.6 for i in range(30)}, epsilon=0.2)
    assert (found.opponents[0].judge_advantage, found.opponents[0].human_advantage) == (1, 1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.2))
def test_rejections_equal_scipy(p, q):
    expected = stats.false_discovery_control(p, method="by") <= q
    edge = np.abs(stats.false_discovery_control(p, method="by") - q) < 1e-12
    assert (benjamini_yekutieli(p, q) == expected)[~edge].all()


def test_no_hypotheses_are_not_rejected():
    assert benjamini_yekutieli([], 0.05).tolist() == []
