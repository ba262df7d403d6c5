import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worked_examples import SHROUT, units

from benchbuilder.core.stats.agreement.ratings import has_prevalence_paradox, measure_agreement

LEVELS = ("nominal", "ordinal", "interval")
NAMES = {
    "nominal": ("percent", "kappa", "ac1", "alpha"),
    "ordinal": ("percent", "alpha"),
    "interval": ("mean_difference", "within_tolerance", "alpha", "icc21", "icc2k"),
}
rating = st.dictionaries(st.sampled_from("ABCD"), st.none() | st.integers(1, 4), max_size=4)
rated = st.lists(st.lists(rating, max_size=4), max_size=6)


def of(clusters, level="nominal", samples=50, seed=1, tolerance=1.0, **more):
    return measure_agreement(
        clusters, level=level, samples=samples, confidence_level=0.95, seed=seed, tolerance=tolerance, **more
    )


def test_prevalence_paradox():
    skewed = [[(1, 1)]] * 95 + [[(0, 1)]] * 2 + [[(1, 0)]] * 3
    found = of([[dict(zip("AB", pair, strict=True)) for pair in cluster] for cluster in skewed])
    assert found["kappa"]["value"] == pytest.approx(-0.025, abs=0.0005)
    assert found["ac1"]["value"] == pytest.approx(0.947, abs=0.0005)
    assert has_prevalence_paradox(found)
    balanced = of([[{"A": i % 2, "B": i % 2}] for i in range(95)] + [[{"A": 1, "B": 0}]] * 5)
    assert not has_prevalence_paradox(balanced)
    assert not has_prevalence_paradox(of([[{"A": 1, "B": 1}]] * 9))
    assert not has_prevalence_paradox(of(units(SHROUT.T), "interval"))
    assert not has_prevalence_paradox({})


@pytest.mark.parametrize(
    ("percent", "kappa", "ac1", "shown"),
    [
        (0.8, 0.3, 0.5, True), (0.79, 0.3, 0.6, False), (0.9, 0.4, 0.9, False), (0.9, 0.35, 0.5, False)
    ],
)  # fmt: skip
def test_bounds_of_the_paradox(percent, kappa, ac1, shown):
    given_ = {"percent": percent, "kappa": kappa, "ac1": ac1}
    assert has_prevalence_paradox({name: {"value": value} for name, value in given_.items()}) is shown


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("value", [0, 1, 0.1])
def test_unanimous_data_has_words(level, value):
    found = of([[{"A": value, "B": value, "C": value}]] * 20, level, categories=(0, 1) if level == "nominal" else ())
    corrected = set(NAMES[level]) - {"percent", "mean_difference", "within_tolerance"}
    for name in corrected:
        assert found[name] == {"undefined": f"undefined: all 3 annotators gave only {value}"}
    if level == "interval":
        assert found["mean_difference"]["value"] == 0.0
    else:
        assert found["percent"] == {"value": 1.0, "low": 1.0, "high": 1.0}


def test_words_name_both():
    found = of([[{"A": "yes", "B": "yes"}]] * 3)
    assert found["kappa"]["undefined"] == "undefined: both annotators gave only yes"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("clusters", [[], [[]], [[{}]], [[{"A": 1}], [{"B": 2, "C": None}]]])
def test_nothing_judged_twice_has_words(level, clusters):
    found = of(clusters, level)
    assert found["n"] == found["clusters"] == found["raters"] == 0
    assert all("nothing that two annotators judged" in found[name]["undefined"] for name in NAMES[level])
    json.dumps(found, allow_nan=False)


def test_no_unit_that_all_rated_has_no_icc():
    found = of([[{"A": 1, "B": 2}], [{"B": 3, "C": 2}], [{"A": 5, "C": 4}]], "interval")
    assert found["complete"] == 0
    assert found["icc2k"]["undefined"] == "undefined: fewer than two items were judged by all 3 annotators"
    assert found["alpha"]["value"] > 0


def test_icc_is_of_the_units_that_all_rated():
    """In whatever order a unit names its raters."""
    orders = ("ABCD", "DBCA", "CABD", "BADC", "DCBA", "ACBD")
    full = [
        [{judge: float(row["ABCD".index(judge)]) for judge in order}] for row, order in zip(SHROUT, orders, strict=True)
    ]
    some = [*full[:3], [{"A": 9.0, "C": 1.0}], *full[3:], [{"B": 2.0, "D": 2.0, "A": None}]]
    found = of(some, "interval")
    assert (found["n"], found["complete"]) == (8, 6)
    assert found["icc2k"]["value"] == of(units(SHROUT.T), "interval")["icc2k"]["value"]


def test_opposite_raters_have_no_icc():
    found = of([[{"A": 0, "B": 1}], [{"A": 1, "B": 0}]], "interval")
    assert found["icc2k"]["undefined"] == "undefined: the judgements do not tell the items apart"


def test_tolerance_counts_its_own_bound():
    """0.4 - 0.3 is a little more than 0.1 in binary: it counts as 0.1."""
    data = [[{"A": 0.4, "B": 0.3}], [{"A": 0.9, "B": 0.5}], [{"A": 0.2, "B": 0.2}], [{"A": 0.7, "B": 0.81}]]
    found = of(data, "interval", tolerance=0.1)
    assert found["within_tolerance"]["value"] == 0.5
    assert found["mean_difference"]["value"] == pytest.approx((0.1 + 0.4 + 0.11) / 4)
    assert "within_tolerance" not in of(data, "interval", tolerance=None)
    assert of(data, "interval", tolerance=0)["within_tolerance"]["value"] == 0.25


def test_every_unit_weighs_the_same_in_what_was_observed():
    data = [[{"A": 0, "B": 1, "C": 1}], [{"A": 1, "B": 1}]]
    assert of(data)["percent"]["value"] == pytest.approx((1 / 3 + 1) / 2, abs=1e-6)
    assert of(data, "interval")["mean_difference"]["value"] == pytest.approx((2 / 3 + 0) / 2, abs=1e-6)


def test_categories_that_nobody_gave_count_for_ac1_only():
    data = [[{"A": "yes", "B": "yes"}], [{"A": "no", "B": "yes"}], [{"A": "no", "B": "no"}]]
    two, three = of(data), of(data, categories=("yes", "no", "cannot tell"))
    assert three["ac1"]["value"] > two["ac1"]["value"]
    assert all(three[name] == two[name] for name in ("percent", "kappa", "alpha"))


def test_one_cluster_has_no_interval():
    found = of([[{"A": 0, "B": 1}, {"A": 1, "B": 1}]])
    assert found["kappa"]["low"] is None
    assert "one candidate" in found["kappa"]["why"]


def test_resamples_without_variation_are_counted():
    clusters = [[{"A": 0.1, "B": 0.1, "C": 0.1}]] * 19 + [[{"A": 0.7, "B": 0.7, "C": 0.7}]]
    for level, name in (("nominal", "kappa"), ("nominal", "alpha"), ("ordinal", "alpha"), ("interval", "icc2k")):
        found = of(clusters, level, samples=300)[name]
        assert found["value"] == 1.0
        assert 70 < found["left_out"] < 150  # about a third of the resamples miss the one


def test_clusters_hang_together():
    judged = [(1, 1)] * 20 + [(0, 1)] * 10 + [(0, 0)] * 10
    each = [{"A": one, "B": other} for one, other in judged]
    apart = of([[unit] for unit in each], samples=300)["percent"]
    together = of([each[i : i + 10] for i in range(0, 40, 10)], samples=300)["percent"]
    assert apart["value"] == together["value"]
    assert together["high"] - together["low"] > 2 * (apart["high"] - apart["low"])


@pytest.mark.parametrize("level", LEVELS)
def test_seeded(level):
    source = random.Random(7)
    clusters = [[{"A": source.randint(1, 5), "B": source.randint(1, 5)} for _ in range(3)] for _ in range(15)]
    assert json.dumps(of(clusters, level)) == json.dumps(of(clusters, level))
    assert of(clusters, level, seed=1)["alpha"] != of(clusters, level, seed=2)["alpha"]


@pytest.mark.parametrize("level", ["ordinal", "interval"])
def test_words_are_no_numbers(level):
    with pytest.raises(ValueError, match="are numbers"):
        of([[{"A": "good", "B": "bad"}]], level)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="of A is not a finite number"):
        of([[{"A": value, "B": 1.0}]], "interval")


@pytest.mark.push
@pytest.mark.parametrize("level", LEVELS)
@given(rated)
def test_plain_bounded_json_of_anything(level, clusters):
    found = of(clusters, level, samples=20)
    json.dumps(found, allow_nan=False)
    for name in NAMES[level]:
        measured = found[name]
        if "undefined" in measured:
            assert measured["undefined"].startswith("undefined: ")
            continue
        if measured["low"] is None:
            assert measured["why"]
        else:
            assert measured["low"] <= measured["high"]
        if name != "mean_difference":
            assert measured["value"] <= 1
        if name in {"percent", "mean_difference", "within_tolerance"}:
            assert measured["value"] >= 0


@pytest.mark.full
@pytest.mark.parametrize("level", LEVELS)
@given(rated)
def test_alpha_is_undefined_exactly_without_variation(level, clusters):
    kept = [[value for value in unit.values() if value is not None] for cluster in clusters for unit in cluster]
    varied = len({value for unit in kept if len(unit) > 1 for value in unit}) > 1
    assert ("value" in of(clusters, level, samples=2)["alpha"]) == varied


def close(one, other):
    """Whether two results are the same but for the last digit."""
    if isinstance(one, dict):
        return set(one) == set(other) and all(close(one[name], other[name]) for name in one)
    return one == (pytest.approx(other, abs=2e-6) if isinstance(one, float) else other)


@pytest.mark.push
@pytest.mark.parametrize("level", LEVELS)
@given(rated, st.permutations("ABCD"))
def test_names_and_order_of_raters_do_not_matter(level, clusters, names):
    renamed = [
        [{names["ABCD".index(rater)]: unit[rater] for rater in reversed(unit)} for unit in cluster]
        for cluster in clusters
    ]
    assert close(of(clusters, level, samples=5), of(renamed, level, samples=5))


@pytest.mark.push
@pytest.mark.parametrize("level", LEVELS)
@given(rated, st.randoms(use_true_random=False))
def test_order_of_units_does_not_matter(level, clusters, source):
    """Within a cluster not even for the interval; clusters are drawn by place."""
    within = [source.sample(cluster, len(cluster)) for cluster in clusters]
    assert close(of(clusters, level, samples=5), of(within, level, samples=5))
    whole, mixed = (of(some, level, samples=1) for some in (clusters, source.sample(clusters, len(clusters))))
    for name in NAMES[level]:
        assert whole[name].get("undefined") == mixed[name].get("undefined")
        assert whole[name].get("value") == pytest.approx(mixed[name].get("value"), abs=2e-6)


@pytest.mark.parametrize("level", LEVELS)
def test_five_thousand_units_are_read(level):
    source = np.random.default_rng(1)
    clusters = [[{"A": float(one), "B": float(other)}] for one, other in source.integers(0, 11, (5_000, 2)) / 10]
    assert of(clusters, level, samples=1000)["n"] == 5_000


def test_clusters_widen_the_interval():
    together = of([[{"A": 1, "B": 1}] * 10, [{"A": 1, "B": 0}] * 10] * 5, samples=400)
    apart = of([[{"A": 1, "B": 1}]] * 50 + [[{"A": 1, "B": 0}]] * 50, samples=400)
    width = [found["percent"]["high"] - found["percent"]["low"] for found in (together, apart)]
    assert width[0] > 1.5 * width[1]
