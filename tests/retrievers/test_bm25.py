from __future__ import annotations

from math import log
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import rank_bm25
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchbuilder.errors import DataError
from benchbuilder.retrievers.bm25 import Bm25, Bm25Spec
from benchbuilder.tokenizers.jieba import JiebaSpec
from benchbuilder.tokenizers.whitespace import WhitespaceSpec

TEXTS = ["placenta supplies oxygen", "folic acid prevents defects", "the placenta ages", "milk", "sleep on the back"]


def spec(**changes):
    base = {"variant": "okapi", "k1": 1.5, "b": 0.75, "epsilon": 0.25, "delta": 0.5, "top_k": 3, "stop_words": None}
    tokenizer = WhitespaceSpec(kind="whitespace")
    return Bm25Spec(**{"kind": "bm25", "tokenizer": tokenizer, **base, **changes})


def indexed(texts, cache, **changes):
    retriever = Bm25(spec(**changes))
    retriever.index(texts, cache)
    return retriever


def length_norm(length, k1=1.5, b=0.75):
    average = sum(len(text.split()) for text in TEXTS) / len(TEXTS)
    return 1 - b + b * length / average


def test_okapi_by_hand(tmp_path):
    hits = indexed(TEXTS, tmp_path).search("placenta oxygen")
    idf = {"placenta": log(3.5) - log(2.5), "oxygen": log(4.5) - log(1.5)}
    tf = 2.5 / (1 + 1.5 * length_norm(3))
    assert [position for position, _ in hits] == [0, 2]
    assert [score for _, score in hits] == pytest.approx([tf * sum(idf.values()), tf * idf["placenta"]])


def test_l_by_hand(tmp_path):
    ((position, score),) = indexed(TEXTS, tmp_path, variant="l", delta=0.5).search("milk")
    ctd = 1 / length_norm(1)
    assert (position, score) == (3, pytest.approx((log(6) - log(1.5)) * 2.5 * (ctd + 0.5) / (1.5 + ctd + 0.5)))


def test_plus_by_hand_and_no_score_for_texts_without_the_word(tmp_path):
    hits = indexed(TEXTS, tmp_path, variant="plus", delta=1, top_k=9).search("milk")
    assert hits == [(3, pytest.approx(log(6) * (1 + 2.5 / (1.5 * length_norm(1) + 1))))]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    texts=st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6).map(" ".join), min_size=1, max_size=8),
    query=st.lists(st.sampled_from("abcz"), max_size=4),
    variant=st.sampled_from(["okapi", "l", "plus"]),
)
def test_scores_are_those_of_rank_bm25(tmp_path, texts, query, variant):
    hits = indexed(texts, tmp_path, variant=variant, top_k=100).search(" ".join(query))
    documents = [text.split() for text in texts]
    if not any(documents):
        assert hits == []
        return
    name = {"okapi": "BM25Okapi", "l": "BM25L", "plus": "BM25Plus"}[variant]
    extra = {"epsilon": 0.25} if variant == "okapi" else {"delta": 0.5}
    expected = getattr(rank_bm25, name)(documents, k1=1.5, b=0.75, **extra).get_scores(query)
    shared = [i for i, document in enumerate(documents) if set(document) & set(query) and expected[i] > 0]
    assert dict(hits) == {i: pytest.approx(expected[i]) for i in shared}
    assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)


def test_ties(tmp_path):
    texts = ["milk first", "other words", "milk third", "more words here", "milk fifth"]
    assert [p for p, _ in indexed(texts, tmp_path, top_k=2).search("first third fifth milk")] == [0, 2]
    assert [p for p, _ in indexed(texts, tmp_path, top_k=2, ties="last").search("first third fifth milk")] == [4, 2]


def test_more_asked_for_than_there_is(tmp_path):
    assert len(indexed(TEXTS, tmp_path, top_k=50).search("placenta milk back")) == 4


def test_stop_words_are_not_searched(tmp_path):
    words = tmp_path / "stop.txt"
    words.write_text("# frequent\nthe\non\n", encoding="utf-8")
    retriever = indexed(TEXTS, tmp_path, stop_words=str(words))
    assert retriever.search("on the the") == []
    assert retriever.search("nothing known") == []
    assert retriever.search("") == []
    assert indexed(TEXTS, tmp_path).search("on the the") != []


def test_an_empty_knowledge_base(tmp_path):
    assert indexed([], tmp_path).search("milk") == []
    assert indexed(["", " "], tmp_path).search("milk") == []


def test_a_cached_index_answers_like_a_fresh_one(tmp_path, monkeypatch):
    fresh = indexed(TEXTS, tmp_path).search("placenta ages")
    (file,) = tmp_path.iterdir()
    before = file.read_bytes()

    def refuse(self, text):
        raise AssertionError("tokenised again")

    reused = Bm25(spec())
    with monkeypatch.context() as patch:
        patch.setattr("benchbuilder.tokenizers.whitespace.Whitespace.tokens", refuse)
        reused.index(TEXTS, tmp_path)
    assert reused.search("placenta ages") == fresh
    assert indexed(TEXTS, tmp_path, k1=0.5, variant="l").search("milk")
    assert file.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_other_texts_or_words_have_an_index_of_their_own(tmp_path):
    words = tmp_path / "stop.list"
    words.write_text("the\n", encoding="utf-8")
    indexed(TEXTS, tmp_path)
    indexed(TEXTS[::-1], tmp_path)
    indexed(["a b", "c"], tmp_path)
    indexed(["a", "b c"], tmp_path)
    indexed(TEXTS, tmp_path, stop_words=str(words))
    indexed(TEXTS, tmp_path, tokenizer=JiebaSpec(kind="jieba"))
    assert len(list(tmp_path.glob("bm25-*.parquet"))) == 6


@pytest.mark.parametrize("damage", ["garbage", "foreign"])
def test_a_damaged_cache_is_made_anew(damage, tmp_path):
    expected = indexed(TEXTS, tmp_path).search("placenta")
    (file,) = tmp_path.iterdir()
    if damage == "garbage":
        file.write_bytes(b"PAR1 no")
    else:
        table = pq.read_table(file).slice(1)
        pq.write_table(table, file)
    assert indexed(TEXTS, tmp_path).search("placenta") == expected
    assert pq.read_table(file).num_rows == len(TEXTS)


def test_chinese(tmp_path):
    texts = ["孕妇应当补充叶酸。", "新生儿需要保暖。", "叶酸可以预防神经管缺陷。", "母乳喂养有益。"]
    hits = indexed(texts, tmp_path, tokenizer=JiebaSpec(kind="jieba")).search("预防神经管缺陷的维生素是叶酸")
    assert hits[0][0] == 2


def test_versions_and_a_missing_tokenizer():
    assert {"rank-bm25", "jieba"} <= set(Bm25(spec(tokenizer=JiebaSpec(kind="jieba"))).fingerprint())
    with pytest.raises(DataError, match="no tokenizer"):
        Bm25(spec(tokenizer=None))


def test_no_index_is_read_by_executing_it(tmp_path):
    indexed(TEXTS, tmp_path)
    assert {path.suffix for path in Path(tmp_path).iterdir()} == {".parquet"}
