"""`new --data` on files as people save them: blank rows, labels in any case, notes beside triples, several sheets."""

from __future__ import annotations

from pathlib import Path

import pytest
from openpyxl import Workbook

from benchbuilder.authoring.starter.data_file import DataFile, read_data_files
from benchbuilder.cli.dispatch import main
from benchbuilder.core import RecipeError
from benchbuilder.pipeline import likely_in_language

QUIZ = [
    ("question", "A", "B", "C", "answer"),
    ("Which organ makes bile?", "the spleen", "the liver", "the kidney", "B"),
    ("What causes malaria?", "a parasite", "a virus", "a fungus", "A"),
    ("Which vitamin does the skin make in sunlight?", "vitamin A", "vitamin C", "vitamin D", "C"),
]
ANSWERS = [
    ("question", "right", "wrong"),
    ("Which organ of the body makes bile?", "the liver", "the spleen"),
    ("What is malaria caused by?", "a parasite", "a virus"),
    ("Who was the discoverer of penicillin?", "Fleming", "Koch"),
]
CLAIMS = [
    ("claim", "verdict"),
    ("Sunlight lets the skin make vitamin D.", "TRUE"),
    ("Sunlight lets the skin make vitamin C.", "False"),
    ("Malaria is spread by mosquitoes.", "True"),
    ("Antibiotics are a cure for influenza.", "false"),
]


def read(folder: Path, name: str, rows: list[tuple[str, ...]], mark: str = ",", columns: str | None = None) -> DataFile:
    (folder / name).write_text("".join(mark.join(row) + "\n" for row in rows), "utf-8")
    return read_data_files([str(folder / name)], columns)[0]


@pytest.mark.parametrize(
    ("rows", "kind"), [(QUIZ, "multiple_choice"), (ANSWERS, "question_answer"), (CLAIMS, "claims")]
)
@pytest.mark.parametrize("mark", [",", ";"])
def test_a_blank_row_of_a_spreadsheet_is_told_and_hinders_nothing(
    rows: list[tuple[str, ...]], kind: str, mark: str, tmp_path: Path
) -> None:
    blank = ("",) * len(rows[0])
    file = read(tmp_path, "a.csv", [*rows[:2], blank, *rows[2:], blank, blank], mark)
    assert file.kind == kind
    assert file.layout.columns == read(tmp_path, "b.csv", rows, mark).layout.columns
    last = len(rows) + 2
    assert file.notes[0] == f"3 blank rows, which a build drops: lines 3, {last}, {last + 1}"


@pytest.mark.push
def test_the_ledger_names_a_blank_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    read(tmp_path, "quiz.csv", [*QUIZ[:3], ("",) * 5, QUIZ[3]])
    assert main(["new", "mine", "--data", "quiz.csv"]) == 0
    assert "  1 blank row, which a build drops: line 4\n" in capsys.readouterr().out
    assert main(["build", "recipe=mine"]) == 0
    ledger = Path("builds/mine/ledger.tsv").read_text("utf-8").splitlines()
    assert [line.split("\t")[1:7] for line in ledger if line.startswith("quiz\t")] == [
        ["dropped", "missing_field", "question", "quiz", "mine/quiz.csv", "4"]
    ]


def test_only_columns_that_hold_something_are_named_as_unused(tmp_path: Path) -> None:
    rows = [(*QUIZ[0], "Obs.", "", "")] + [(*row, f"see page {n}", "", "") for n, row in enumerate(QUIZ[1:])]
    assert list(read(tmp_path, "a.csv", rows).notes) == ["not used: Obs."]


VERDICTS = [
    *CLAIMS,
    ("Garlic is a cure for warts.", "Unknown"),
    ("Honey is good for a cough.", "unproven"),
    ("Cold water is good for burns.", "half true"),
    ("Tea keeps people awake.", ""),
    ("", ""),
]
MEANINGS = {"true": ["TRUE", "True"], "false": ["False", "false"], "skip": ["Unknown", "half true", "unproven"]}
COUNTS = "labels: 2 true (1 TRUE, 1 True); 2 false (1 False, 1 false); 3 left out (1 Unknown, 1 half true, 1 unproven)"


@pytest.mark.parametrize("columns", [None, "true=true,false=false", "skip=half True", "claim=claim,label=verdict"])
def test_labels_are_told_in_any_case_and_those_that_mean_neither_are_counted(
    columns: str | None, tmp_path: Path
) -> None:
    file = read(tmp_path, "a.csv", VERDICTS, columns=columns)
    assert (file.kind, file.layout.settings["labels"]) == ("claims", MEANINGS)
    assert f"{COUNTS}; 1 without a label, left out" in file.notes


def test_a_label_that_stands_far_below_has_a_meaning_too(tmp_path: Path) -> None:
    rows = [("claim", "verdict")] + [(f"Claim {n} is so.", ("true", "false")[n % 2]) for n in range(400)]
    file = read(tmp_path, "a.csv", [*rows, ("A last one.", "mixture")])
    assert file.layout.settings["labels"]["skip"] == ["mixture"]


@pytest.mark.parametrize(
    ("labels", "pair"),
    [
        (("true", "mostly true", "half true", "barely true", "false"), "true=true,false=false"),
        (("Correct", "incorrect", "unknown", "partly", "not sure", "a bit", "so so"), "true=Correct,false=incorrect"),
        (("stimmt", "stimmt nicht", "unbekannt"), "true=LABEL,false=LABEL"),
    ],
)
def test_a_hint_names_only_labels_that_mean_true_or_false(labels: tuple[str, ...], pair: str, tmp_path: Path) -> None:
    rows = [("claim", "verdict")] + [(f"Claim {n} is so.", labels[n % len(labels)]) for n in range(20)]
    with pytest.raises(RecipeError) as asked:
        read(tmp_path, "a.csv", rows)
    assert f"--columns {pair};" in str(asked.value)
    told = pair.replace("true=LABEL,false=LABEL", "true=stimmt,false=stimmt nicht")
    meanings = read(tmp_path, "a.csv", rows, columns=told).layout.settings["labels"]
    assert (meanings["true"], meanings["false"]) == ([told[5 : told.index(",")]], [told.rpartition("=")[2]])
    assert sorted(meanings["skip"]) == sorted(set(labels) - {*meanings["true"], *meanings["false"]})


def test_a_label_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="no column holds supprots"):
        read(tmp_path, "a.csv", VERDICTS, columns="true=supprots")


@pytest.mark.push
def test_claims_whose_labels_mean_neither_are_built_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    read(tmp_path, "claims.csv", VERDICTS)
    assert main(["new", "mine", "--data", "claims.csv"]) == 0
    assert main(["build", "recipe=mine"]) == 0
    ledger = [line.split("\t") for line in Path("builds/mine/ledger.tsv").read_text("utf-8").splitlines()]
    assert [(line[2], line[6]) for line in ledger if line[0] == "claims"] == [
        ("label_skipped", "6"),
        ("label_skipped", "7"),
        ("label_skipped", "8"),
        ("no_label", "9"),
        ("missing_field", "10"),
    ]


DRUGS = [("Drug", "Property", "Value")] + [
    (f"drug {n}", *fact) for n in range(9) for fact in (("drug class", f"class {n % 3}"), ("made in", f"land {n % 4}"))
]
HERBS = [("药材", "关系", "值")] + [
    (name, *fact) for name in ("黄芪", "人参", "当归", "甘草") for fact in (("药性", f"{name}的性"), ("药味", "甘"))
]


@pytest.mark.parametrize(
    ("rows", "name", "notes"),
    [
        (DRUGS, "Source note", [f"label of {n}" for n in range(18)]),
        (DRUGS, "remarks", ["as sold"] * 18),
        (DRUGS, "odd", ["", "", "see below"] * 6),
        (HERBS, "备注", ["见教材"] * 8),
    ],
)
def test_columns_of_notes_beside_triples_are_not_used(
    rows: list[tuple[str, ...]], name: str, notes: list[str], tmp_path: Path
) -> None:
    file = read(tmp_path, "a.csv", [(*row, note) for row, note in zip(rows, [name, *notes], strict=True)])
    assert dict(file.layout.columns) == dict(zip(("head", "relation", "tail"), rows[0], strict=True))
    assert (file.kind, list(file.notes)) == ("triples", [f"not used: {name}"])


def test_where_a_column_beside_triples_may_be_one_of_them_the_hint_names_the_likely_ones(tmp_path: Path) -> None:
    rows = [(*row, unit) for row, unit in zip(DRUGS, ["Unit", *["mg", "g"] * 9], strict=True)]
    with pytest.raises(RecipeError, match="--columns head=Drug,relation=Property,tail=Value;"):
        read(tmp_path, "a.csv", rows)
    file = read(tmp_path, "a.csv", rows, columns="head=Drug,relation=Property,tail=Value")
    assert (file.kind, list(file.notes)) == ("triples", ["not used: Unit"])


def workbook(path: Path, sheets: dict[str, list[tuple[str, ...]]], hidden: str = "") -> str:
    book = Workbook()
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        sheet.sheet_state = "hidden" if title == hidden else "visible"
        for row in rows:
            sheet.append(row)
    del book["Sheet"]
    book.save(path)
    return str(path)


NOTE: list[tuple[str, ...]] = [("Examination of the clinic",), ("Do not pass on.",)]
PREAMBLE: list[tuple[str, ...]] = [
    ("Quiz of the ward",),
    (),
    ("question", "option A", "option B", "option C", "answer"),
    *QUIZ[1:],
]


@pytest.mark.parametrize(
    ("sheets", "settings", "note"),
    [
        ({"Note": NOTE, "Fragen": [QUIZ[0], (), *QUIZ[1:]]}, {"sheet": "Fragen"}, "sheet Fragen; not read: Note"),
        ({"Fragen": QUIZ, "Note": NOTE, "More": []}, {"sheet": "Fragen"}, "sheet Fragen; not read: Note, More"),
        ({"Lists": QUIZ, "Fragen": QUIZ}, {"sheet": "Fragen"}, "sheet Fragen"),
        (
            {"Note": NOTE, "Below a title": PREAMBLE},
            {"sheet": "Below a title", "header": 3},
            "sheet Below a title; not read: Note",
        ),
        ({"Facts": DRUGS, "Fragen": QUIZ}, {"sheet": "Fragen"}, "sheet Fragen; not read: Facts"),
    ],
)
def test_the_worksheet_that_has_a_table_is_taken_and_told(
    sheets: dict[str, list[tuple[str, ...]]], settings: dict[str, str], note: str, tmp_path: Path
) -> None:
    [file] = read_data_files([workbook(tmp_path / "a.xlsx", sheets, hidden="Lists")], None)
    assert (file.kind, file.layout.settings, file.notes[0]) == ("multiple_choice", settings, note)


@pytest.mark.parametrize(
    "above", [["Quiz of the ward"], ["Quiz of the ward;;;;", ";;;;"], ["# from the ward", "by;A. Nurse"]]
)
@pytest.mark.parametrize("names", ["question;option A;option B;option C;answer", "Satz;a;b;c;stimmt"])
def test_a_table_below_a_title_is_read_from_its_names_on(above: list[str], names: str, tmp_path: Path) -> None:
    rows = [f"What is {n}?;a{n};b{n};c{n};{'ABC'[n % 3]}" for n in range(40)]
    path = tmp_path / "quiz.csv"
    path.write_text("\n".join([*above, names, *rows, ";;;;"]) + "\n")
    [file] = read_data_files([str(path)], None)
    line = len(above) + 1
    assert (file.kind, file.layout.settings["header"]) == ("multiple_choice", line)
    assert f"the columns are named on line {line}; left out: what stands above" in file.notes
    assert f"1 blank row, which a build drops: line {line + 41}" in file.notes


def test_a_first_row_with_few_names_is_no_title(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="among question, 1, 2, 3, 4"):
        read(tmp_path, "a.csv", [("question", "", "", "", ""), *QUIZ[1:]])
    indexed = [("", *QUIZ[0]), *((f"row-{n}", *row) for n, row in enumerate(QUIZ[1:]))]
    assert "header" not in read(tmp_path, "b.csv", indexed).layout.settings


def test_names_of_columns_that_somebody_says_tell_that_there_is_a_header(tmp_path: Path) -> None:
    rows = [("x", "y", "z"), *ANSWERS[1:-1], ("Name one discoverer of penicillin.", *ANSWERS[-1][1:])]
    with pytest.raises(RecipeError, match="whether the first line is a header"):
        read(tmp_path, "a.csv", rows)
    file = read(tmp_path, "a.csv", rows, columns="question=x,right=y,wrong=z")
    assert dict(file.layout.columns) == {"question": "x", "answers": "y", "wrong": "z"}


def test_of_several_worksheets_that_could_be_meant_one_is_asked_for(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", {"Fragen": QUIZ, "Second part": [*QUIZ[:3], *QUIZ[2:]]})
    with pytest.raises(RecipeError, match=r"Fragen or Second part\n.*--columns sheet=Fragen"):
        read_data_files([path], None)
    [file] = read_data_files([path], "sheet=Second part")
    assert file.layout.settings["sheet"] == "Second part"
    with pytest.raises(RecipeError, match="there is no worksheet Third; there are Fragen, Second part"):
        read_data_files([path], "sheet=Third")


def test_worksheets_without_a_table_are_named_with_what_was_seen(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"sheet A: whether .* sheet B: the file holds no rows"):
        read_data_files([workbook(tmp_path / "a.xlsx", {"A": NOTE, "B": []})], None)


@pytest.mark.parametrize("columns", ["sheet=Fragen", "encoding=utf-8"])
def test_what_says_nothing_about_a_file_is_refused(columns: str, tmp_path: Path) -> None:
    name = "a.csv" if columns.startswith("sheet") else "a.parquet"
    (tmp_path / name).write_text("question,right\n", "utf-8")
    with pytest.raises(RecipeError, match=f"leave --columns {columns.partition('=')[0]} out"):
        read_data_files([str(tmp_path / name)], columns)


PROVA = [
    ("Pergunta", "A", "B", "C", "Resposta"),
    ("Qual órgão do corpo produz a bile?", "o baço", "o fígado", "o rim", "B"),
    ("O que causa a malária?", "um parasita", "um vírus", "um fungo", "A"),
    ("Quais vitaminas são da pele?", "A", "C", "as da luz do sol", "C"),
]


def encoded(path: Path, rows: list[tuple[str, ...]], encoding: str) -> str:
    path.write_bytes("".join(";".join(row) + "\n" for row in rows).encode(encoding))
    return str(path)


def test_a_key_may_be_the_text_of_an_option_as_people_type_it(tmp_path: Path) -> None:
    keys = ["the liver", "A PARASITE", "Vitamin D.", " the Liver"]
    rows = [QUIZ[0], *((*row[:-1], key) for row, key in zip([*QUIZ[1:], QUIZ[1]], keys, strict=True))]
    file = read(tmp_path, "typed.csv", rows)
    assert (file.kind, file.layout.settings["key_as"]) == ("multiple_choice", "text")
    assert file.layout.columns["options"] == ["A", "B", "C"]
    twice = [(*row[:3], "The Liver" if row[2] == "the liver" else row[3], row[4].upper()) for row in rows[1:]]
    with pytest.raises(RecipeError, match="could not be told"):
        read(tmp_path, "twice.csv", [QUIZ[0], *twice])


def test_letters_of_the_language_decide_between_encodings(tmp_path: Path) -> None:
    path = encoded(tmp_path / "prova.csv", PROVA, "cp1252")
    [file] = read_data_files([path], None)
    assert (file.layout.settings["encoding"], file.layout.columns["question"]) == ("cp1252", "Pergunta")
    assert any("órgão" in text for text in file.texts)
    assert likely_in_language({"cp1252": "órgão", "cp1250": "órgăo"}, "ro") == ["cp1250"]


def test_the_language_or_the_encoding_may_be_said(tmp_path: Path) -> None:
    short = [("q", "A", "B", "k"), ("Órgão?", "não", "rim", "A"), ("Baço?", "rim", "vírus", "B")]
    path = encoded(tmp_path / "prova.csv", short, "cp1252")
    with pytest.raises(
        RecipeError, match=r"cp1252 or cp1250\n.*--language xx, or the encoding, --columns encoding=cp1252"
    ):
        read_data_files([path], None)
    for columns, language in ((None, "pt-BR"), ("encoding=cp1252", None)):
        [file] = read_data_files([path], columns, language)
        assert file.layout.settings["encoding"] == "cp1252"
        assert "não" in file.texts
    with pytest.raises(RecipeError, match="the encoding is not ascii"):
        read_data_files([path], "encoding=ascii")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["草药", "--data", "odd.csv"], "not a valid name for a recipe"),
        (["--source", "q:multiple_choice=odd.csv"], "missing: a name, and a language\n"),
        (["--source", "q:multiple_choice=odd.csv", "--language", "en"], "missing: a name\n"),
        (["mine", "--source", "q:multiple_choice=odd.csv"], "missing: a language\n"),
        (["mine"], "missing: a file, a recipe to copy or a language\n"),
    ],
)
def test_what_is_missing_or_wrong_is_told_before_a_file_is_read(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.csv").write_text("shape,size\nround,9\nflat,8\n", "utf-8")
    assert main(["new", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_name_that_no_recipe_can_have_is_not_to_be_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "recipe=草药"]) == 2
    said = capsys.readouterr().err
    assert "no recipe has such a name" in said
    assert "quote" not in said
