from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from benchbuilder.core.errors import DataError

FEVER = [
    {"claim": "Venus is the second planet.", "label": "SUPPORTS", "evidence": [{"title": "Venus"}]},
    {"claim": "Mars is a star.", "label": "REFUTES", "evidence": [{"title": "Mars"}, {"title": "Mars"}]},
    {"claim": "There is life on Mars.", "label": "NOT ENOUGH INFO", "evidence": []},
    {"claim": "Mars is far.", "label": "", "evidence": []},
]
COLUMNS = {"text": "claim", "label": "label", "gold": "evidence[].title"}
LABELS = {"true": "SUPPORTS", "false": ["REFUTES"], "skip": "NOT ENOUGH INFO"}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_labels_become_true_and_false_or_are_left_out(write, read_source):
    result = read_source("claims", path=write("f.jsonl", lines(FEVER)), columns=COLUMNS, labels=LABELS)
    assert [(row.payload.label, row.payload.gold) for row in result.rows] == [
        ("true", ("Venus",)),
        ("false", ("Mars",)),
    ]
    assert result.dropped() == [(3, "label_skipped"), (4, "no_label")]


def test_a_label_without_a_meaning_is_counted_in_an_error(write, read_source):
    strange = [*FEVER, *({"claim": f"Star {n} is red.", "label": "CONFLICTING"} for n in range(3))]
    with pytest.raises(DataError, match='3 records say "CONFLICTING", which has no meaning here') as caught:
        read_source("claims", "f", path=write("f.jsonl", lines(strange)), columns=COLUMNS, labels=LABELS)
    assert "sources.f.labels" in str(caught.value)


def test_meanings_below_their_labels_are_refused_with_the_right_form(write, read_source):
    with pytest.raises(
        ValidationError, match=r"labels stand below what they mean, for instance \{\"true\": \[SUPPORTS\]"
    ):
        read_source("claims", path=write("f.jsonl", lines(FEVER)), columns=COLUMNS, labels={"SUPPORTS": "true"})


def test_yes_no_questions_have_boolean_labels(write, read_source):
    rows = lines([{"q": "is mars red", "a": True}, {"q": "is mars a star", "a": False}])
    path = write("b.jsonl", rows)
    columns, labels = {"text": "q", "label": "a"}, {True: True, False: False}
    result = read_source("claims", path=path, columns=columns, labels=labels, **{"as": "yes_no"})
    assert [(row.payload.label, row.payload.asked) for row in result.rows] == [("true", True), ("false", True)]


def test_claims_about_a_text_have_it_as_premise(write, read_source):
    text = "s1\ts2\tlabel\nA cat sleeps.\tA cat is awake.\tcontradiction\n\tA cat.\tcontradiction\n"
    given = {"about": "text", "columns": {"premise": "s1", "text": "s2", "label": "label"}}
    result = read_source("claims", path=write("n.tsv", text), labels={"false": "contradiction"}, **given)
    assert [(row.payload.premise, row.payload.about) for row in result.rows] == [("A cat sleeps.", "text")]
    assert result.dropped() == [(3, "missing_field")]


def test_the_source_of_the_evidence_may_be_named(write, read_source):
    path = write("f.jsonl", lines(FEVER))
    result = read_source("claims", path=path, columns=COLUMNS, labels=LABELS, gold_in="pages")
    assert [row.payload.gold for row in result.rows] == [("pages::Venus",), ("pages::Mars",)]
    quiz = write("q.jsonl", lines([{"q": "Which is red?", "a": "Mars", "p": "p1"}]))
    columns = {"question": "q", "answers": "a", "gold": "p"}
    [row] = read_source("question_answer", path=quiz, columns=columns, gold_in="pages").rows
    assert row.payload.gold == ("pages::p1",)
