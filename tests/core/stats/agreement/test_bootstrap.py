import numpy as np
import pytest

from benchbuilder.core.stats.resampling import draws, interval


def test_every_sample_draws_as_many_clusters_as_there_are():
    rows = np.concatenate(list(draws(np.arange(7), 150, 3)))
    assert rows.shape == (150, 7)
    assert (rows.sum(1) == 7).all()
    assert rows.max() > 1


def test_more_samples_only_add_rows():
    few, many = (np.concatenate(list(draws(np.arange(5), samples, 1))) for samples in (10, 200))
    np.testing.assert_array_equal(few, many[:10])
    assert not np.array_equal(few, np.concatenate(list(draws(np.arange(5), 10, 2))))


def test_nothing_is_drawn_of_nothing():
    assert list(draws(np.arange(0), 100, 1)) == []
    assert list(draws(np.arange(5), 0, 1)) == []


def test_percentiles():
    assert interval(np.arange(101.0), 0.9, 10) == {"low": 5.0, "high": 95.0}


def test_undefined_values_are_counted_and_too_many_give_words():
    some = np.array([np.nan, 1.0, 1.0])
    assert interval(some, 0.9, 10) == {"low": 1.0, "high": 1.0, "left_out": 1}
    most = interval(np.array([np.nan, np.nan, 1.0]), 0.9, 10, "nobody came")
    assert most == {"low": None, "high": None, "why": "undefined: in 2 of 3 resamples nobody came"}


@pytest.mark.parametrize(("clusters", "words"), [(1, "one candidate"), (2, "no resample")])
def test_no_interval(clusters, words):
    assert words in interval(np.zeros(0), 0.9, clusters)["why"]
