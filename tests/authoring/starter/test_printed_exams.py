"""Examinations as they are printed are questions, not texts: options behind letters, and keys in many places."""

from __future__ import annotations

from pathlib import Path

import pytest
from pdf_pages import pdf

from benchbuilder.authoring.starter.converted import convert_file
from benchbuilder.authoring.starter.data_file import read_data_files
from benchbuilder.authoring.starter.printed_exam import read_printed_exam
from benchbuilder.authoring.starter.sample import Reading, UnclearLayoutError
from benchbuilder.core import RecipeError

AIKEN = """What is the capital of Norway?
A. Oslo
B. Bergen
C. Trondheim
ANSWER: A

Which river flows through Vienna?
A) Rhine
B) Danube
C) Elbe
ANSWER: B

Which metal is liquid at room temperature?
A. Iron
B. Zinc
C. Mercury
ANSWER: C
"""
CHINESE = """一、单项选择题
1．下列行星中体积最大的是（  ）。
A．火星　B．金星　C．木星
答案：C
解析：木星是体积最大的行星。
2、中国的首都是（ B ）
A. 上海 B. 北京 C. 广州
3. 水的化学式是
A、H2O
B、CO2
C、O2
【答案】A
"""
LISTED = """1. 下列行星中体积最大的是（ ）
A.火星 B.金星 C.木星
2. 中国的首都是（ ）
A.上海 B.北京 C.广州
3. 最高的山峰是（ ）
A.泰山 B.华山 C.珠穆朗玛峰
参考答案
1-3 CBC
"""
PORTUGUESE = """Prova de conhecimentos gerais

QUESTÃO 1
Qual é a capital da Noruega?
a) Oslo
b) Bergen
Gabarito: A

QUESTÃO 2
Que rio atravessa Viena?
a) Reno
b) Danúbio
Resposta correta: letra B

QUESTÃO 3
Qual metal é líquido?
a) Ferro
b) Mercúrio
Gabarito: B
Justificativa: o mercúrio funde a -39 °C
e por isso corre.
"""
GERMAN = """1. Was ist die Hauptstadt von Norwegen?
   (a) Oslo
   (b) Bergen
2. Welcher Fluss fließt durch Wien?
   (a) Rhein
   (b) Donau
3. Welches Metall ist bei Raumtemperatur
   flüssig?
   (a) Eisen
   (b) Quecksilber
Lösungen: 1. a, 2. b, 3. b
"""
SIGNED = """1) What is the capital of Norway?
*a) Oslo
b) Bergen
2) Which river flows through Vienna? a) Rhine b) Danube c) Elbe
Correct answer: Danube
3) Which of these are metals?
a) Iron ✓
b) Zinc ✓
c) Wood
"""
GUIDELINE = """Hand hygiene
Clean your hands before contact:
A. Remove jewellery.
B. Use soap and water for 40 seconds.
Sharps
Dispose of needles:
A. Never recap.
B. Use a yellow box.
Answers to questions are given by the safety officer.
"""


def told(text: str) -> list[tuple[str, list[str], str]]:
    found = read_printed_exam(text.splitlines(), "x")
    assert found is not None
    return [(one["question"], one["options"], one["answer"]) for one in found[0]]


@pytest.mark.parametrize(
    ("text", "first", "keys"),
    [
        (AIKEN, ("What is the capital of Norway?", ["Oslo", "Bergen", "Trondheim"]), ["A", "B", "C"]),
        (CHINESE, ("下列行星中体积最大的是（ ）。", ["火星", "金星", "木星"]), ["C", "B", "A"]),
        (LISTED, ("下列行星中体积最大的是（ ）", ["火星", "金星", "木星"]), ["C", "B", "C"]),
        (PORTUGUESE, ("Qual é a capital da Noruega?", ["Oslo", "Bergen"]), ["A", "B", "B"]),
        (GERMAN, ("Was ist die Hauptstadt von Norwegen?", ["Oslo", "Bergen"]), ["A", "B", "B"]),
        (SIGNED, ("What is the capital of Norway?", ["Oslo", "Bergen"]), ["A", "B", "A, B"]),
    ],
)
def test_the_key_is_found_wherever_it_is_printed(text: str, first: tuple[str, list[str]], keys: list[str]):
    found = told(text)
    assert found[0][:2] == first
    assert [key for _, _, key in found] == keys


def test_what_goes_on_in_the_next_line_and_what_explains_a_key_is_kept():
    found = read_printed_exam(PORTUGUESE.splitlines(), "prova")
    assert found is not None
    assert found[0][2]["explanation"] == "o mercúrio funde a -39 °C e por isso corre."
    assert told(GERMAN)[2][0] == "Welches Metall ist bei Raumtemperatur flüssig?"
    assert [one["id"] for one in read_printed_exam(SIGNED.splitlines(), "x")[0]] == ["x:1", "x:4", "x:6"]
    assert told(CHINESE)[1][0] == "中国的首都是（ ）", "the key is no longer in the question"


def test_a_key_that_is_no_option_or_missing_leaves_its_question_out_and_says_where():
    broken = f"{AIKEN}\n{AIKEN.replace('ANSWER: A', 'ANSWER: D').replace('ANSWER: B', '')}"
    found = read_printed_exam(broken.splitlines(), "x")
    assert found is not None
    records, note = found
    assert len(records) == 4
    assert note.startswith(
        "4 printed questions, written as JSON Lines; left out: 2 without options or key (line 19, 25)"
    )


def test_a_numbered_question_without_options_is_counted():
    found = read_printed_exam(f"{GERMAN.replace('Lösungen', '4. Warum?' + chr(10) + '5. Wo?' + chr(10) + 'Lösungen')}"
                              .splitlines(), "x")  # fmt: skip
    assert found is not None
    assert found[1] == "3 printed questions, written as JSON Lines; left out: 2 without options or key (line 11, 12)"


def test_a_list_that_gives_one_number_two_keys_gives_it_none():
    found = read_printed_exam(LISTED.replace("1-3 CBC", "1.C 2.B 3.C 2.A").splitlines(), "x")
    assert found is None, "two of three questions are not enough"


def test_an_examination_without_keys_is_no_text():
    exam = "\n".join(f"{n}. What is the capital of country {n}?\nA. Oslo\nB. Rome\n" for n in range(1, 7))
    with pytest.raises(UnclearLayoutError, match="6 questions with options and no key"):
        read_printed_exam(exam.splitlines(), "x")
    with pytest.raises(UnclearLayoutError, match="a list of 3 keys, and no options behind letters"):
        read_printed_exam("Which?\nOslo\nRome\nAnswer key\n1. A 2. B 3. A".splitlines(), "x")
    assert read_printed_exam(GUIDELINE.splitlines(), "x") is None


def test_lists_whose_letters_stand_outside_the_text_have_them_again(tmp_path: Path):
    questions = "".join(
        f"<li>{asked}<ol type='A'>{''.join(f'<li>{one}</li>' for one in options)}</ol></li>"
        for asked, options in [("Capital of Norway?", ["Oslo", "Bergen"]), ("River in Vienna?", ["Rhine", "Danube"]),
                               ("A liquid metal?", ["Iron", "Mercury"])]
    )  # fmt: skip
    page = tmp_path / "quiz.html"
    page.write_text(f"<h1>Quiz</h1><ol>{questions}</ol><h2>Answers</h2><p>1. A<br>2. B<br>3. B</p>", "utf-8")
    found = convert_file(page, Reading())
    assert found is not None
    assert [one["answer"] for one in found.records] == ["A", "B", "B"]
    assert found.records[0]["question"] == "Capital of Norway?"


def test_markdown_with_bullets_and_bold_words_is_read(tmp_path: Path):
    text = "# Quiz\n\n" + "".join(
        f"**{n}. Question number {n}?**\n\n- A. one\n- B. two\n\n**Answer:** B\n\n" for n in range(1, 5)
    )
    (tmp_path / "quiz.md").write_text(text, "utf-8")
    found = convert_file(tmp_path / "quiz.md", Reading())
    assert found is not None
    assert [(one["question"], one["answer"]) for one in found.records][:1] == [("Question number 1?", "B")]


def test_a_paper_in_pdf_is_read_whose_lines_run_on(tmp_path: Path):
    pytest.importorskip("pypdf")
    lines = ["Final exam", "1. What is the capital of Norway? (a) Oslo", "(b) Bergen", "(c) Trondheim",
             "2. Which river flows through Vienna, the capital of Austria, on its way to the Black Sea?", "(a) Rhine",
             "(b) Danube", "3. Which metal is liquid at room temperature? (a) Iron", "(b) Mercury", "Answer key",
             "1 A", "2 B", "3 B"]  # fmt: skip
    (tmp_path / "paper.pdf").write_bytes(pdf([lines]))
    file = read_data_files([str(tmp_path / "paper.pdf")], None)[0]
    assert file.kind == "multiple_choice"
    assert file.notes[0] == "3 printed questions, written as JSON Lines"
    assert b'"options": ["Oslo", "Bergen", "Trondheim"], "answer": "A"' in file.data
    full = "The warden cleans the stove of the hut in the morning at six."
    (tmp_path / "hut.pdf").write_bytes(pdf([["Hut rules", "Fire", full, full, full]]))
    assert read_data_files([str(tmp_path / "hut.pdf")], None)[0].kind == "corpus"


def test_new_reads_a_printed_examination_as_questions(tmp_path: Path):
    path = tmp_path / "quiz.txt"
    path.write_text(AIKEN, "utf-8")
    file = read_data_files([str(path)], None)[0]
    assert (file.kind, file.suffix) == ("multiple_choice", ".jsonl")
    assert file.layout.columns == {"question": "question", "options": "options", "answer_key": "answer"}
    assert file.notes[0] == "3 printed questions, written as JSON Lines"
    path.write_text(AIKEN.replace("ANSWER", "Points"), "utf-8")
    with pytest.raises(RecipeError):
        read_data_files([str(path.rename(tmp_path / "none.csv"))], None)


# --- formats of programs


MOODLE = """<?xml version="1.0" encoding="UTF-8"?>
<quiz>
<question type="category"><category><text>$course$/Geo</text></category></question>
<question type="multichoice"><name><text>Q1</text></name>
<questiontext format="html"><text><![CDATA[<p>What is the capital of <b>Norway</b>?</p>]]></text></questiontext>
<generalfeedback format="html"><text>See &lt;i&gt;the atlas&lt;/i&gt;.</text></generalfeedback>
<answer fraction="0"><text><![CDATA[<p>Bergen &amp; Voss</p>]]></text></answer>
<answer fraction="100"><text>Oslo</text></answer></question>
<question type="truefalse"><questiontext><text>Mars is large.</text></questiontext>
<answer fraction="0"><text>true</text></answer><answer fraction="100"><text>false</text></answer></question>
<question type="essay"><questiontext><text>Why?</text></questiontext></question>
</quiz>
"""


def test_the_question_bank_of_a_learning_platform_is_read_without_its_html(tmp_path: Path):
    (tmp_path / "bank.xml").write_text(MOODLE, "utf-8")
    found = convert_file(tmp_path / "bank.xml", Reading())
    assert found is not None
    assert found.records == [
        {"id": "bank.xml:1", "question": "What is the capital of Norway?", "options": ["Bergen & Voss", "Oslo"],
         "answer": "B", "explanation": "See the atlas."}
    ]  # fmt: skip
    assert found.note == (
        "1 questions of Moodle's XML, written as JSON Lines; left out: 1 true/false; left out: 1 of the type essay"
    )
    (tmp_path / "bank.xml").write_text(MOODLE.replace("<quiz>", '<!DOCTYPE q [<!ENTITY a "b">]><quiz>'), "utf-8")
    with pytest.raises(UnclearLayoutError, match="document type"):
        convert_file(tmp_path / "bank.xml", Reading())
    (tmp_path / "bank.xml").write_text(MOODLE.replace("</quiz>", ""), "utf-8")
    with pytest.raises(UnclearLayoutError, match="XML that is not whole"):
        convert_file(tmp_path / "bank.xml", Reading())
    (tmp_path / "bank.xml").write_text("<feed/>", "utf-8")
    assert convert_file(tmp_path / "bank.xml", Reading()) is None


SPARQL = """{"head": {"vars": ["itemLabel", "propLabel", "valueLabel"]}, "results": {"bindings": [
{"itemLabel": {"type": "literal", "value": "Norway"}, "propLabel": {"type": "literal", "value": "capital"},
 "valueLabel": {"type": "literal", "value": "Oslo"}},
{"itemLabel": {"type": "literal", "value": "Chad"}, "propLabel": {"type": "literal", "value": "capital"}}]}}"""


def test_the_rows_of_a_query_are_its_values(tmp_path: Path):
    (tmp_path / "query.json").write_text(SPARQL, "utf-8")
    found = convert_file(tmp_path / "query.json", Reading())
    assert found is not None
    assert found.records == [
        {"itemLabel": "Norway", "propLabel": "capital", "valueLabel": "Oslo"},
        {"itemLabel": "Chad", "propLabel": "capital", "valueLabel": ""},
    ]


@pytest.mark.parametrize(
    "line",
    [
        '{"n": {"labels": ["疾病"], "properties": {"name": "痛风", "编号": "D1"}}, "r": {"type": "药物"}, '
        '"m": {"labels": ["药"], "properties": {"名称": "秋水仙碱", "编号": "M1"}}}',
        '{"type": "relationship", "label": "药物", "start": {"labels": ["疾病"], "properties": {"name": "痛风"}}, '
        '"end": {"labels": ["药"], "properties": {"only": "秋水仙碱"}}}',
    ],
)
def test_the_relationships_of_a_property_graph_are_triples(line: str, tmp_path: Path):
    node = '{"type": "node", "labels": ["药"], "properties": {"name": "别嘌醇"}}'
    (tmp_path / "graph.jsonl").write_text(f"{line}\n{node}\n", "utf-8")
    found = convert_file(tmp_path / "graph.jsonl", Reading())
    assert found is not None
    assert found.records == [{"head": "痛风", "relation": "药物", "tail": "秋水仙碱"}]
    assert found.note.endswith("; left out: 1 that join no two named nodes")


def test_json_of_another_kind_is_left_to_the_sources(tmp_path: Path):
    path = tmp_path / "rows.json"
    for text in ('[{"properties": 1, "bindings": 2}]', '{"results": {"bindings": 3}}', '{"properties": {}', "[]"):
        path.write_text(text, "utf-8")
        assert convert_file(path, Reading()) is None
