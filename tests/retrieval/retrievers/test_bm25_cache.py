from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import psutil
import pyarrow as pa
import pytest
from patience import patience
from test_bm25 import TEXTS, given_spec, indexed

from benchbuilder.core.errors import ServiceError
from benchbuilder.core.records.arrow.lazy_texts import LazyTexts
from benchbuilder.retrieval.retrievers import token_slices
from benchbuilder.retrieval.retrievers.bm25 import Bm25Retriever, Bm25Spec
from benchbuilder.retrieval.retrievers.token_slices import IndexTerms
from benchbuilder.retrieval.tokenizers.jieba import JiebaSpec
from benchbuilder.retrieval.tokenizers.simple import WhitespaceSpec
from benchbuilder.testing.contract import in_new_process

QUERIES = ["placenta ages", "milk", "folic acid back", "the"]


def folders(cache):
    return sorted(path for path in cache.iterdir() if path.is_dir())


def files(cache):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in cache.rglob("*.bin")}


def answers(texts, cache):
    return indexed(texts, cache).search_many(QUERIES)


@pytest.fixture
def never_tokenised(monkeypatch):
    def forbid():
        def refuse(self, texts):
            raise AssertionError("tokenised again")

        monkeypatch.setattr("benchbuilder.retrieval.retrievers.token_slices.IndexTerms.columns", refuse)

    return forbid


def test_an_index_is_opened_and_not_made_again(tmp_path, never_tokenised):
    indexed(TEXTS, tmp_path)
    before = files(tmp_path)
    never_tokenised()
    indexed(TEXTS, tmp_path)
    assert files(tmp_path) == before


def test_another_formula_takes_the_same_index(tmp_path, never_tokenised):
    indexed(TEXTS, tmp_path)
    before = files(tmp_path)
    never_tokenised()
    indexed(TEXTS, tmp_path, k1=0.5, variant="l")
    indexed(TEXTS, tmp_path, delta=0.9)  # okapi has none
    indexed(TEXTS, tmp_path, top_k=9, ties="last")
    after = files(tmp_path)
    assert {path: after[path] for path in before} == before
    assert len(folders(tmp_path)) == 3  # the index, and two formulas


def test_other_texts_or_words_have_an_index_of_their_own(tmp_path):
    words = tmp_path / "stop.list"
    words.write_text("the\n", encoding="utf-8")
    cache = tmp_path / "cache"
    for texts in (TEXTS, TEXTS[::-1], ["a b", "c"], ["a", "b c"]):
        indexed(texts, cache)
    indexed(TEXTS, cache, stop_words=str(words))
    indexed(TEXTS, cache, fold=("case",))
    indexed(TEXTS, cache, tokenizer=JiebaSpec(kind="jieba"))
    assert len(folders(cache)) == 2 * 7


ARRAYS = (
    "lengths", "starts", "documents", "frequencies", "terms", "term_starts", "hashes", "hashed",
    "weights", "best", "idf",
)  # fmt: skip


def damaged(path, how):
    data = bytearray(path.read_bytes())
    if how == "truncated":
        data = data[:-1]
    elif how == "bits":
        data[len(data) // 2] ^= 16
    elif how == "garbage":
        data = bytearray(b"no")
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(data)


@pytest.mark.parametrize("how", ["truncated", "bits", "garbage", "missing"])
@pytest.mark.parametrize("name", [*(f"{name}.bin" for name in ARRAYS), "header.json"])
def test_a_damaged_cache_is_made_anew(name, how, tmp_path):
    expected = answers(TEXTS, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.suffix in (".bin", ".json")}
    for path in [path for path in before if path.name == name]:
        damaged(path, how)
    assert answers(TEXTS, tmp_path) == expected
    assert {path: path.read_bytes() for path in before} == before


def test_an_index_of_other_texts_under_this_name_is_made_anew(tmp_path):
    expected = answers(TEXTS, tmp_path / "mine")
    answers(["milk back", "the", "ages"], tmp_path / "other")
    for mine, other in zip(folders(tmp_path / "mine"), folders(tmp_path / "other"), strict=True):
        for path in other.iterdir():
            (mine / path.name).write_bytes(path.read_bytes())
    assert answers(TEXTS, tmp_path / "mine") == expected


def test_an_index_of_another_format_is_made_anew(tmp_path):
    expected = answers(TEXTS, tmp_path)
    for path in tmp_path.rglob("header.json"):
        header = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**header, "format": 0}), encoding="utf-8")
    assert answers(TEXTS, tmp_path) == expected
    assert all(json.loads(path.read_text(encoding="utf-8"))["format"] for path in tmp_path.rglob("header.json"))


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    indexed(TEXTS, tmp_path)
    (folder, _) = folders(tmp_path)
    left = tmp_path / f".{folder.name}.123.draft"
    folder.rename(left)
    indexed(TEXTS, tmp_path)
    assert not left.exists()


def test_the_index_is_memory_mapped(tmp_path):
    retriever = indexed(TEXTS, tmp_path)
    index = retriever._index
    for array in (index._documents, index._weights, index._terms, index._hashes):
        assert isinstance(array.base, np.memmap)
        assert array.base.mode == "r"


def test_nothing_in_the_cache_is_read_by_executing_it(tmp_path):
    indexed(TEXTS, tmp_path)
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".bin", ".json", ".lock"}


# --- many processes


def many(count):
    chance = np.random.default_rng(3)
    words = [f"w{n}" for n in range(500)]
    return [" ".join(chance.choice(words, 6).tolist()) for _ in range(count)]


@pytest.fixture
def small_slices(monkeypatch):
    monkeypatch.setattr(token_slices, "SLICE", 64)
    monkeypatch.setattr(token_slices, "_BYTES_PER_WORKER", 1)


@pytest.mark.push
def test_processes_make_the_very_index_of_one(tmp_path, small_slices):
    texts = many(500)
    column = pa.chunked_array([pa.array(texts[:123]), pa.array(texts[123:])])
    one, two = (Bm25Retriever(Bm25Spec(**given_spec())) for _ in range(2))
    one.build(texts, tmp_path / "one", 1)
    made = two.build(LazyTexts(column), tmp_path / "two", 2)
    assert {path.relative_to(tmp_path / "one"): file[1] for path, file in files(tmp_path / "one").items()} == {
        path.relative_to(tmp_path / "two"): file[1] for path, file in files(tmp_path / "two").items()
    }
    assert made == tuple(folders(tmp_path / "two"))
    assert not list((tmp_path / "two").rglob("*.tmp"))
    assert not list((tmp_path / "two").rglob("*.npz"))


@pytest.mark.push
def test_few_texts_start_no_process(tmp_path, monkeypatch):
    monkeypatch.setattr(token_slices, "ProcessPoolExecutor", None)
    Bm25Retriever(Bm25Spec(**given_spec())).build(many(5000), tmp_path, 8)


@pytest.mark.full
def test_several_processes_share_an_index(tmp_path):
    """All begin at once: one makes it, and all answer alike."""
    texts = many(300)
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(in_process, [texts] * 3, [tmp_path] * 3))
    assert found[0] == found[1] == found[2] == in_process(texts, tmp_path)
    assert len(folders(tmp_path)) == 2
    assert not list(tmp_path.glob(".*.draft"))


def in_process(texts, cache):
    return indexed(texts, cache).search_many(["w1 w2 w3", "w4", "w5 w5"])


class Dying:
    """Words whose process is gone at the first text."""

    def checksum(self):
        return "dying"

    def columns(self, texts):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.full
def test_a_process_that_dies_is_told(tmp_path, small_slices):
    retriever = Bm25Retriever(Bm25Spec(**given_spec()))
    retriever._words = Dying()
    with pytest.raises(ServiceError, match="cuts texts into tokens died"):
        retriever.build(many(500), tmp_path, 2)
    assert not folders(tmp_path)
    assert indexed(many(500), tmp_path).search("w1")


class Slow:
    """Words that take their time."""

    def checksum(self):
        return "slow"

    def columns(self, texts):
        time.sleep(0.2 * len(texts))
        return IndexTerms("bm25", WhitespaceSpec(kind="whitespace"), None, ()).columns(texts)


def build_slowly(cache):
    token_slices.SLICE, token_slices._BYTES_PER_WORKER = 64, 1
    retriever = Bm25Retriever(Bm25Spec(**given_spec()))
    retriever._words = Slow()
    retriever.build(many(500), cache, 2)


@pytest.mark.full
def test_a_build_that_is_killed_leaves_no_process_and_no_index(tmp_path):
    process = multiprocessing.get_context("spawn").Process(target=build_slowly, args=(tmp_path,))
    process.start()
    parent = psutil.Process(process.pid)
    deadline = time.monotonic() + patience()
    while len(workers := parent.children(recursive=True)) < 2:
        assert process.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.kill()
    process.join()
    _, alive = psutil.wait_procs(workers, timeout=patience())
    assert not alive
    assert all(path.name.startswith(".") for path in folders(tmp_path))  # drafts at most
    assert indexed(many(500), tmp_path).search("w1")


@pytest.mark.full
def test_another_process_opens_what_this_one_made(tmp_path):
    texts = many(300)
    made = Bm25Retriever(Bm25Spec(**given_spec())).build(texts, tmp_path)
    before = files(tmp_path)
    assert in_new_process(in_process, texts, tmp_path) == in_process(texts, tmp_path)
    assert files(tmp_path) == before
    assert set(made) == set(folders(tmp_path))
