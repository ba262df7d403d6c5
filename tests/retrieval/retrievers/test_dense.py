from __future__ import annotations

import json
import math
import pickle
import sys

import numpy as np
import pytest
from pydantic import ValidationError
from tiny_encoders import encoder

from benchbuilder.core.errors import DataError, InstallationError
from benchbuilder.retrieval.retrievers import dense
from benchbuilder.retrieval.retrievers.dense import DenseRetriever, DenseSpec

TEXTS = [
    "孕妇应当补充叶酸。",
    "新生儿需要保暖。",
    "",
    "叶酸可以预防神经管缺陷。",
    "母乳喂养有益。",
    "孕妇应当补充叶酸。",
    "  ",
]
QUERIES = ["孕妇要补充什么？", "母乳", "叶酸可以预防神经管缺陷。", ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return encoder(tmp_path_factory.mktemp("model") / "encoder")


def spec(folder, **changes):
    base = {"path": str(folder), "query_prefix": "", "passage_prefix": "", "top_k": 3, "device": "cpu"}
    return DenseSpec(**{"kind": "dense", **base, **changes})


def indexed(folder, cache, texts=TEXTS, **changes):
    retriever = DenseRetriever(spec(folder, **changes))
    retriever.index(texts, cache)
    return retriever


def vectors(cache):
    (path,) = cache.rglob("vectors.bin")
    shape = json.loads((path.parent / "header.json").read_text(encoding="utf-8"))["arrays"]["vectors"][1]
    return np.fromfile(path, "<f4").reshape(shape)


def test_the_nearest_texts_by_their_cosine(folder, tmp_path):
    hits = indexed(folder, tmp_path, top_k=9).search(TEXTS[3])
    assert hits[0] == (3, 1.0)
    made = vectors(tmp_path)
    assert hits == sorted(
        ((at, round(math.fsum(made[at].astype(float) * made[3].astype(float)), 6)) for at in (0, 1, 3, 4, 5)),
        key=lambda hit: (-hit[1], hit[0]),
    )


def test_what_says_nothing_is_neither_found_nor_asked(folder, tmp_path):
    retriever = indexed(folder, tmp_path, top_k=9)
    assert {2, 6}.isdisjoint(place for query in QUERIES for place, _ in retriever.search(query))
    assert retriever.search(" \n") == []
    assert indexed(folder, tmp_path / "none", texts=["", " "]).search("母乳") == []


def test_ties(folder, tmp_path):
    assert [place for place, _ in indexed(folder, tmp_path, top_k=2).search(TEXTS[0])] == [0, 5]
    assert [place for place, _ in indexed(folder, tmp_path, top_k=2, ties="last").search(TEXTS[0])] == [5, 0]


@pytest.mark.parametrize("block", [1, 2, 5, 1 << 14])
@pytest.mark.parametrize("top_k", [1, 3, 50])
def test_the_best_of_all_blocks(block, top_k, folder, tmp_path, monkeypatch):
    """Equal to sorting all cosines, however many are compared at a time."""
    chance = np.random.default_rng(5)
    made = chance.normal(size=(60, 24)).astype("<f4")
    made[30:40] = made[:10]
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    monkeypatch.setattr(dense, "_VECTORS", block)
    asked = made[[3, 17, 59]]
    found = list(DenseRetriever(spec(folder, top_k=top_k))._best(made, asked))
    for query, hits in zip(asked, found, strict=True):
        scores = [round(math.fsum(line.astype(float) * query.astype(float)), 6) for line in made]
        ranked = sorted((hit for hit in enumerate(scores) if hit[1] > 0), key=lambda hit: (-hit[1], hit[0]))
        assert hits == ranked[:top_k]


def test_no_query_shapes_another(folder, tmp_path, monkeypatch):
    retriever = indexed(folder, tmp_path)
    monkeypatch.setattr(dense, "_QUERIES", 2)
    assert retriever.search_many(QUERIES) == [retriever.search(query) for query in QUERIES]
    assert retriever.search_many(QUERIES[::-1]) == retriever.search_many(QUERIES)[::-1]


def test_prefixes_are_part_of_what_is_encoded(folder, tmp_path):
    plain = indexed(folder, tmp_path / "plain").search(QUERIES[0])
    assert indexed(folder, tmp_path / "query", query_prefix="query: ").search(QUERIES[0]) != plain
    assert indexed(folder, tmp_path / "passage", passage_prefix="passage: ").search(QUERIES[0]) != plain
    same = indexed(folder, tmp_path / "same", query_prefix="x: ", passage_prefix="x: ").search(TEXTS[3])
    assert same[0] == (3, 1.0)


def test_vectors_are_made_once(folder, tmp_path, monkeypatch):
    assert indexed(folder, tmp_path).search_many(QUERIES)
    (file,) = tmp_path.rglob("vectors.bin")
    before = file.stat().st_mtime_ns
    indexed(folder, tmp_path, batch_size=2, top_k=1, query_prefix="q: ")
    assert file.stat().st_mtime_ns == before
    indexed(folder, tmp_path, max_tokens=4)
    indexed(folder, tmp_path, texts=TEXTS[:3])
    assert len(list(tmp_path.rglob("vectors.bin"))) == 3


def test_damaged_vectors_are_made_anew(folder, tmp_path):
    expected = indexed(folder, tmp_path).search_many(QUERIES)
    (file,) = tmp_path.rglob("vectors.bin")
    file.write_bytes(b"\0" * file.stat().st_size)
    assert indexed(folder, tmp_path).search_many(QUERIES) == expected


def test_the_model_is_part_of_what_shapes_the_ranking(folder, tmp_path):
    other = encoder(tmp_path / "other", seed=2)
    known, others = DenseRetriever(spec(folder)).fingerprint(), DenseRetriever(spec(other)).fingerprint()
    assert known["model"] != others["model"]
    assert {"sentence-transformers", "torch", "transformers"} <= set(known)
    named = spec(folder, path=None, name="some/model", revision="1f2e")
    assert DenseRetriever(named).fingerprint()["model"] == "some/model@1f2e"


def test_it_travels_before_and_after_it_is_opened(folder, tmp_path):
    retriever = indexed(folder, tmp_path)
    expected = retriever.search(QUERIES[0])
    again = pickle.loads(pickle.dumps(retriever))
    again.index(TEXTS, tmp_path)
    assert again.search(QUERIES[0]) == expected


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"path": None}, "set one of"), ({"name": "a/b", "revision": "1"}, "set one of"),
     ({"path": None, "name": "a/b"}, "needs a `revision`"), ({"revision": "1"}, "belongs to `name`")],
)  # fmt: skip
def test_what_cannot_be(folder, changes, told):
    with pytest.raises(ValidationError, match=told):
        spec(folder, **changes)


def test_what_is_no_model_is_told(tmp_path):
    with pytest.raises(DataError, match="there is no sentence encoder here"):
        DenseRetriever(spec(tmp_path / "gone")).index(TEXTS, tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be loaded"):
        DenseRetriever(spec(tmp_path / "empty")).index(TEXTS, tmp_path)


def test_weights_that_are_programs_are_refused(tmp_path):
    import torch
    from transformers import BertModel

    folder = encoder(tmp_path / "pickled")
    torch.save(BertModel.from_pretrained(folder).state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(DataError, match="cannot be loaded"):
        DenseRetriever(spec(folder)).index(TEXTS, tmp_path)


def test_without_the_library(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InstallationError, match="needs sentence_transformers, which is not installed"):
        DenseRetriever(spec(folder)).index(TEXTS, tmp_path)
