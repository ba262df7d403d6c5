from __future__ import annotations

import pickle
from itertools import pairwise

import pyarrow as pa
import pytest
from pydantic import ValidationError

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.roles import Candidate, Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.retrieval.retrievers.bm25 import Bm25Spec
from benchbuilder.retrieval.tokenizers.jieba import JiebaSpec
from benchbuilder.steps.retrieve import Retrieve, RetrieveSpec

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
        base=base,
        document=f"{base}-{number}",
        title=f"第{number}节",
        text=text,
        origin=Origin(file=f"{base}.jsonl", line=number),
        produced_by=ProducedBy(rule="corpus"),
        language="zh",
        partition=base,
    )


def candidate(**changes):
    fields = {
        "type": "oe", "context": "孕妇，28岁。", "question": "孕早期补充叶酸预防的是什么？",
        "answer": "孕早期补充叶酸预防的是神经管缺陷。", "answer_wrong": "孕早期补充叶酸预防的是脐带血管。",
        "fact": "fact-1",
    }  # fmt: skip
    envelope = {
        "of": "question-1", "parents": ("question-1", "fact-1"), "origin": Origin(file="q.jsonl", line=3),
        "produced_by": ProducedBy(rule="assemble"), "language": "zh", "partition": "medqa",
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
    return Retrieve(spec, StepContext(seed=1, language="zh", step="evidence", cache=tmp_path, workplace=tmp_path))


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
    outcomes = list(made.map(row, {}))
    assert all(isinstance(outcome, Kept) for outcome in outcomes)
    assert [outcome.slot for outcome in outcomes] == ["textbook:1", "textbook:2", "wiki:1"]
    found = [outcome.row for outcome in outcomes]
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
    assert "wiki-3" not in {outcome.row.document for outcome in made.map(candidate(), {})}


def test_the_recipe_says_what_the_query_is(tmp_path):
    texts = [passage("wiki", 1, "孕妇需要产检。"), *(passage("wiki", n, t) for n, t in enumerate(BOOK, 2))]
    made, _ = opened(tmp_path, texts, query=("context",))
    assert [outcome.row.document for outcome in made.map(candidate(), {})] == ["wiki-1"]
    with pytest.raises(ValidationError):
        stage(tmp_path, query=("answer_wrong",))
    with pytest.raises(ValidationError):
        stage(tmp_path, query=())


def test_no_hit_at_all_drops_the_candidate(tmp_path):
    made, _ = opened(tmp_path)
    (outcome,) = made.map(candidate(question="Xylophone?", answer="Zebra!"), {})
    assert isinstance(outcome, Dropped)
    assert outcome.reason == "no_evidence"


def test_words_of_which_each_stands_in_half_of_the_passages_are_another_reason(tmp_path):
    texts = [passage("wiki", 1, "脐带有血管。"), passage("wiki", 2, "胎盘有膜。")]
    made, _ = opened(tmp_path, texts, query=("question",))
    reasons = [next(iter(made.map(candidate(question=text), {}))).reason for text in ("脐带", "Xylophone?")]
    assert reasons == ["common_words", "no_evidence"]
    weighed, _ = opened(tmp_path, texts, query=("question",), variant="plus")
    assert weighed.map(candidate(question="脐带"), {})[0].row.document == "wiki-1"


def test_no_passages_at_all(tmp_path):
    made = stage(tmp_path)
    made.open({"passages": Table.of([], Passage)})
    assert [outcome.reason for outcome in made.map(candidate(), {})] == ["no_evidence"]


def test_picklable_before_and_equal_after_opening_again(tmp_path):
    made, rows = opened(tmp_path)
    again = pickle.loads(pickle.dumps(stage(tmp_path)))
    again.open({"passages": Table.of(rows, Passage)})
    assert list(again.map(candidate(), {})) == list(made.map(candidate(), {}))
    assert made.fingerprint() == again.fingerprint()
    assert "jieba" in made.fingerprint()


def outcomes_of(made, table):
    """What `map` says of each row: line, slot, outcome, reason, detail."""
    lines, kept = [], []
    for place, row in enumerate(table):
        for outcome in made.map(row, {}):
            if isinstance(outcome, Kept):
                lines.append((place, outcome.slot, "kept", "", ""))
                kept.append(outcome.row)
            else:
                lines.append((place, outcome.slot, "dropped", outcome.reason, outcome.detail))
    return lines, kept


def lines_of(branches):
    columns = (branches.row_position, branches.slots, branches.outcomes, branches.reasons, branches.details)
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def candidates():
    asked = [
        "孕早期补充叶酸预防的是什么？",
        "",
        "产后应当何时开奶？",
        "孕早期补充叶酸预防的是什么？",
        "胎盘？",
        "Zebra",
    ]
    answers = ["神经管缺陷。", "x", "尽早。", "神经管缺陷。", "器官。", "“引号”\\n" * 40]
    return [
        candidate(question=question, answer=answer, answer_wrong=f"{number}", parents=("question-1", f"fact-{number}"))
        for number, (question, answer) in enumerate(zip(asked, answers, strict=True))
    ]


@pytest.mark.parametrize("query", [("question", "answer"), ("context",), ("context", "answer")])
@pytest.mark.parametrize("cuts", [(), (3,), (1, 2, 6)])
def test_by_the_column_as_row_by_row(tmp_path, query, cuts):
    """With passages in several chunks, bases in any order, and ancestors of passages that are a candidate's too."""
    rows = [passage("wiki", n, text) for n, text in enumerate(WIKI, 1)]
    rows[1] = rows[1].model_copy(update={"parents": ("page-1", "fact-0", "page-0")})
    rows += [passage("textbook", n, text).model_copy(update={"parents": (f"page-{n}",)}) for n, text in enumerate(BOOK)]
    rows += [passage("wiki", 9, "孕妇需要补充叶酸。")]
    whole = Table.of(rows, Passage).arrow
    ends = [0, *cuts, len(rows)]
    parts = [whole.slice(start, end - start) for start, end in pairwise(ends)]
    made = stage(tmp_path, query)
    made.open({"passages": Table(pa.concat_tables(parts), Passage)})
    table = Table.of(candidates(), Candidate)
    branches = made.map_columns(table)
    lines, kept = outcomes_of(made, table)
    assert lines_of(branches) == lines
    assert {line[2] for line in lines} >= {"kept"}
    assert list(branches.rows) == kept
    assert branches.rows.arrow.equals(Table.of(kept, type(kept[0])).arrow)
    some = made.map_columns(Table(table.arrow.slice(2, 2), Candidate))
    assert lines_of(some) == [(row - 2, *rest) for row, *rest in lines if row in (2, 3)]


def test_no_candidates_and_no_passages_by_the_column(tmp_path):
    made, _ = opened(tmp_path)
    nothing = made.map_columns(Table.of([], Candidate))
    assert (lines_of(nothing), len(nothing.rows)) == ([], 0)
    empty = stage(tmp_path)
    empty.open({"passages": Table.of([], Passage)})
    table = Table.of([candidate()], Candidate)
    assert lines_of(empty.map_columns(table)) == outcomes_of(empty, table)[0]


def test_indices_are_made_once_and_only_for_bases_that_changed(tmp_path, monkeypatch):
    cut = []
    words = "benchbuilder.retrieval.retrievers.token_slices.IndexTerms.columns"
    columns = Retrieve._make_retriever(stage(tmp_path))._words.columns

    def noted(self, texts):
        cut.extend(texts)
        return columns(texts)

    monkeypatch.setattr(words, noted)
    rows = [passage("textbook", n, text) for n, text in enumerate(BOOK)]
    wiki = [passage("wiki", n, text) for n, text in enumerate(WIKI)]
    made = stage(tmp_path).prepare({"passages": Table.of(rows + wiki, Passage)})
    assert cut == BOOK + WIKI
    assert len(made) == 4  # an index and its weights for each base
    assert all(path.exists() and path.parent == tmp_path for path in made)
    cut.clear()
    stage(tmp_path).open({"passages": Table.of(wiki + rows, Passage)})  # whatever stands before
    assert cut == []
    again = stage(tmp_path).prepare({"passages": Table.of([*rows, *wiki, passage("wiki", 9, "新的一段。")], Passage)})
    assert cut == [*WIKI, "新的一段。"]
    assert set(made) & set(again) == set(made[:2])
