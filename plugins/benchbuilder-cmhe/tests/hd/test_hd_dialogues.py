"""Sources of dialogues: two tables joined by id, one table, JSON; encodings; a outcome for every row."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchbuilder.core.errors import DataError
from benchbuilder.core.records.outcomes import Dropped, EndOfFile, Kept, SourceUnit
from benchbuilder.testing import check_payload, check_source

from benchbuilder_cmhe.hd.dialogue import Dialogue, DialogueCheck
from benchbuilder_cmhe.hd.dialogue_tables import DialogueTables, DialogueTablesSpec
from benchbuilder_cmhe.hd.dialogues import Dialogues, DialoguesSpec

QUESTIONS = 'question_id,content\n1,头痛怎么办？\n2,"咳嗽，\n有痰"\n3,没人回答的问题\n1,重复的问题\n,没有号码\n'
ANSWERS = """ans_id,question_id,content
11,1,多休息。
12,1,及时就诊。
13,2,多喝水。
14,9,答非所问。
15,2,
16,1,多休息。
17
"""


def tables(folder: Path, several: str = "all", encoding: str = "utf-8") -> DialogueTables:
    (folder / "q.csv").write_bytes(QUESTIONS.encode(encoding))
    (folder / "a.csv").write_bytes(ANSWERS.encode(encoding))
    spec = {
        "kind": "dialogue_tables", "several": several,
        "questions": {"file": str(folder / "q.csv"), "encoding": encoding,
                      "columns": {"id": "question_id", "text": "content"}},
        "answers": {"file": str(folder / "a.csv"), "encoding": encoding,
                    "columns": {"question": "question_id", "text": "content"}},
    }  # fmt: skip
    return DialogueTables(DialogueTablesSpec.model_validate(spec), "pairs", "zh")


def told(units: list[Any]) -> dict[tuple[str, int], str]:
    return {
        (unit.file.rpartition("/")[2], unit.line): unit.outcome.reason
        for unit in units
        if isinstance(unit, SourceUnit) and isinstance(unit.outcome, Dropped)
    }


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
def test_two_tables_are_joined_and_every_row_has_an_outcome(tmp_path: Path, encoding: str) -> None:
    units = list(tables(tmp_path, encoding=encoding).read())
    kept = [
        unit.outcome.row.payload for unit in units if isinstance(unit, SourceUnit) and isinstance(unit.outcome, Kept)
    ]
    assert [(one.question, one.answer) for one in kept] == [
        ("头痛怎么办？", "多休息。"), ("头痛怎么办？", "及时就诊。"), ("咳嗽，\n有痰", "多喝水。"),
    ]  # fmt: skip
    assert told(units) == {
        ("q.csv", 5): "no_answer", ("q.csv", 6): "repeated_question", ("q.csv", 7): "malformed_auxiliary",
        ("a.csv", 5): "no_question", ("a.csv", 6): "missing_field", ("a.csv", 7): "duplicate",
        ("a.csv", 8): "malformed",
    }  # fmt: skip
    ends = {end.file.rpartition("/")[2]: end for end in units if isinstance(end, EndOfFile)}
    assert ends["a.csv"].units == 7
    assert ends["q.csv"].auxiliary == {"malformed_auxiliary": 1, "no_answer": 1, "repeated_question": 1, "used": 2}


def test_the_first_of_several_answers(tmp_path: Path) -> None:
    units = list(tables(tmp_path, several="first").read())
    assert Counter(told(units).values())["not_first"] == 2
    check_source(tables(tmp_path, several="first"))


def test_a_wrong_encoding_is_told(tmp_path: Path) -> None:
    source = tables(tmp_path, encoding="gb18030")
    spec = source.spec.model_copy(update={"questions": source.spec.questions.model_copy(update={"encoding": "utf-8"})})
    with pytest.raises(DataError, match=r"sources\.pairs\.questions"):
        DialogueTables(spec, "pairs", "zh").check()


def one(folder: Path, name: str, content: bytes, **spec: Any) -> Dialogues:
    (folder / name).write_bytes(content)
    given = {
        "kind": "dialogues",
        "path": str(folder / name),
        "columns": {"question": "ask", "answer": "answer"},
        **spec,
    }
    return Dialogues(DialoguesSpec.model_validate(given), "chats", "zh")


CHATS = """department,title,ask,answer
消化科,胃痛,胃痛吃什么药？,先做胃镜。
消化科,腹泻,拉肚子怎么办？,
消化科,无,,多喝水。
"""


def test_one_table_in_gb18030(tmp_path: Path) -> None:
    columns = {"question": "ask", "answer": "answer", "title": "title", "department": "department"}
    source = one(tmp_path, "chats.csv", CHATS.encode("gb18030"), encoding="gb18030", columns=columns)
    units = list(source.read())
    (kept,) = [unit.outcome.row for unit in units if isinstance(unit, SourceUnit) and isinstance(unit.outcome, Kept)]
    said = kept.payload
    assert (said.department, said.title, said.question, said.answer) == (
        "消化科",
        "胃痛",
        "胃痛吃什么药？",
        "先做胃镜。",
    )
    assert told(units) == {("chats.csv", 3): "no_answer", ("chats.csv", 4): "no_question"}
    check_source(source)


def test_a_json_list(tmp_path: Path) -> None:
    rows = [{"instruction": "请回答", "input": f"问题{n}", "output": f"回答{n}"} for n in range(4)]
    columns = {"question": "input", "answer": "output"}
    source = one(tmp_path, "pairs.json", json.dumps(rows, ensure_ascii=False).encode(), columns=columns)
    kept = [unit.outcome.row.payload.answer for unit in source.read() if isinstance(unit, SourceUnit)]
    assert kept == ["回答0", "回答1", "回答2", "回答3"]


def test_without_a_file_there_are_no_dialogues() -> None:
    spec = DialoguesSpec.model_validate({"kind": "dialogues", "columns": {"question": "a", "answer": "b"}})
    source = Dialogues(spec, "written", "zh")
    source.check()
    assert (source.files(), list(source.read())) == ([], [])


def test_what_is_asked_and_shown_gives_nothing_away() -> None:
    check_payload(Dialogue)
    check_payload(DialogueCheck)
    for example in DialogueCheck.examples():
        assert set(example.prompt_fields()) == {"question", "answer"}
        assert not [text for _, text in example.display_fields() if "number" in text]
