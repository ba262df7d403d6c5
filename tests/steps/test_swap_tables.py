"""The tables of pairs that `swap_triple` makes at once say what a comparison one by one says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchbuilder.steps.language.known_edges import KnownRule
from benchbuilder.steps.language.known_graph import KnownGraph, Side
from benchbuilder.steps.language.known_triples import EMPTY_TRIPLES
from benchbuilder.steps.swapping.meeting import from_bits, has_bit, meeting, to_bits
from benchbuilder.steps.swapping.names import NameForms
from benchbuilder.steps.swapping.relatedness import FULLY_RELATED, relatedness

SETS = st.lists(st.sets(st.integers(0, 6)), min_size=1, max_size=20)
NAME = st.text("甲乙丙b1 Ａ。", max_size=5)
NAMES = st.lists(st.lists(NAME, max_size=2), min_size=1, max_size=10)


@pytest.mark.push
@given(SETS, SETS, st.integers(1, 3))
def test_sets_meet_that_share_enough_members(rows, columns, least):
    plain = np.array([[len(row & column) >= least for column in columns] for row in rows])
    bits = meeting(rows, columns, least)
    assert (from_bits(bits, len(columns)) == plain).all()
    assert (to_bits(plain) == bits).all()
    assert all(has_bit(bits, *place) == plain[place] for place in np.ndindex(plain.shape))


@pytest.mark.push
@pytest.mark.parametrize("unit", ["characters", "words"])
@given(lefts=NAMES, rights=NAMES, nearness=st.sampled_from(["contained", "bigram"]))
def test_names_are_near_in_sets_as_one_by_one(unit, lefts, rights, nearness):
    forms = NameForms(unit, "")
    near = from_bits(forms.near(lefts, rights, nearness), len(rights))
    assert near.tolist() == [
        [any(forms.is_near(left, right, nearness) for left in one for right in two) for two in rights] for one in lefts
    ]


def test_relatedness_is_the_cosine_of_weighed_columns():
    draw = np.random.default_rng(7)
    table = draw.random((90, 40)) < np.linspace(0.01, 0.6, 40)  # some columns are rare, others common
    profiles = [np.flatnonzero(row).tolist() for row in table]
    weighed = table * np.rint(2 + 2 * np.log2(len(table) / np.maximum(table.sum(axis=0), 1)))
    sums = weighed @ weighed.T
    sizes = np.sqrt(np.maximum(np.diagonal(sums), 1))
    assert (relatedness(profiles) == np.floor(FULLY_RELATED * sums / np.outer(sizes, sizes))).all()


def graph_of(*triples):
    columns = [
        pa.array(column, EMPTY_TRIPLES.schema.types[place]) for place, column in enumerate(zip(*triples, strict=True))
    ]
    return KnownGraph(pa.table(columns, EMPTY_TRIPLES.schema), KnownRule("。", "（反向）", frozenset({"同义词"})))


def test_edges_are_read_in_one_direction_and_once():
    graph = graph_of(
        ("甲", "治", "乙", [], []), ("乙。", "治（反向）", "甲", [], []), ("甲", "治", "丙", ["甲。", "丁"], [])
    )
    assert graph.ends("甲", Side("治", concept_first=True)) == {"乙": 0, "丙": 1}
    assert graph.ends("丁", Side("治", concept_first=True)) == {"乙": 0, "丙": 1}
    assert graph.ends("乙", Side("治", concept_first=False)) == {"甲": 0}
    assert graph.edge_text(1) == "甲 | 治 | 丙"


def test_both_ends_of_a_synonym_are_one_concept():
    graph = graph_of(("甲", "同义词", "乙", [], []), ("乙", "治", "丙", [], []), ("丙", "因", "丁", [], []))
    assert graph.synonyms("甲") == {"甲", "乙"}
    assert graph.linked("甲") == {"甲": 0, "乙": 0, "丙": 1}


def test_of_two_ways_to_an_end_the_order_of_names_decides():
    """The detail of a row names the way. Once, the order of hashes decided, so that two builds could differ."""
    ways = [
        triple
        for n in range(10)
        for triple in [
            ("始", "是", f"甲{n}", [], []), (f"甲{n}", "是", f"乙{n}", [], [f"丙{n}"]),
            ("他", "因", f"乙{n}", [], [f"丁{n}"]), ("他", "因", f"丁{n}", [], [f"戊{n}"]),
            (f"戊{n}", "是", f"末{n}", [], []), (f"丁{n}", "是", f"末{n}", [], []),
        ]
    ]  # fmt: skip
    found = graph_of(*ways).chained_ends("始", Side("是", concept_first=True))
    assert [found[f"末{n}"] for n in range(10)] == [6 * n + 5 for n in range(10)]
