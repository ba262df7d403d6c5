"""`new --data` on files as people save them: blank rows, labels in any case, notes beside triples, several sheets."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.authoring.starter.data_file import DataFile, read_data_files
from benchbuilder.cli.dispatch import main

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
