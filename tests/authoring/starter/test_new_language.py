"""A recipe for a language that no recipe is in: eight sentences, no rule, and nothing of another language."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from benchbuilder.authoring.clone.clone import keep_casing
from benchbuilder.authoring.starter.language_table import facts_of_language
from benchbuilder.cli.dispatch import main
from benchbuilder.config import YamlEditor
from benchbuilder.core.errors import DataError
from benchbuilder.evaluation.parsing.verdict_tables import read_verdict_table
from benchbuilder.evaluation.parsing.verdicts import VerdictReader, YesNoQuestion

WORDS = "obi imeju akụrụ ume anya ntị imi ọnụ aka ụkwụ isi afọ azụ olu eze ire mkpịsị ọkpụkpụ akpụkpọ ọbara".split()  # noqa: SIM905
QUESTIONS = [
    [f"Kedu ihe {WORDS[n]} na {WORDS[n + 7]} na-emere {WORDS[n + 3]}?", *WORDS[n : n + 4], "BC"[n % 2]]
    for n in range(12)
]
SENTENCES = {
    "verify": "Ajụjụ: {question}\nAzịza: {answer}\nAzịza a ọ ziri ezi?",
    "verify_among": "Ajụjụ: {question}\nNhọrọ:\n{options}\nAzịza: {answer}\nỌ bụ ya kacha mma?",
    "true_or_false": "“{claim}” Ọ bụ eziokwu?",
    "cloze": "Gịnị mezuru ahịrịokwu a? “{left}…{right}”",
    "says": "{answer}",
    "says_yes": "Ee.",
    "says_no": "Mba.",
    "option": "- {answer}",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "q.csv").write_text("".join(f"{','.join(row)}\n" for row in QUESTIONS), "utf-8")
    return tmp_path


def write_sentences(here: Path, name: str) -> None:
    """Put a sentence in place of each open one, as a speaker would."""
    file = here / f"recipes/forms/{name}.yaml"
    text = file.read_text("utf-8")
    for key, sentence in SENTENCES.items():
        lines = "".join(f"  {line}\n" for line in sentence.splitlines())
        text = text.replace(f"{key}: |-\n  ???\n", f"{key}: |-\n{lines}")
    file.write_text(text, "utf-8")


def fill_facts(here: Path, name: str) -> None:
    """Say what only the owner of a benchmark knows."""
    file = here / f"recipes/recipe/{name}.yaml"
    text = re.sub(r"correct_as_of: \?\?\?", 'correct_as_of: "2025-01-01"', file.read_text("utf-8"))
    file.write_text(text.replace("???:", "OPEN").replace(": ???", ": Written for a test"), "utf-8")


@pytest.mark.push
def test_eight_sentences_and_the_check_passes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "ahuike", "--language", "ig", "--source", "questions:multiple_choice=q.csv"]) == 0
    capsys.readouterr()
    assert main(["check", "recipe=ahuike"]) == 2
    said = capsys.readouterr()
    assert said.out.startswith("8 sentences are open; 0 rules are needed; 2 values of sources open; 4 values of card")
    assert said.err.count("\n- ") == 14  # and none for what only refers to an open sentence
    fill_facts(here, "ahuike")
    assert main(["check", "recipe=ahuike"]) == 2
    assert capsys.readouterr().out == "8 sentences are open; 0 rules are needed\n"
    write_sentences(here, "ahuike")
    assert main(["check", "recipe=ahuike"]) == 0
    assert "no word for yes or for no" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "flow", "sentences"),
    [
        ("claims", "labelled", {"true_or_false", "says_yes", "says_no"}),
        ("procedures", "procedures", {"says", "says_yes", "says_no", "comes_before", "comes_next"}),
        ("question_answer", "reading", {"verify", "cloze", "says", "says_yes", "says_no"}),
        ("several_choice", "forms", set(SENTENCES)),
        ("corpus", "forms", set(SENTENCES)),
    ],
)
def test_the_kind_of_the_source_chooses_the_flow(here: Path, kind: str, flow: str, sentences: set[str]) -> None:
    assert main(["new", "ahuike", "--language", "ig", "--source", f"a:{kind}", "--source", "b:corpus"]) == 0
    recipe = (here / "recipes/recipe/ahuike.yaml").read_text("utf-8")
    assert f"override /flow: {flow}\n" in recipe
    forms = yaml.safe_load((here / "recipes/forms/ahuike.yaml").read_text("utf-8"))
    assert {key for key, value in forms.items() if isinstance(value, str)} == sentences
    assert (here / "recipes/pairs").exists() == (flow == "forms")


def test_sources_of_two_flows_are_an_error(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "ahuike", "--language", "ig", "--source", "a:claims", "--source", "b:procedures"]) == 2
    assert "need different flows" in capsys.readouterr().err


@pytest.mark.full
def test_statements_by_example_are_used_once_their_rule_is_accepted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "ahuike", "--language", "ig", "--source", "questions:multiple_choice=q.csv"]) == 0
    fill_facts(here, "ahuike")
    write_sentences(here, "ahuike")
    assert main(["stem-shapes", "recipe=ahuike"]) == 0
    assert "12 questions; 1 shapes cover 12 (100 %)" in capsys.readouterr().out
    file = here / "recipes/pairs/ahuike.tsv"
    lines = file.read_text("utf-8").splitlines()
    assert lines[1].startswith("# shape 1: kedu ihe … | 12 questions, 100 %")
    question, answer, _ = lines[2].split("\t")
    lines[2] = f"{question}\t{answer}\tIhe {question.removeprefix('Kedu ihe ').rstrip('?')} bụ {answer}."
    file.write_text("\n".join(lines) + "\n", "utf-8")
    assert main(["plan", "recipe=ahuike"]) == 0
    said = capsys.readouterr().out
    assert "no rule of recipes/pairs/ahuike.tsv was accepted, so it makes no statement" in said
    assert "rule 1 (kedu … ?) leaves words of the question out of the statement" in said
    assert main(["recipe=ahuike", "run.dir=builds/before"]) == 0
    assert main(["stem-shapes", "recipe=ahuike"]) == 0
    assert "rule 1: kedu … ?  (11 of 12 questions, not accepted)" in capsys.readouterr().out
    assert lines[2] in file.read_text("utf-8")  # what a speaker wrote is kept
    assert main(["stem-shapes", "--accept", "2", "recipe=ahuike"]) == 2
    assert main(["stem-shapes", "--accept", "1", "recipe=ahuike"]) == 0
    assert main(["recipe=ahuike", "run.dir=builds/after"]) == 0
    forms = {
        name: {
            json.loads(line)["form"] for line in (here / f"builds/{name}/items.jsonl").read_text("utf-8").splitlines()
        }
        for name in ("before", "after")
    }
    assert forms["before"] >= {"verify"}
    assert "statement" not in forms["before"]
    assert "statement" in forms["after"]


def test_nothing_of_another_language_is_left_and_every_file_has_the_name(here: Path) -> None:
    assert main(["new", "ahuike", "--language", "ig"]) == 0
    files = [path.relative_to(here) for path in here.joinpath("recipes").rglob("*") if path.is_file()]
    assert len(files) == 7
    assert all("ahuike" in str(path) for path in files)
    forms = yaml.safe_load((here / "recipes/forms/ahuike.yaml").read_text("utf-8"))
    assert {value for value in forms.values() if isinstance(value, str)} == {"???"}
    assert not any(value for value in forms.values() if isinstance(value, list))
    verdicts = yaml.safe_load((here / "recipes/verdicts/ahuike.yaml").read_text("utf-8"))
    assert set(map(len, verdicts.values())) == {0}
    assert len(verdicts) == 10


def test_sentences_that_are_bundled_are_written_and_marked(here: Path) -> None:
    assert main(["new", "salud", "--language", "es-MX"]) == 0
    text = (here / "recipes/forms/salud.yaml").read_text("utf-8")
    assert "???" not in text.partition("verify:")[2]
    assert "verify: |- # check\n  Pregunta: {question}\n" in text
    assert 'open_mark: "¿" # check' in (here / "recipes/writing/salud.yaml").read_text("utf-8")


def test_a_name_that_files_of_sentences_have_is_taken(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The recipe `es` would bring a second forms/es.yaml, and nothing could be built."""
    assert main(["new", "es", "--language", "es", "--source", "q:multiple_choice=q.csv"]) == 2
    said = capsys.readouterr().err
    assert "files have this name already" in said
    assert "forms/es.yaml" in said
    assert not (here / "recipes").exists()


def test_a_language_without_facts_is_warned_of(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "x", "--language", "sah"]) == 0
    assert "warning: the bundled table does not say how this language is written" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["new", "x", "--language", "ig", "--also", "rules/en"], "a new recipe has no parts to copy"),
        (["new", "x", "--language", "ig", "--source", "q:multiple_choice=no.csv"], "there is no such file"),
        (["new", "x", "--language", "igbo"], "expected the tag of a language"),
    ],
)
def test_messages(words: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert not (here / "recipes").exists()


def test_copies_keep_letters_until_their_names_are_listed() -> None:
    text = "a:\n  casing:\n    default: lower\n    names: x.txt # those of medicine\n"
    text += "b: {casing: {default: lower}}\nc: {casing: null}\n"
    editor = YamlEditor(text)
    keep_casing(editor)
    data = yaml.safe_load(editor.edited_text())
    assert data["a"]["casing"] == {"default": "keep", "names": "x.txt"}
    assert data["b"]["casing"] == {"default": "keep"}
    assert data["c"]["casing"] is None
    assert "# those of medicine" in editor.edited_text()
    again = YamlEditor(editor.edited_text())
    keep_casing(again)
    assert again.edited_text() == editor.edited_text()


def test_the_table_of_languages() -> None:
    assert facts_of_language("zh-Hant-TW").quotes == "「」"
    assert facts_of_language("ur").direction == "rtl"
    assert facts_of_language("mr").digits == "०१२३४५६७८९"
    thai = facts_of_language("th")
    assert (thai.stop, thai.joiner, thai.unit) == ("", "", "characters")
    assert "ej" in facts_of_language("es").abbreviations


def test_verdict_words_are_read_and_hold_back_where_they_cannot_tell(tmp_path: Path) -> None:
    file = tmp_path / "es.yaml"
    file.write_text("says_yes: [sí]\nsays_no: [no]\nright: [es verdad]\nunsure: [quizás]\nanswer: [la respuesta es]\n")
    reader = VerdictReader([read_verdict_table(file)])
    asked = YesNoQuestion(question="¿Es correcta?")
    read = [reader.read(text, asked).verdict for text in ("Sí.", "La respuesta es no.", "Es verdad.", "Quizás sí.",
            "Eso no es verdad.", "El hígado.")]  # fmt: skip
    assert read == ["yes", "no", "yes", "", "", ""]
    file.write_text("says_yes: []\nsays_no: [no]\n")
    with pytest.raises(DataError, match="says_yes is empty: write how answers"):
        read_verdict_table(file)
