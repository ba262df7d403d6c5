from __future__ import annotations

import pickle

import pytest
from pydantic import ValidationError

from benchbuilder.ports.stage import Context
from benchbuilder.records.candidate import Candidate
from benchbuilder.records.envelope import MadeBy, Origin
from benchbuilder.records.fates import Dropped, Kept
from benchbuilder.records.passage import Passage
from benchbuilder.records.table import Table
from benchbuilder.retrievers.bm25 import Bm25Spec
from benchbuilder.stages.retrieve import Retrieve, RetrieveSpec
from benchbuilder.tokenizers.jieba import JiebaSpec

BOOK = [
    "叶酸可以预防胎儿神经管缺陷。",
    "产后应当尽早开奶。",
    "孕早期补充叶酸。",
    "足月新生儿需要保暖。",
    "补钙应当适量。",
]
WIKI = ["神经管缺陷是一类先天畸形。", "胎盘是母体与胎儿之间的器官。", "脐带有三条血管。"]


def passage(base, number, text):
    return Passage.build(
        base=base, document=f"{base}-{number}", title=f"第{number}节", text=text,
        origin=Origin(file=f"{base}.jsonl", line=number), made_by=MadeBy(rule="corpus"), language="zh", partition=base,
    )  # fmt: skip


def candidate(**changes):
    fields = {
        "type": "oe", "context": "孕妇，28岁。", "question": "孕早期补充叶酸预防的是什么？",
        "answer": "孕早期补充叶酸预防的是神经管缺陷。", "answer_wrong": "孕早期补充叶酸预防的是脐带血管。",
        "fact": "fact-1",
    }  # fmt: skip
    envelope = {
        "of": "question-1", "parents": ("question-1", "fact-1"), "origin": Origin(file="q.jsonl", line=3),
        "made_by": MadeBy(rule="assemble"), "language": "zh", "partition": "medqa",
    }  # fmt: skip
    return Candidate.build(**{**fields, **envelope, **changes})


def stage(tmp_path, query=("question", "answer"), **retriever):
    words = tmp_path / "stop_words.txt"
    words.write_text("。\n，\n？\n是\n的\n", encoding="utf-8")
    settings = {
        "variant": "okapi",
        "k1": 1.5,
        "b": 0.75,
        "epsilon": 0.25,
        "delta": 0.5,
        "top_k": 2,
        "stop_words": str(words),
    }
    bm25 = Bm25Spec(kind="bm25", tokenizer=JiebaSpec(kind="jieba"), **{**settings, **retriever})
    spec = RetrieveSpec.model_validate({"kind": "retrieve", "from": "candidates", "query": query, "retriever": bm25})
    return Retrieve(spec, Context(seed=1, language="zh", step="evidence", cache=tmp_path, workplace=tmp_path))


def opened(tmp_path, texts=None, **changes):
    rows = texts or [
        *(passage("textbook", n, t) for n, t in enumerate(BOOK, 1)),
        *(passage("wiki", n, t) for n, t in enumerate(WIKI, 1)),
    ]
    made = stage(tmp_path, **changes)
    made.open({"passages": Table.of(rows, Passage)})
    return made, rows


def test_the_best_of_each_base(tmp_path):
    made, rows = opened(tmp_path)
    row = candidate()
    fates = list(made.map(row, {}))
    assert all(isinstance(fate, Kept) for fate in fates)
    assert [fate.slot for fate in fates] == ["textbook:1", "textbook:2", "wiki:1"]
    found = [fate.row for fate in fates]
    assert {e.document for e in found[:2]} == {"textbook-1", "textbook-3"}
    assert found[0].score >= found[1].score > 0
    wiki = found[2]
    assert (wiki.base, wiki.document, wiki.title, wiki.text, wiki.rank) == ("wiki", "wiki-1", "第1节", WIKI[0], 1)
    assert wiki.passage == rows[len(BOOK)].id
    assert wiki.of == row.id
    assert wiki.parents[:2] == (row.id, wiki.passage)
    assert "fact-1" in wiki.parents
    assert (wiki.partition, wiki.origin, wiki.slot) == ("medqa", row.origin, "wiki:1")
    assert len({e.id for e in found}) == 3


def test_the_wrong_answer_is_not_part_of_the_query(tmp_path):
    made, _ = opened(tmp_path)
    assert "wiki-3" not in {fate.row.document for fate in made.map(candidate(), {})}


def test_the_recipe_says_what_the_query_is(tmp_path):
    texts = [passage("wiki", 1, "孕妇需要产检。"), *(passage("wiki", n, t) for n, t in enumerate(BOOK, 2))]
    made, _ = opened(tmp_path, texts, query=("context",))
    assert [fate.row.document for fate in made.map(candidate(), {})] == ["wiki-1"]
    with pytest.raises(ValidationError):
        stage(tmp_path, query=("answer_wrong",))
    with pytest.raises(ValidationError):
        stage(tmp_path, query=())


def test_no_hit_at_all_drops_the_candidate(tmp_path):
    made, _ = opened(tmp_path)
    (fate,) = made.map(candidate(question="Xylophone?", answer="Zebra!"), {})
    assert isinstance(fate, Dropped)
    assert fate.reason == "no_evidence"


def test_no_passages_at_all(tmp_path):
    made = stage(tmp_path)
    made.open({"passages": Table.of([], Passage)})
    assert [fate.reason for fate in made.map(candidate(), {})] == ["no_evidence"]


def test_picklable_before_and_equal_after_opening_again(tmp_path):
    made, rows = opened(tmp_path)
    again = pickle.loads(pickle.dumps(stage(tmp_path)))
    again.open({"passages": Table.of(rows, Passage)})
    assert list(again.map(candidate(), {})) == list(made.map(candidate(), {}))
    assert made.fingerprint() == again.fingerprint()
    assert "rank-bm25" in made.fingerprint()
