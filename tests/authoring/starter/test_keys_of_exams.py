"""Which column is the key of an examination: marks for each option, several letters, letters in another case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchbuilder.authoring.starter.data_file import DataFile, read_data_files
from benchbuilder.cli.dispatch import main
from benchbuilder.core import RecipeError
from benchbuilder.sources import split_keys

ROWS = [
    ("Welches Organ bildet die Galle?", ["die Leber", "die Milz", "die Niere"], [0]),
    ("Welche dieser Tiere sind Säugetiere?", ["der Hai", "der Delfin", "die Fledermaus"], [1, 2]),
    ("Was löst Malaria beim Menschen aus?", ["ein Virus", "ein Pilz", "ein Parasit"], [2]),
    ("Wer entdeckte das Penicillin?", ["Koch", "Fleming", "Jenner"], [1]),
    ("Welches Vitamin bildet die Haut in der Sonne?", ["Vitamin D", "Vitamin C", "Vitamin A"], [0]),
] * 5  # fmt: skip
ROWS = [
    (f"{n}. {question}", [f"{option} {n}" for option in options], right)
    for n, (question, options, right) in enumerate(ROWS)
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def found(name: str, text: str, columns: str | None = None) -> DataFile:
    Path(name).write_text(text, "utf-8")
    [file] = read_data_files([name], columns, "de")
    return file


def flagged(rows: list[Any], yes: Any = True, no: Any = False) -> list[dict[str, Any]]:
    """Records with a list of options, of which each says whether it is right, and points."""
    return [
        {
            "frage": question,
            "antworten": [{"text": text, "richtig": yes if n in right else no} for n, text in enumerate(options)],
            "punkte": len(right),
        }
        for question, options, right in rows
    ]


@pytest.mark.parametrize("marks", [(True, False), (1, 0)])
def test_each_option_may_say_whether_it_is_right(marks: tuple[Any, Any]) -> None:
    file = found("bank.json", json.dumps(flagged(ROWS, *marks)))
    assert (file.kind, file.layout.settings) == ("several_choice", {"key_as": "flags"})
    assert file.layout.columns == {
        "question": "frage", "options": "antworten[].text", "answer_key": "antworten[].richtig",
    }  # fmt: skip


def test_a_question_without_a_right_option_makes_no_numbers_of_marks() -> None:
    rows = flagged(ROWS, 1, 0)
    for option in rows[3]["antworten"]:
        option["richtig"] = 0
    assert found("bank.json", json.dumps(rows)).layout.settings == {"key_as": "flags"}


@pytest.mark.push
def test_an_option_without_text_and_a_question_without_options_hide_no_exam() -> None:
    rows = flagged(ROWS)
    rows[2]["antworten"][0]["text"] = None
    rows[4]["antworten"] = []
    document = {"stand": "2023", "kapitel": [{"titel": "A", "fragen": rows[:9]}, {"titel": "B", "fragen": rows[9:]}]}
    file = found("bank.json", json.dumps(document))
    assert file.layout.settings == {"key_as": "flags", "records": "kapitel[].fragen[]"}
    assert main(["new", "bank", "--data", "bank.json", "--language", "de"]) == 0
    assert main(["check", "recipe=bank"]) == 0


def delimited(key: Any, mark: str = "", above: str = "") -> str:
    lines = [
        ";".join([question, *(f"{mark.format('abc'[n])}{text}" for n, text in enumerate(options)), key(n, right), "1"])
        for n, (question, options, right) in enumerate(ROWS)
    ]
    return "\n".join([f"{above}Frage;Antwort A;Antwort B;Antwort C;richtig;Punkte", *lines]) + "\n"


def letters(between: str, letters: str = "ABC") -> Any:
    return lambda _, right: between.join(letters[n] for n in right)


@pytest.mark.parametrize("between", [", ", ",", "; ", ""])
def test_some_keys_may_name_several_options(between: str) -> None:
    text = delimited(letters(between)).replace(";B; C;", ';"B; C";')
    file = found("bank.csv", text)
    assert (file.kind, file.layout.columns["answer_key"]) == ("several_choice", "richtig")
    assert "key_as" not in file.layout.settings


def test_points_are_no_key_not_even_where_the_key_cannot_be_read() -> None:
    with pytest.raises(RecipeError) as error:
        found("bank.csv", delimited(lambda *_: "Z"))
    assert "Punkte" not in str(error.value).partition("as labelled claims")[0]
    text = "frage,a,b,c,stufe\n" + "".join(f"{q},{','.join(o)},{n % 2 + 1}\n" for n, (q, o, _) in enumerate(ROWS))
    with pytest.raises(RecipeError, match="stufe holds numbers of options, but the name of no key"):
        found("steps.csv", text)
    assert found("steps.csv", text, "question=frage,options=a,options=b,options=c,key=stufe,key_as=index_from_1")


@pytest.mark.push
@pytest.mark.parametrize("key", [letters("", "abc"), letters("", "ABC"), lambda n, right: letters("")(n, right) + ")"])
def test_letters_before_options_are_their_keys_in_either_case(key: Any) -> None:
    rows = [row for row in ROWS if len(row[2]) == 1]
    text = "\n".join(
        ["Frage;Antwort A;Antwort B;Antwort C;Lösung"]
        + [
            ";".join([q, *(f"{'abc'[n]}) {o}" for n, o in enumerate(options)), key(0, right)])
            for q, options, right in rows
        ]
    )
    file = found("bank.csv", text + "\n")
    assert file.layout.settings["option_mark"]
    assert main(["new", "bank", "--data", "bank.csv", "--language", "de"]) == 0
    assert main(["build", "recipe=bank"]) == 0
    ledger = Path("builds/bank/ledger.tsv").read_text("utf-8")
    assert "key_not_in_options" not in ledger
    items = [json.loads(line) for line in Path("builds/bank/items.jsonl").read_text("utf-8").splitlines()]
    assert items
    assert {item["answer"] for item in items} <= {options[right[0]] for _, options, right in rows}


def test_the_names_of_columns_may_stand_below_two_titles() -> None:
    above = "Prüfung;Dauer: 60 min;;;;\nJahrgang 2023;Teil B;;;;\n;;;;;\n"
    file = found("bank.csv", delimited(letters(", "), above=above))
    assert file.layout.settings["header"] == 4
    odd = delimited(letters(", "), above=above).replace("Frage;", "Zeile;", 1).replace("richtig", "wahl", 1)
    named = "question=Zeile,options=Antwort A,options=Antwort B,options=Antwort C,key=wahl"
    assert found("odd.csv", odd, named).layout.settings["header"] == 4


@pytest.mark.parametrize(
    ("text", "keys", "parts"),
    [("B, C", "ABC", ["B", "C"]), ("bc", "ABC", ["B", "C"]), ("BC", "abc", ["b", "c"]), ("Bad", "ABC", ["Bad"])],
)
def test_letters_of_several_options_are_split(text: str, keys: str, parts: list[str]) -> None:
    assert split_keys(text, "letter", list(keys)) == parts


@pytest.mark.push
def test_an_explanation_is_the_evidence_of_its_own_question(tmp_path: Path) -> None:
    rows = [
        ("Which organ of the body makes bile?", "the spleen", "the liver", "B", "Hepatocytes secrete it into canals."),
        ("What is malaria caused by?", "a parasite", "a virus", "A", "Plasmodium species are carried by mosquitoes."),
        ("Which vitamin does the skin make?", "vitamin A", "vitamin D", "B", ""),
        ("Which gas do plants take up?", "oxygen", "carbon dioxide", "B", "It enters the leaf through the stomata."),
    ]  # fmt: skip
    lines = ["question,A,B,answer,explanation", *(",".join(row) for row in rows)]
    Path("cap.csv").write_text("\n".join(lines) + "\n", "utf-8")
    assert main(["new", "cap", "--data", "cap.csv"]) == 0
    assert main(["build", "recipe=cap"]) == 0
    items = [json.loads(line) for line in Path("builds/cap/items.jsonl").read_text("utf-8").splitlines()]
    text_of = {row[0]: [row[4]] if row[4] else [] for row in rows}
    assert len(items) > 4
    for item in items:
        [own] = [texts for question, texts in text_of.items() if question in item["question"]]
        assert [evidence["text"] for evidence in item["evidence"]] == own
    assert "no_own_evidence" in Path("builds/cap/ledger.tsv").read_text("utf-8")
