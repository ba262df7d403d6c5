import json

import pytest

from benchbuilder.agreement.measures import MEASURES, measure


def of(clusters, samples=400, seed=1):
    return measure(clusters, categories=2, samples=samples, level=0.95, seed=seed)


def test_prevalence_case_with_intervals():
    found = of([[(1, 1)]] * 95 + [[(0, 1)]] * 2 + [[(1, 0)]] * 3)
    assert found["n"] == found["clusters"] == 100
    assert found["table"] == [[0, 2], [3, 95]]
    assert found["percent"]["value"] == 0.95
    assert found["kappa"]["value"] == pytest.approx(-0.025, abs=0.0005)
    assert found["ac1"]["value"] == pytest.approx(0.947, abs=0.0005)
    for name in MEASURES:
        assert found[name]["low"] <= found[name]["value"] <= found[name]["high"]
    # the binomial interval of 95 of 100 is about 0.89 to 0.98
    assert 0.88 <= found["percent"]["low"] <= 0.92
    assert 0.97 <= found["percent"]["high"] <= 1.0


def test_words_where_nothing_varies():
    found = of([[(1, 1)]] * 20)
    assert found["percent"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert found["ac1"]["value"] == 1.0
    assert found["kappa"] == {"undefined": "undefined: both annotators gave only 1"}
    assert found["alpha"] == {"undefined": "undefined: both annotators gave only 1"}


def test_words_where_nothing_is_judged():
    found = of([[], []])
    assert found["n"] == found["clusters"] == 0
    assert all("nothing that both annotators judged" in found[name]["undefined"] for name in MEASURES)


def test_one_candidate_has_no_interval():
    found = of([[(1, 1), (0, 0), (1, 0)]])
    assert found["percent"]["value"] == pytest.approx(2 / 3, abs=1e-6)
    assert found["percent"]["low"] is None
    assert "one candidate" in found["percent"]["why"]


def test_resamples_without_variation_are_counted():
    # a single 0 0 among 1 1: a third of the resamples miss it
    found = of([[(1, 1)]] * 19 + [[(0, 0)]])
    assert found["kappa"]["value"] == 1.0
    assert 100 < found["kappa"]["left_out"] < 200


def test_most_resamples_without_variation_give_words():
    # ten pairs in two clusters, one of which holds all variation together with a difference
    found = of([[(1, 1)] * 9, [(1, 0)]], samples=101)
    assert found["kappa"]["value"] == 0.0 or found["kappa"]["low"] is not None
    three = of([[(1, 1)], [(1, 1)], [(1, 1)], [(1, 1)]], samples=100)
    assert "undefined" in three["kappa"]


def test_paragraphs_of_one_candidate_hang_together():
    """Forty judgements of four candidates say less than forty of forty."""
    together = of([[(1, 1)] * 10, [(1, 1)] * 10, [(0, 1)] * 10, [(0, 0)] * 10])
    apart = of([[(1, 1)]] * 20 + [[(0, 1)]] * 10 + [[(0, 0)]] * 10)
    assert together["n"] == apart["n"] == 40
    width = {name: found["percent"]["high"] - found["percent"]["low"] for name, found in
             (("together", together), ("apart", apart))}  # fmt: skip
    assert width["together"] > 2 * width["apart"]


def test_seeded_and_plain_json():
    clusters = [[(i % 2, (i // 2) % 2)] for i in range(30)]
    assert json.dumps(of(clusters)) == json.dumps(of(clusters))
    assert of(clusters, seed=1)["kappa"] != of(clusters, seed=2)["kappa"]
