from __future__ import annotations

import tracemalloc
from math import log

import numpy as np
import pytest
import rank_bm25
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from benchbuilder.core.errors import DataError
from benchbuilder.retrieval.retrievers import bm25_build, bm25_index, bm25_loops
from benchbuilder.retrieval.retrievers.bm25 import Bm25Retriever, Bm25Spec, RankBm25Retriever
from benchbuilder.retrieval.tokenizers.jieba import JiebaSpec
from benchbuilder.retrieval.tokenizers.simple import WhitespaceSpec

TEXTS = ["placenta supplies oxygen", "folic acid prevents defects", "the placenta ages", "milk", "sleep on the back"]
CLASSES = {"okapi": rank_bm25.BM25Okapi, "l": rank_bm25.BM25L, "plus": rank_bm25.BM25Plus}


def given_spec(**changes):
    base = {"variant": "okapi", "k1": 1.5, "b": 0.75, "epsilon": 0.25, "delta": 0.5, "top_k": 3, "stop_words": None}
    return {"kind": "bm25", "tokenizer": WhitespaceSpec(kind="whitespace"), **base, **changes}


def indexed(texts, cache, **changes):
    retriever = Bm25Retriever(Bm25Spec(**given_spec(**changes)))
    retriever.index(texts, cache)
    return retriever


def oracle(texts, cache, **changes):
    retriever = RankBm25Retriever(Bm25Spec(**given_spec(**changes)))
    retriever.index(texts, cache)
    return retriever


def length_norm(length, k1=1.5, b=0.75):
    average = sum(len(text.split()) for text in TEXTS) / len(TEXTS)
    return 1 - b + b * length / average


@pytest.mark.parametrize("make", [indexed, oracle])
def test_okapi_by_hand(tmp_path, make):
    hits = make(TEXTS, tmp_path).search("placenta oxygen")
    idf = {"placenta": log(3.5) - log(2.5), "oxygen": log(4.5) - log(1.5)}
    tf = 2.5 / (1 + 1.5 * length_norm(3))
    assert [position for position, _ in hits] == [0, 2]
    assert [score for _, score in hits] == pytest.approx([tf * sum(idf.values()), tf * idf["placenta"]])


@pytest.mark.parametrize("make", [indexed, oracle])
def test_l_by_hand(tmp_path, make):
    ((position, score),) = make(TEXTS, tmp_path, variant="l", delta=0.5).search("milk")
    ctd = 1 / length_norm(1)
    assert (position, score) == (3, pytest.approx((log(6) - log(1.5)) * 2.5 * (ctd + 0.5) / (1.5 + ctd + 0.5)))


@pytest.mark.parametrize("make", [indexed, oracle])
def test_plus_by_hand_and_no_score_for_texts_without_the_word(tmp_path, make):
    hits = make(TEXTS, tmp_path, variant="plus", delta=1, top_k=9).search("milk")
    assert hits == [(3, pytest.approx(log(6) * (1 + 2.5 / (1.5 * length_norm(1) + 1))))]


COMMON = st.lists(st.sampled_from("abcdefgh"), max_size=7)
"""Texts of few words: many of them are in more than half of the texts."""
RARE = st.lists(st.integers(0, 400).map(lambda n: f"w{int(n**0.5)}"), max_size=12)
SETTINGS = st.fixed_dictionaries({
    "variant": st.sampled_from(["okapi", "l", "plus"]),
    "k1": st.sampled_from([1.5, 1.2, 0.1, 2.0, 1e-9]) | st.floats(0.01, 5),
    "b": st.sampled_from([0.75, 0.0, 1.0]) | st.floats(0, 1),
    "epsilon": st.sampled_from([0.25, 0.0, 2.0]),
    "delta": st.sampled_from([0.5, 1.0, 0.0, 1e9]),
})  # fmt: skip


def ranked(scores, shared, ties, count):
    """The documented order, by sorting everything."""
    later = -1 if ties == "last" else 1
    hits = [(at, float(scores[at])) for at in shared if scores[at] > 0]
    return sorted(hits, key=lambda hit: (-hit[1], later * hit[0]))[:count]


@pytest.mark.full
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    documents=st.lists(COMMON, min_size=1, max_size=9) | st.lists(RARE, min_size=1, max_size=40),
    query=st.lists(st.sampled_from("abcz") | st.integers(0, 22).map("w{}".format), max_size=8),
    chosen=SETTINGS, ties=st.sampled_from(["first", "last"]), top_k=st.sampled_from([1, 2, 3, 100]),
    grouped=st.sampled_from([2, 64]), sparse=st.sampled_from([1, 64]), postings=st.sampled_from([1, 7, 1 << 21]),
    at_once=st.sampled_from([1, 5, 1 << 22]), compiled_from=st.sampled_from([0, 1 << 60]),
)  # fmt: skip
@example(
    documents=[["a"]], query=["a", "a"], ties="first", top_k=3, grouped=64, sparse=64, postings=1, at_once=1,
    chosen={"variant": "okapi", "k1": 1.5, "b": 0.75, "epsilon": 0.25, "delta": 0.5}, compiled_from=0,
)  # fmt: skip
def test_the_very_scores_of_rank_bm25(
    tmp_path, monkeypatch, documents, query, chosen, ties, top_k, grouped, sparse, postings, at_once, compiled_from
):
    """Bit by bit, whichever way the best are found, in however many ranges of terms the index is made."""
    with monkeypatch.context() as patch:
        patch.setattr(bm25_index, "_COMPILED_FROM", compiled_from)
        patch.setattr(bm25_loops, "COMPILED", True)  # without numba, the loops run as plain Python
        patch.setattr(bm25_index, "_GROUP", grouped)
        patch.setattr(bm25_index, "_SPARSE", sparse)
        patch.setattr(bm25_build, "_RANGE", postings)
        patch.setattr(bm25_index, "_AT_ONCE", at_once)
        texts = [" ".join(document) for document in documents]
        cache = tmp_path / f"range-{postings}"
        hits = indexed(texts, cache, ties=ties, top_k=top_k, **chosen).search(" ".join(query))
    if not any(documents):
        assert hits == []
        return
    own = "epsilon" if chosen["variant"] == "okapi" else "delta"
    model = CLASSES[chosen["variant"]](documents, k1=chosen["k1"], b=chosen["b"], **{own: chosen[own]})
    with np.errstate(invalid="ignore"):  # zero by zero for empty texts, where only length counts
        scores = model.get_scores(query)
    shared = [at for at, document in enumerate(documents) if set(document) & set(query)]
    assert hits == ranked(scores, shared, ties, top_k)
    assert hits == oracle(texts, tmp_path, ties=ties, top_k=top_k, **chosen).search(" ".join(query))


@pytest.mark.push
@pytest.mark.parametrize("way", ["numpy", "loops"])
@pytest.mark.parametrize("variant", ["okapi", "l", "plus"])
def test_many_texts_and_queries(variant, way, tmp_path, monkeypatch):
    """Slices of texts and ranges of terms as with big knowledge bases, words in most of the texts, equal texts."""
    monkeypatch.setattr(bm25_index, "_COMPILED_FROM", 0 if way == "loops" else 1 << 60)
    monkeypatch.setattr(bm25_loops, "COMPILED", True)
    monkeypatch.setattr(bm25_index, "_AT_ONCE", 25)  # three queries at a time
    monkeypatch.setattr("benchbuilder.retrieval.retrievers.token_slices.SLICE", 128)
    monkeypatch.setattr(bm25_build, "_RANGE", 2000)
    chance = np.random.default_rng(7)
    likely = 1 / (np.arange(3000) + 2.0)
    words = [f"w{n}" for n in range(3000)]
    documents = [
        chance.choice(words, chance.integers(0, 60), p=likely / likely.sum()).tolist() for _ in range(1200)
    ]  # fmt: skip
    documents += documents[:200]
    own = {"epsilon": 0.25} if variant == "okapi" else {"delta": 0.5}
    model = CLASSES[variant](documents, k1=1.5, b=0.75, **own)
    texts = [" ".join(document) for document in documents]
    queries = [chance.choice(words, 12, p=likely / likely.sum()).tolist() for _ in range(15)]
    queries += [["w0", "w1", "w0"], ["w2999"], [], ["w2998", "w17", "unknown"], ["unknown"]]
    found = indexed(texts, tmp_path, variant=variant, top_k=7).search_many([" ".join(query) for query in queries])
    for query, hits in zip(queries, found, strict=True):
        shared = [at for at, document in enumerate(documents) if set(document) & set(query)]
        assert hits == ranked(model.get_scores(query), shared, "first", 7)


@pytest.mark.push
def test_loops_take_over_when_much_has_been_searched(tmp_path, monkeypatch):
    monkeypatch.setattr(bm25_loops, "COMPILED", True)
    monkeypatch.setattr(bm25_index, "_COMPILED_FROM", 40)
    calls = []
    monkeypatch.setattr(bm25_loops, "_search", lambda *given, search=bm25_loops._search: calls.append(search(*given)))
    retriever = indexed(TEXTS, tmp_path)
    first = retriever.search_many(["placenta", "milk", "the back"])
    assert not calls
    assert retriever.search_many(["placenta", "milk", "the back"]) == first
    assert len(calls) == 1
    monkeypatch.setattr(bm25_loops, "COMPILED", False)
    assert retriever.search_many(["placenta", "milk", "the back"]) == first
    assert len(calls) == 1


def test_loops_are_compiled_where_no_folder_for_machine_code_is_writable(monkeypatch):
    class Numba:
        def njit(self, nogil, cache=False):
            if cache:
                raise RuntimeError("no locator available")
            return lambda loop: ("compiled", loop)

    monkeypatch.setattr(bm25_loops, "_numba", Numba())
    assert bm25_loops._compiled(len) == ("compiled", len)
    monkeypatch.setattr(bm25_loops, "_numba", None)
    assert bm25_loops._compiled(len) is len


def test_terms_are_told_apart_by_their_text(tmp_path, monkeypatch):
    """Even if all of them had the same hash."""
    monkeypatch.setattr(bm25_build, "term_hash", lambda term: 7)
    monkeypatch.setattr(bm25_index, "term_hash", lambda term: 7)
    retriever = indexed(TEXTS, tmp_path)
    assert [hits[0][0] for hits in retriever.search_many(["milk", "folic", "sleep", "oxygen"])] == [3, 1, 4, 0]
    assert retriever.search("unknown") == []


def test_without_saturation_a_word_counts_once(tmp_path):
    """With k1 = 0 rank_bm25 divides zero by zero for the words that a text lacks; here these add nothing."""
    hits = indexed(["milk milk", "milk tea", "tea", "water", "juice"], tmp_path, k1=0.0).search("milk tea")
    assert [place for place, _ in hits] == [1, 0, 2]
    assert hits[1][1] == hits[2][1] == log(3.5) - log(2.5)


def test_ties(tmp_path):
    texts = ["milk first", "other words", "milk third", "more words here", "milk fifth"]
    assert [p for p, _ in indexed(texts, tmp_path, top_k=2).search("first third fifth milk")] == [0, 2]
    assert [p for p, _ in indexed(texts, tmp_path, top_k=2, ties="last").search("first third fifth milk")] == [4, 2]


def test_more_asked_for_than_there_is(tmp_path):
    assert len(indexed(TEXTS, tmp_path, top_k=50).search("placenta milk back")) == 4


@pytest.mark.full
@pytest.mark.parametrize("variant", ["okapi", "plus"])
def test_a_long_query_of_words_that_every_text_holds(tmp_path, variant):
    """Its memory does not grow with how often the query says them."""
    texts = [f"the {'of ' * (number % 7)}w{number}" for number in range(5000)]
    settings = {"variant": variant, "epsilon": 0.25, "top_k": 3}
    retriever, query = indexed(texts, tmp_path, **settings), "the of " * 4000 + "w7 " * 40
    tracemalloc.start()
    hits = retriever.search(query)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400_000_000
    few = "the of " * 20 + "w7 " * 40
    assert len(hits) == 3
    assert retriever.search(few) == oracle(texts, tmp_path, **settings).search(few)


def test_a_token_of_marks_alone_is_none_where_marks_do_not_count(tmp_path):
    texts = ["\u0301 milk", "\u0301 tea", "\u0302 water \u0301", "juice", "bread"]
    tokenizer = WhitespaceSpec(kind="whitespace", punctuation="apart")
    for make in (indexed, oracle):
        assert make(texts, tmp_path, tokenizer=tokenizer, fold=["marks"]).search("\u0301") == []
        assert [at for at, _ in make(texts, tmp_path, tokenizer=tokenizer).search("\u0302")] == [2]


def test_stop_words_are_not_searched(tmp_path):
    words = tmp_path / "stop.txt"
    words.write_text("# frequent\nthe\non\n", encoding="utf-8")
    retriever = indexed(TEXTS, tmp_path, stop_words=str(words))
    assert retriever.search("on the the") == []
    assert retriever.search("nothing known") == []
    assert retriever.search("") == []
    assert indexed(TEXTS, tmp_path).search("on the the") != []


@pytest.mark.parametrize("make", [indexed, oracle])
def test_an_empty_knowledge_base(tmp_path, make):
    assert make([], tmp_path).search("milk") == []
    assert make(["", " "], tmp_path).search("milk") == []


def test_chinese(tmp_path):
    texts = ["孕妇应当补充叶酸。", "新生儿需要保暖。", "叶酸可以预防神经管缺陷。", "母乳喂养有益。"]
    query, jieba = "预防神经管缺陷的维生素是叶酸", JiebaSpec(kind="jieba")
    hits = indexed(texts, tmp_path, tokenizer=jieba).search(query)
    assert hits[0][0] == 2
    assert hits == oracle(texts, tmp_path, tokenizer=jieba).search(query)


def test_versions_and_a_missing_tokenizer():
    jieba = JiebaSpec(kind="jieba")
    assert "jieba" in Bm25Retriever(Bm25Spec(**given_spec(tokenizer=jieba))).fingerprint()
    assert {"rank-bm25", "jieba"} <= set(RankBm25Retriever(Bm25Spec(**given_spec(tokenizer=jieba))).fingerprint())
    with pytest.raises(DataError, match="no tokenizer"):
        Bm25Retriever(Bm25Spec(**given_spec(tokenizer=None)))


@pytest.mark.parametrize("variant", ["okapi", "l", "plus"])
def test_the_weights_of_words_add_up_to_the_score(tmp_path, variant):
    retriever = indexed(TEXTS, tmp_path, variant=variant, top_k=5)
    query = "the placenta supplies the acid of nothing"
    hits = retriever.search(query)
    assert len(hits) > 1
    for position, score in hits:
        weights = retriever.word_weights(query, position)
        assert sum(weights.values()) == pytest.approx(score, rel=1e-12)
        if variant != "plus":
            assert set(weights) <= set(TEXTS[position].split())
    assert retriever.is_indexed(TEXTS, tmp_path)
    assert not retriever.is_indexed(TEXTS[1:], tmp_path), "an index of other texts is not opened"
    assert not list(tmp_path.glob("*.draft"))
    assert oracle(TEXTS, tmp_path).word_weights(query, 0) == {}
