"""What metrics make of scores, against figures worked out by hand."""

from __future__ import annotations

import math

import pytest

from benchbuilder.core.errors import DataError
from benchbuilder.core.records.roles import Score
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.core.registry import create_from_spec, find_kind
from benchbuilder.evaluation.metrics import ClusteredScore


def score(value, *counts, fact="f", number=0):
    row = Score.build(
        of=f"answer-{number}",
        origin=Origin(file="f", line=1),
        produced_by=ProducedBy(rule="r"),
        language="zh",
        partition="p",
        item=f"item-{number}",
        model="m",
        scorer="s",
        aspect="a",
        value=value,
        counts=counts,
    )
    return ClusteredScore(row, fact)


def figures(kind, scored, **spec):
    cls = find_kind("metric", kind).load().spec_class
    metric = create_from_spec("metric", cls.model_validate({"kind": kind, "aspect": "a", **spec}))
    return {name: statistic.value() for name, statistic in metric.statistics(scored).items()}


def test_the_mean_counts_what_has_no_value_as_the_recipe_says():
    scored = [score(1.0), score(0.0, number=1), score(1.0, number=2), score(None, number=3)]
    assert figures("mean", scored, missing="zero") == {"mean": 0.5}
    assert figures("mean", scored, missing="left_out") == {"mean": pytest.approx(2 / 3)}


def test_each_fact_weighs_the_same_however_many_items_it_has():
    scored = [score(1.0, fact="big", number=n) for n in range(9)] + [score(0.0, fact="small", number=9)]
    assert figures("cluster_mean", scored, missing="zero") == {"mean": pytest.approx(0.5)}
    assert figures("mean", scored, missing="zero") == {"mean": pytest.approx(0.9)}


def test_an_item_without_a_value_is_no_part_of_its_facts_mean_where_it_is_left_out():
    scored = [score(1.0, fact="a"), score(None, fact="a", number=1), score(0.0, fact="b", number=2)]
    assert figures("cluster_mean", scored, missing="left_out") == {"mean": pytest.approx(0.5)}
    assert figures("cluster_mean", scored, missing="zero") == {"mean": pytest.approx(0.25)}


def test_micro_f1_divides_sums_and_not_shares():
    # case one: two given, one of them wanted, three wanted; case two: nothing given, one wanted
    found = figures("micro_f1", [score(0.4, 1, 2, 3), score(0.0, 0, 0, 1, number=1)])
    assert found == {"precision": 0.5, "recall": 0.25, "f1": pytest.approx(2 * 1 / (2 + 4))}


def test_micro_f1_of_nothing_given_has_no_precision():
    found = figures("micro_f1", [score(0.0, 0, 0, 2)])
    assert math.isnan(found["precision"])
    assert (found["recall"], found["f1"]) == (0.0, 0.0)


def test_a_score_without_counts_is_an_error_that_names_it():
    with pytest.raises(DataError, match="has no counts"):
        figures("micro_f1", [score(1.0)])
