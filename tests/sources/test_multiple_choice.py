"""Multiple-choice questions with one right option, or with several."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from benchbuilder.core.errors import DataError

# --- multiple choice -------------------------------------------------------------------------------------------------

BLANK = r"[(（]\s*[)）]"
MEDQA = {
    "columns": {
        "question": "question", "options": "options", "answer_key": "answer_idx", "answer": "answer",
        "category": "meta_info",
    },
    "options_count": 4,
    "blank": BLANK,
}  # fmt: skip
MLECQA = {
    "columns": {"question": "qtext", "options": "options", "answer_key": "answer"},
    "files": "{category}_{split}.json",
    "categories": {"Clinic": True, "PublicHealth": True, "CWM": False},
    "needs_image": "如图",
    "normalise_spaces": True,
}
OPTIONS = {"A": "IgA", "B": "IgD", "C": "IgG", "D": "IgM"}


def item(**changes):
    base = {"question": "能通过胎盘的免疫球蛋白是（　　）。", "options": OPTIONS, "answer": "IgG", "answer_idx": "C"}
    return {**base, "meta_info": "免疫学", **changes}


def lines(*items):
    return "".join(json.dumps(i, ensure_ascii=False) + "\n" if isinstance(i, dict) else i for i in items)


def mlec(name, **changes):
    return {"qid": 1, "qtext": name, "options": {**OPTIONS, "E": "IgE"}, "answer": "C", **changes}


def test_medqa_shape(write, read_source):
    result = read_source("multiple_choice", "medqa", path=write("q.jsonl", lines(item())), **MEDQA)
    (row,) = result.rows
    choice = row.payload
    assert choice.question == "能通过胎盘的免疫球蛋白是（　　）。"
    assert [(o.key, o.text) for o in choice.options] == list(OPTIONS.items())
    assert (choice.answer_key, choice.answer, choice.category, choice.context) == ("C", "IgG", "免疫学", "")


@pytest.mark.parametrize("blank", ["（　　）", "(    )", "()", "（ )"])
def test_blanks_of_either_width(blank, write, read_source):
    path = write("q.jsonl", lines(item(question=f"能通过胎盘的是{blank}。")))
    assert len(read_source("multiple_choice", path=path, **MEDQA).rows) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"question": "能通过胎盘的免疫球蛋白是"}, "no_blank"),
        ({"question": ""}, "missing_field"),
        ({"question": ["x"]}, "malformed"),
        ({"question": "\ud800（）"}, "malformed"),
        ({"options": None}, "missing_field"),
        ({"options": 3}, "malformed"),
        ({"options": {**OPTIONS, "A": {"x": 1}}}, "malformed"),
        ({"options": {"A": "IgA", "C": "IgG"}}, "options_count"),
        ({"options": {**OPTIONS, "A": " "}}, "options_count"),
        ({"answer_idx": "E"}, "key_not_in_options"),
        ({"answer_idx": "AC"}, "multiple_answers"),
        ({"answer_idx": "A,C"}, "multiple_answers"),
        ({"answer_idx": ["A", "C"]}, "multiple_answers"),
        ({"answer_idx": ""}, "no_answer_key"),
        ({"answer_idx": []}, "no_answer_key"),
        ({"answer": "IgM"}, "answer_mismatch"),
        ({"answer": None}, "missing_field"),
    ],
)
def test_drops(changes, reason, write, read_source):
    text = json.dumps(item(**changes)) + "\n"
    result = read_source("multiple_choice", path=write("q.jsonl", lines(item(), text)), **MEDQA)
    assert result.lines == [1]
    assert result.dropped() == [(2, reason)]


def test_broken_lines_and_editor_line_numbers(write, read_source):
    text = lines(item(), "\n", "{broken\n", "[]\n", '"text"\n').encode() + b'{"question": "\xff"}\n'
    text += lines(item(), item(question="另一题（）")).encode()
    result = read_source("multiple_choice", path=write("q.jsonl", text), **MEDQA)
    assert result.lines == [1, 8]
    assert result.dropped() == [
        (3, "malformed"), (4, "missing_field"), (5, "malformed"), (6, "undecodable"), (7, "duplicate"),
    ]  # fmt: skip
    assert result.detail(7) == "kept: q.jsonl:1"


@pytest.mark.parametrize("written", ["c", "Ｃ", " C ", "(C)", ["C"]])
def test_ways_to_write_one_letter(written, write, read_source):
    path = write("q.jsonl", lines(item(answer_idx=written)))
    assert read_source("multiple_choice", path=path, **MEDQA).rows[0].payload.answer_key == "C"


def test_several_files_by_category_and_split(write, read_source):
    write("mlec/Clinic_train.json", json.dumps([mlec("甲\u3000\u3000题是"), mlec("如图所示的是")]))
    write("mlec/Clinic_dev.json", json.dumps([mlec("乙题是")]))
    write("mlec/PublicHealth_test.json", json.dumps([mlec("丙题是"), 7]))
    write("mlec/CWM_train.json", "this is not even JSON")
    write("mlec/Stomatology_train.json", "nor is this: a category that is not listed is not read")
    result = read_source("multiple_choice", "mlecqa", path="mlec", **MLECQA)
    labels = [(r.payload.question, r.payload.category, r.payload.split, r.origin.line) for r in result.rows]
    assert labels == [
        ("乙题是", "Clinic", "dev", 1), ("甲 题是", "Clinic", "train", 1), ("丙题是", "PublicHealth", "test", 1),
    ]  # fmt: skip
    assert [d[:3] for d in result.drops] == [
        ("mlec/Clinic_train.json", 2, "needs_image"),
        ("mlec/PublicHealth_test.json", 2, "malformed"),
    ]
    assert result.ends["mlec/CWM_train.json"].auxiliary == {"excluded": 1}
    assert result.ends["mlec/Stomatology_train.json"].auxiliary == {"excluded": 1}


def test_splits_can_be_chosen(write, read_source):
    for split in ("train", "dev"):
        write(f"mlec/Clinic_{split}.json", json.dumps([mlec(f"{split}题是")]))
    spec = {**MLECQA, "categories": {"Clinic": True}, "splits": {"dev": True}}
    assert [r.payload.split for r in read_source("multiple_choice", path="mlec", **spec).rows] == ["dev"]


def test_a_category_without_a_file(write, make_source):
    write("mlec/Clinic_train.json", json.dumps([mlec("甲题是")]))
    with pytest.raises(DataError, match=r"sources\.mlecqa\.path: no file of the category 'PublicHealth'"):
        make_source("multiple_choice", "mlecqa", path="mlec", **MLECQA).check()


def test_files_of_other_names(write, make_source):
    write("mlec/readme.txt", "x")
    with pytest.raises(DataError) as raised:
        make_source("multiple_choice", "mlecqa", path="mlec", **MLECQA).files()
    assert "expected files named {category}_{split}.json; found readme.txt" in str(raised.value)


def test_a_category_from_a_column_is_excluded_row_by_row(write, read_source):
    text = lines(item(), item(meta_info="中医"))
    path = write("q.jsonl", text)
    result = read_source("multiple_choice", path=path, categories={"免疫学": True, "中医": False}, **MEDQA)
    assert result.dropped() == [(2, "excluded")]


def test_csv_without_header_by_index(write, read_source):
    text = 'Which is right?,"one, two",three,four,five,B\nWhich is right?,1,2,3,E\n'
    path = write("mmlu/virology_test.csv", text)
    columns = {"question": 0, "options": [1, 2, 3, 4], "answer_key": 5}
    spec = {"header": False, "width": 6, "files": "{category}_{split}.csv", "columns": columns}
    result = read_source("multiple_choice", path="mmlu", **spec)
    choice = result.rows[0].payload
    assert (choice.options[0].text, choice.answer, choice.category) == ("one, two", "three", "virology")
    assert result.drops == [(path, 2, "malformed", "5 columns, expected 6")]


@pytest.mark.parametrize(
    ("key_as", "written"), [("index", "2"), ("index", 2), ("index_from_1", "3"), ("text", "IgG"), ("letter", "C")]
)
def test_keys_as_index_text_or_letter(key_as, written, write, read_source):
    columns = {"question": "question", "options": "options", "answer_key": "answer_idx"}
    path = write("q.jsonl", lines(item(answer_idx=written, options=list(OPTIONS.values()))))
    (row,) = read_source("multiple_choice", path=path, columns=columns, key_as=key_as).rows
    assert (row.payload.answer_key, row.payload.answer) == ("C", "IgG")


def test_bad_indices(write, read_source):
    columns = {"question": "question", "options": "options", "answer_key": "answer_idx"}
    written = ["1", "4", "-1", "0 2"]
    path = write("q.jsonl", lines(*(item(answer_idx=w, question=f"{w}?") for w in written)))
    result = read_source("multiple_choice", path=path, columns=columns, key_as="index")
    assert result.dropped() == [(2, "key_not_in_options"), (3, "key_not_in_options"), (4, "multiple_answers")]


def test_the_answer_text_alone_finds_the_option(write, read_source):
    columns = {"question": "question", "options": "options", "answer": "answer"}
    twice = {**OPTIONS, "A": "IgG"}
    path = write("q.jsonl", lines(item(), item(options=twice), item(answer="IgE")))
    result = read_source("multiple_choice", path=path, columns=columns)
    assert result.rows[0].payload.answer_key == "C"
    assert result.dropped() == [(2, "multiple_answers"), (3, "key_not_in_options")]


def test_lettered_text(write, read_source):
    columns = {"question": "q", "options": "o", "answer_key": "k"}
    text = "q\to\tk\n能通过胎盘的是\tA. IgA B．IgD C、IgG\tC\n能通过胎盘的是\tIgA IgD\tA\n"
    mark = r"(?:^|(?<=\s))[A-E][.．、]\s*"
    result = read_source("multiple_choice", path=write("q.tsv", text), columns=columns, option_mark=mark)
    assert [(o.key, o.text) for o in result.rows[0].payload.options] == [("A", "IgA"), ("B", "IgD"), ("C", "IgG")]
    assert result.dropped() == [(3, "malformed")]


def test_marks_inside_listed_options(write, read_source):
    columns = {"question": "question", "options": "options", "answer_key": "label", "context": "passage"}
    record = {"question": "哪项正确", "options": ["(A)甲", "(B)乙(C)"], "label": ["B"], "passage": None}
    path = write("q.jsonl", lines(record))
    (row,) = read_source("multiple_choice", path=path, columns=columns, option_mark=r"\([A-D]\)").rows
    assert (row.payload.answer, row.payload.context) == ("乙(C)", "")


def test_parquet_with_structs(tmp_path, read_source):
    rows = [
        item(),
        item(question="两个选项（）", options={"A": "x", "B": "y", "C": None, "D": None}, answer="x", answer_idx="A"),
    ]
    path = tmp_path / "q.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    result = read_source("multiple_choice", path=str(path), **MEDQA)
    assert result.lines == [1]
    assert result.dropped() == [(2, "options_count")]


def test_an_answer_column_is_needed(make_source):
    with pytest.raises(ValidationError, match="name the column of the answer"):
        make_source("multiple_choice", path="x", columns={"question": "q", "options": "o"})


def test_misnamed_columns_are_a_wrong_shape(write, make_source):
    path = write("q.jsonl", lines(*(item(question=f"{n}（）") for n in range(4))))
    for columns in (
        {"question": "stem", "options": "options", "answer_key": "answer_idx"},
        {"question": "question", "options": "choices", "answer_key": "answer_idx"},
        {"question": "question", "options": "options", "answer_key": "gold"},
    ):
        with pytest.raises(DataError, match="none of the first 4 records has a field"):
            make_source("multiple_choice", path=path, columns=columns).check()


def test_one_json_document_that_is_no_list(write, make_source):
    path = write("q.json", json.dumps({"version": 1, "data": [item()]}))
    with pytest.raises(DataError) as raised:
        make_source("multiple_choice", path=path, **MEDQA).check()
    assert "the keys version, data" in str(raised.value)
    assert "records:" in raised.value.next


def test_jsonl_named_json(write, read_source):
    path = write("q.json", lines(item(), item(question="二（）")))
    assert read_source("multiple_choice", path=path, **MEDQA).lines == [1, 2]


# --- several choice --------------------------------------------------------------------------------------------------

SPEC = {
    "columns": {"question": "question", "options": "options", "answer_key": "label"},
    "option_mark": r"[(（]\s*[A-D]\s*[)）]",
    "options_count": 4,
}


def line(label, question="下列权利中，属于用益物权的有:", options=("居住权", "地役权", "抵押权", "留置权")):
    marked = [f"({key}){text}" for key, text in zip("ABCD", options, strict=False)]
    return json.dumps({"question": question, "options": marked, "label": label}, ensure_ascii=False) + "\n"


@pytest.fixture
def keys(write, read_source):
    def read(label, **spec):
        result = read_source("several_choice", path=write("q.jsonl", line(label)), **{**SPEC, **spec})
        return result.rows[0].payload.answer_keys if result.rows else result.drops[0][2:]

    return read


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (["A"], ("A",)),
        (["B", "A"], ("A", "B")),  # in the order of the options
        (["A", "A"], ("A",)),
        ("AB", ("A", "B")),
        ("a、b", ("A", "B")),
        ("C", ("C",)),
    ],
)
def test_every_right_option_is_read(keys, label, expected):
    assert keys(label) == expected


def test_numbers_and_texts(keys):
    assert keys("0, 2", key_as="index") == ("A", "C")
    assert keys([1, 4], key_as="index_from_1") == ("A", "D")
    assert keys(["地役权", "居住权"], key_as="text") == ("A", "B")


@pytest.mark.parametrize(
    ("label", "reason"), [([], "no_answer_key"), ("", "no_answer_key"), (["A", "E"], "key_not_in_options")]
)
def test_what_names_no_option_is_dropped(keys, label, reason):
    assert keys(label)[0] == reason


def test_marks_of_options_are_cut_off(write, read_source):
    (row,) = read_source("several_choice", path=write("q.jsonl", line(["A"])), **SPEC).rows
    assert [(option.key, option.text) for option in row.payload.options][:2] == [("A", "居住权"), ("B", "地役权")]
    assert row.payload.flat_cells()["answers"] == "A"


LETTERED = {"question": "q", "options": ["A", "B", "C", "D"], "answer_key": "k"}
OF_ANY_LIST = {"question": "q", "options": "o", "answer_key": "k"}


def answers(result):
    return [row.payload.answer for row in result.rows]


def test_an_index_counts_options_that_have_no_text(write, read_source):
    rows = "q,A,B,C,D,k\nRibs?,,twelve,twenty-four,thirty,2\nGas?,oxygen,nitrogen,,,1\nNone?,,a,b,c,0\n"
    result = read_source("multiple_choice", path=write("q.csv", rows), columns=LETTERED, key_as="index")
    assert answers(result) == ["twenty-four", "nitrogen"]
    assert result.dropped() == [(4, "missing_field")]
    records = [{"q": "Heart?", "o": [None, "two", "three", "four"], "k": 4}, {"q": "Air?", "o": ["x", ""], "k": 2}]
    text = "".join(json.dumps(record) + "\n" for record in records)
    result = read_source("multiple_choice", path=write("q.jsonl", text), columns=OF_ANY_LIST, key_as="index_from_1")
    assert answers(result) == ["four"]
    assert result.dropped() == [(2, "missing_field")]


def test_a_letter_without_a_text_is_no_answer(write, read_source):
    rows = "q,A,B,C,D,k\nRibs?,,twelve,twenty-four,thirty,A\nGas?,oxygen,nitrogen,,,B\n"
    result = read_source("multiple_choice", path=write("q.csv", rows), columns=LETTERED)
    assert answers(result) == ["nitrogen"]
    assert result.dropped() == [(2, "missing_field")]


def test_space_around_a_name_means_nothing_in_header_and_recipe(write, read_source):
    path = write("q.csv", "question\u00a0,A, B,key \nFirst?,a,b,A\n")
    named = {"question": "question\u00a0", "options": ["A", "B "], "answer_key": "key"}
    assert answers(read_source("multiple_choice", path=path, columns=named)) == ["a"]


def test_numbers_mean_no_header(write, read_source):
    numbers = {"question": 0, "options": [1, 2], "answer_key": 3}
    path = write("q.csv", "First?,a,b,A\nSecond?,c,d,B\n")
    assert answers(read_source("multiple_choice", path=path, columns=numbers)) == ["a", "d"]
    with_names = write("named.csv", "q,A,B,k\nFirst?,a,b,A\n")
    assert answers(read_source("multiple_choice", path=with_names, columns=numbers, header=True)) == ["a"]


def test_a_header_that_is_a_question_is_not_left_out(write, make_source):
    numbers = {"question": 0, "options": [1, 2], "answer_key": 3}
    path = write("q.csv", "First?,a,b,A\nSecond?,c,d,B\n")
    with pytest.raises(DataError, match="has the wrong shape") as caught:
        make_source("multiple_choice", path=path, columns=numbers, header=True).check()
    assert "'First?', which would be lost" in caught.value.why
    assert caught.value.next.endswith("header: false")


def test_two_columns_of_one_name_are_told_apart_by_number(write, make_source, read_source):
    path = write("q.csv", "q,A,B,k,k\nFirst?,a,b,A,B\n")
    columns = {"question": "q", "options": ["A", "B"], "answer_key": "k"}
    with pytest.raises(DataError) as caught:
        make_source("multiple_choice", path=path, columns=columns).check()
    assert "2 of this name: the columns 3, 4" in caught.value.why
    proposed = {**columns, "answer_key": 4}
    assert answers(read_source("multiple_choice", path=path, columns=proposed, header=True)) == ["b"]


@pytest.mark.parametrize("row", ['{"q": "Who?", "o": ["a", "b"], "k": "A", "k": "B"}',
                                 '{"q": "Who?", "o": {"A": "a", "A": "b"}, "k": "A"}'])  # fmt: skip
def test_a_name_that_stands_twice_in_a_record_drops_it(row, write, read_source):
    good = '{"q": "What?", "o": ["c", "d"], "k": "A"}'
    result = read_source("multiple_choice", path=write("q.jsonl", f"{good}\n{row}\n"), columns=OF_ANY_LIST)
    assert answers(result) == ["c"]
    assert result.dropped() == [(2, "malformed")]
