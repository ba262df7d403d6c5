from __future__ import annotations

import pytest
from pydantic import ValidationError
from test_bm25 import TEXTS, given_spec

from benchbuilder.retrieval.retrievers.bm25 import Bm25Spec
from benchbuilder.retrieval.retrievers.hybrid import HybridRetriever, HybridSpec


def spec(lists, **changes):
    return HybridSpec(**{"kind": "hybrid", "lists": lists, "k": 60, "top_k": 3, **changes})


def okapi(**changes):
    return Bm25Spec(**given_spec(**changes))


def indexed(cache, texts=TEXTS, **changes):
    lists = changes.pop("lists", {"short": okapi(top_k=2, b=1.0), "long": okapi(top_k=2, b=0.0, stop_words=None)})
    retriever = HybridRetriever(spec(lists, **changes))
    retriever.index(texts, cache)
    return retriever


def fixed(retriever, **lists):
    """A hybrid whose retrievers find what is given."""

    class Found:
        def __init__(self, hits):
            self.hits = hits

        def search_many(self, queries):
            return [[(place, 9.0 - rank) for rank, place in enumerate(self.hits)] for _ in queries]

    retriever._lists = {name: Found(hits) for name, hits in lists.items()}
    return retriever


def test_by_hand(tmp_path):
    lists = {"a": okapi(), "b": okapi()}
    hits = fixed(HybridRetriever(spec(lists, k=10, weights={"b": 2.0})), a=[4, 7], b=[7, 1]).search("milk")
    assert hits == [(7, 1 / 12 + 2 / 11), (1, 2 / 12), (4, 1 / 11)]


@pytest.mark.parametrize(("ties", "order"), [("first", [1, 4]), ("last", [4, 1])])
def test_ties_are_broken_by_the_order_of_the_texts(ties, order):
    both = HybridRetriever(spec({"a": okapi(), "b": okapi()}, ties=ties))
    assert [place for place, _ in fixed(both, a=[4, 1], b=[1, 4]).search("milk")] == order


def test_equal_ranks_in_other_lists_are_equal():
    """Floating-point sums in another order may differ in the last bit: 1/61 + 1/62 + 1/63 does."""
    three = fixed(HybridRetriever(spec({name: okapi() for name in "abc"})), a=[5, 9, 7], b=[9, 7, 5], c=[7, 5, 9])
    hits = three.search("milk")
    assert [place for place, _ in hits] == [5, 7, 9]
    assert len({score for _, score in hits}) == 1


def test_only_so_many(tmp_path):
    one = fixed(HybridRetriever(spec({"a": okapi()}, top_k=2)), a=[3, 2, 1])
    assert [place for place, _ in one.search("milk")] == [3, 2]


def test_real_lists(tmp_path):
    retriever = indexed(tmp_path)
    assert retriever.search("the placenta")[0][0] == 2
    assert retriever.search("unknown") == []
    assert retriever.search_many(["the placenta", "milk"])[1][0][0] == 3


def test_each_list_has_an_index_that_is_built_once(tmp_path):
    lists = {"words": okapi(), "again": okapi(k1=1.0), "oracle": Bm25Spec(**given_spec(kind="rank_bm25"))}
    made = HybridRetriever(spec(lists)).build(TEXTS, tmp_path)
    assert {path.name for path in made} == {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert len(made) == 3  # one index, two formulas


def test_what_shapes_a_list_shapes_the_whole():
    known = HybridRetriever(spec({"words": okapi(), "oracle": Bm25Spec(**given_spec(kind="rank_bm25"))})).fingerprint()
    assert {"words version", "oracle version", "oracle rank-bm25"} <= set(known)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"lists": {}}, "lists"),
        ({"weights": {"c": 1}}, "no list is called c"),
        ({"weights": {"a": 0}}, "greater than 0"),
    ],
)
def test_what_cannot_be(changes, told):
    with pytest.raises(ValidationError, match=told):
        spec({"a": okapi()}, **changes) if "lists" not in changes else spec(**changes)
