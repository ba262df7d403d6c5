"""What `new` tells of a file, and what it asks instead of guessing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.authoring.starter.layout import propose_layout
from benchbuilder.authoring.starter.sample import UnclearLayoutError

QKA = {"question": "q", "options": "o", "answer_key": "k"}
TOLD: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("a.csv", "question,A,B,C,answer\nWhat is it?,one,two,three,B\nWho was it?,four,five,six,C\nWhy?,7,8,9,A\n",
     {"question": "question", "options": ["A", "B", "C"], "answer_key": "answer"}, {}),
    ("b.csv", "What is it?,one,two,three,B\nWho was it?,four,five,six,C\nWhy?,7,8,9,A\n",
     {"question": 0, "options": [1, 2, 3], "answer_key": 4}, {"header": False, "width": 5}),
    ("never_last.csv", "question,A,B,C,D,answer\nWhat is it?,one,two,three,x,B\nWho was it?,four,five,six,x,A\n",
     {"question": "question", "options": ["A", "B", "C", "D"], "answer_key": "answer"}, {}),
    ("some_keys.csv", "What is it?,one,two,three,x,A\nWho was it?,four,five,six,y,D\nWhy?,7,u,v,w,A\n",
     {"question": 0, "options": [1, 2, 3, 4], "answer_key": 5}, {"header": False, "width": 6}),
    ("subjects.csv", "question,field,p1,p2,key\nWhat is it?,law,1a,2a,A\nWho is it?,law,3a,4a,B\nWhy,law,5,6,A\n",
     {"question": "question", "options": ["p1", "p2"], "answer_key": "key"}, {}),
    ("always_first.csv", "question,A,B,C,answer\nWhat is it?,one,two,three,A\nWho was it?,four,five,six,A\n",
     {"question": "question", "options": ["A", "B", "C"], "answer_key": "answer"}, {}),
    ("c.tsv", "id\tkey\tquestion\ta\tb\n1x\t0\tLong question?\tyes, so\tno\n2x\t1\tAnother?\tup\tdown\n",
     {"question": "question", "options": ["a", "b"], "answer_key": "key"}, {"key_as": "index"}),
    ("d.jsonl", '{"q": "What?", "o": ["a", "b"], "k": 1}\n{"q": "Who?", "o": ["c", "d"], "k": 0}\n', QKA,
     {"key_as": "index"}),
    ("e.json", '[{"q": "Qu\u00e9?", "o": "(A) un\\n(B) dos", "k": "(A)"}, {"q": "Y?", "o": "(A) a\\n(B) b", "k": "B"}]',
     QKA, {"option_mark": r"\([A-Ja-j]\)"}),
    ("spaces.csv", "question\xa0,A,B, key\nWhat?,one,two,A\nWho?,x,y,B\n",
     {"question": "question", "options": ["A", "B"], "answer_key": "key"}, {}),
    ("quoted.tsv", 'question\tA\tB\tkey\n"What, ""so""?"\t"one\nor"\ttwo\tA\nWho?\tx\ty\tB\n',
     {"question": "question", "options": ["A", "B"], "answer_key": "key"}, {"quoting": True}),
    ("inches.tsv", 'question\tA\tB\tkey\n"5" pipe?\tone\ttwo\tA\n6" pipe?\tx\ty\tB\n',
     {"question": "question", "options": ["A", "B"], "answer_key": "key"}, {}),
    ("from_1.jsonl", '{"q": "What?", "o": ["a", "b"], "k": 1}\n{"q": "Who?", "o": ["c", "d"], "k": 2}\n'
     '{"q": "Nobody knows?", "o": ["c", "d"], "k": 0}\n', QKA, {"key_as": "index_from_1"}),
    ("marked.jsonl", '{"q": "What?", "o": ["(A)a", "(B)b"], "k": "A"}\n{"q": "W?", "o": ["(A)c", "(B)d"], "k": "B"}\n',
     QKA, {"option_mark": r"\([A-Ja-j]\)"}),
    ("faulty.jsonl", "".join(json.dumps({"q": f"q{n}?", "o": [f"a{n}", f"b{n}"], "k": "AB"[n % 2] if n else "E"}) + "\n"
                             for n in range(30)), QKA, {}),
    ("list.csv", "question,choices,answer\nWhat?,\"['a', 'b']\",B\nWho?,\"['c', \"\"it's\"\"]\",A\n",
     {"question": "question", "options": "choices", "answer_key": "answer"}, {}),
    ("excel.csv", "Frage;Antwort A;Antwort B;L\u00f6sung\nWie?;so;anders;B\nWo?;hier;dort;A\n",
     {"question": "Frage", "options": ["Antwort A", "Antwort B"], "answer_key": "L\u00f6sung"}, {"delimiter": ";"}),
]  # fmt: skip


def told(tmp_path: Path, name: str, text: str, kind: str = "multiple_choice") -> Any:
    (tmp_path / name).write_text(text, "utf-8")
    return propose_layout(tmp_path / name, kind)


@pytest.mark.parametrize(("name", "text", "columns", "settings"), TOLD, ids=[name for name, *_ in TOLD])
def test_columns_are_told_by_their_content(
    name: str, text: str, columns: dict[str, Any], settings: dict[str, Any], tmp_path: Path
) -> None:
    layout = told(tmp_path, name, text)
    assert dict(layout.columns) == columns
    assert dict(layout.settings) == settings


ASKED = [
    ("f.csv", "just,text\nof,people\n", "whether the first line is a header"),
    ("two_keys.csv", "question,A,B,key,key\nWhat?,one,two,A,B\nWho?,x,y,B,A\n", "the key: 3 or 4"),
    ("two_questions.jsonl", '{"stem1": "What?", "text": "Who?", "o": ["a", "b"], "k": "A"}\n'
     '{"stem1": "Where?", "text": "When?", "o": ["c", "d"], "k": "B"}\n', "the question: stem1 or text"),
    ("two_options.jsonl", '{"q": "What?", "o": ["a", "b"], "p": ["a", "c"], "k": "A"}\n'
     '{"q": "Where?", "o": ["c", "d"], "p": ["c", "e"], "k": "B"}\n', "the options: o or p"),
    ("several.jsonl", '{"q": "What?", "o": ["a", "b"], "k": ["A", "B"]}\n{"q": "Who?", "o": ["c", "d"], "k": ["B"]}\n',
     "several_choice"),
    ("broken.json", '{"q": [', "neither JSON nor JSON Lines"),
    ("empty.csv", "", "the separator"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "question"), ASKED, ids=[name for name, *_ in ASKED])
def test_what_cannot_be_told_is_asked(name: str, text: str, question: str, tmp_path: Path) -> None:
    with pytest.raises(UnclearLayoutError, match=question):
        told(tmp_path, name, text)


def test_numbers_that_may_count_from_0_or_from_1_stay_open(tmp_path: Path) -> None:
    records = [{"q": "What?", "o": ["a", "b", "c"], "k": 1}, {"q": "Who\u2028?", "o": ["c", "d", "e"], "k": 2}]
    layout = told(tmp_path, "a.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    assert layout.settings["key_as"].startswith("??? # index or index_from_1?")


def test_lists_of_numbers_are_flags_only_where_there_is_one_for_each_option(tmp_path: Path) -> None:
    keys = ([1], [0], [0, 1])
    records = [{"q": f"q{n}?", "o": [f"a{n}", f"b{n}", f"c{n}"], "k": key} for n, key in enumerate(keys)]
    text = "".join(json.dumps(record) + "\n" for record in records)
    assert told(tmp_path, "a.jsonl", text, "several_choice").settings["key_as"] == "index"
    records = [{**record, "k": [int(at in record["k"]) for at in range(3)]} for record in records]
    text = "".join(json.dumps(record) + "\n" for record in records)
    assert told(tmp_path, "b.jsonl", text, "several_choice").settings["key_as"] == "flags"


def test_two_columns_that_agree_are_one_key(tmp_path: Path) -> None:
    keys = [{"answer": "ABC"[n], "answer_index": n, "right_answer": f"{'abc'[n]}{n}"} for n in range(3)]
    records = [{"q": f"q{n}?", "o": [f"a{n}", f"b{n}", f"c{n}"], **keys[n]} for n in range(3)]
    layout = told(tmp_path, "a.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    assert layout.columns["answer_key"] == "answer"
    assert "key_as" not in layout.settings


def test_a_list_that_holds_no_answer_is_no_list_of_options(tmp_path: Path) -> None:
    """Its first, second and third words are no options, although A, B and C might name them."""
    records = [
        {"q": f"q{n}?", "options": {"A": f"a{n}", "B": f"b{n}", "C": f"c{n}"}, "answer": f"{'abc'[n]}{n}",
         "answer_idx": "ABC"[n], "words": [f"some{n}", f"other{n}", f"last{n}"]} for n in range(3)
    ]  # fmt: skip
    layout = told(tmp_path, "a.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    assert layout.columns == {"question": "q", "options": "options", "answer_key": "answer_idx"}
    for record in records:
        del record["options"], record["answer"]
    assert told(tmp_path, "b.jsonl", "".join(json.dumps(r) + "\n" for r in records)).columns["options"] == "words"


@pytest.mark.parametrize(
    "more",
    [
        {"why": {"A": "because {n}", "B": "since {n}", "C": "as {n}"}},
        {"entities": ["heart {n}", "lung {n}", "knee {n}"], "label": "lung {n}"},
    ],
)
def test_of_two_lists_that_a_letter_may_name_the_author_says_which(more: dict[str, Any], tmp_path: Path) -> None:
    plain = {"q": "q{n}?", "o": ["a{n}", "b{n}", "c{n}"], "answer": "A"}
    text = "".join(json.dumps({**plain, "answer": "ABC"[n], **more}).replace("{n}", str(n)) + "\n" for n in range(3))
    with pytest.raises(UnclearLayoutError, match="the options: "):
        told(tmp_path, "a.jsonl", text)


OTHERS = [
    ("question_answer", "Question,Best Answer,Correct Answers,Incorrect Answers\n"
     + "".join(f"q{n}?,r{n},r{n}; s{n},w{n}; x{n}\n" for n in range(4)),
     {"question": "Question", "answers": "Correct Answers", "wrong": "Incorrect Answers"},
     {"separators": {"answers": ";", "wrong": ";"}}),
    ("question_answer", "Question,Best Answer,Correct Answers,Incorrect Answers\n"
     + "".join(f"q{n}?,r{n},s{n}; t{n},w{n}; x{n}\n" for n in range(4)),
     {"question": "Question", "answers": ["Best Answer", "Correct Answers"], "wrong": "Incorrect Answers"},
     {"separators": {"answers": ";", "wrong": ";"}}),
    ("claims", "id,claim,label\n1,Water is wet.,SUPPORTS\n2,Ice is hot.,REFUTES\n3,Tea is old.,NOT ENOUGH INFO\n"
     "4,So it is.,SUPPORTS\n",
     {"text": "claim", "label": "label"},
     {"labels": {"skip": ["NOT ENOUGH INFO"], "false": ["REFUTES"], "true": ["SUPPORTS"]}}),
    ("triples", "subject,predicate,object\naspirin,treats,pain\ninsulin,treats,diabetes\n",
     {"head": "subject", "relation": "predicate", "tail": "object"}, {}),
    ("corpus", "title,text\nBees,Bees make honey.\nCows,Cows give milk.\n", {"text": "text", "title": "title"}, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text", "columns", "settings"), OTHERS, ids=[f"{kind}-{n}" for n, (kind, *_) in enumerate(OTHERS)]
)
def test_other_kinds(kind: str, text: str, columns: dict[str, Any], settings: dict[str, Any], tmp_path: Path) -> None:
    layout = told(tmp_path, "a.csv", text, kind)
    assert dict(layout.columns) == columns
    assert dict(layout.settings) == settings


@pytest.mark.parametrize(
    ("kind", "text", "question"),
    [
        ("claims", "text,label\nWater is wet.,1\nIce is hot.,0\nTea is old.,1\n", "label is 0 or 1: which means true"),
        ("claims", "text,label\nWater is wet.,mostly\nIce is hot.,barely\n", "the label: no column fits"),
        ("triples", "head,relation,tail\nQ1,P1,Q2\nQ3,P1,Q4\n", "numbers of things"),
        ("terms", "term,note\nwater,text\n", "which columns a source of the kind terms reads"),
    ],
)
def test_other_kinds_ask_too(kind: str, text: str, question: str, tmp_path: Path) -> None:
    with pytest.raises(UnclearLayoutError, match=question):
        told(tmp_path, "a.csv", text, kind)


@pytest.mark.parametrize(
    ("data", "records"),
    [
        ({"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [
            {"question": "What?", "answers": [{"text": "a"}]}, {"question": "Who?", "answers": [{"text": "b"}]}]}]}]},
         "data[].paragraphs[].qas[]"),
        ({"one": {"question": "What?", "answer": "a"}, "two": {"question": "Who?", "answer": "b"}}, "{}"),
        ({"version": 1, "rows": [{"question": "What?", "answer": "a"}, {"question": "Who?", "answer": "b"}]}, "rows[]"),
    ],
)  # fmt: skip
def test_the_place_of_the_records_is_told(data: Any, records: str, tmp_path: Path) -> None:
    layout = told(tmp_path, "a.json", json.dumps(data), "question_answer")
    assert layout.settings == {"records": records}
    assert layout.columns["question"] == "question"
