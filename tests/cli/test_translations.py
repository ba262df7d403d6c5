"""``benchbuild translations``: write the table, fill it, check it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import translating_service

from benchbuilder.cli.dispatch import main
from benchbuilder.testing import fake_openai_server

pytestmark = pytest.mark.push

RECIPE = ["recipe=medicine_parallel", "variant=es"]
SAMPLE = Path(__file__).parents[2] / "recipes" / "recipe" / "medicine_parallel" / "es.tsv"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_the_table_is_written_and_keeps_what_is_translated(tmp_path, capsys):
    table = tmp_path / "es.tsv"
    text = SAMPLE.read_text("utf-8").replace("Ácido ascórbico.", "Carbonato de calcio.")
    table.write_text(text + "gone\tquestion\tOld?\t¿Viejo?\tana\t\t\n", "utf-8")
    assert main(["translations", "write", *RECIPE, f"file={table}"]) == 0
    said = capsys.readouterr().out
    lines = cells(table)
    assert "46 facts" in said
    assert f"{sum(not line['translation'] for line in lines)} to translate" in said
    assert len([line for line in lines if line["translation"]]) == 101
    assert lines[-1]["id"] == "gone"
    assert [line["part"] for line in lines if line["fault"]] == ["option.2"]
    before = table.read_bytes()
    assert main(["translations", "write", *RECIPE, f"file={table}"]) == 0
    assert table.read_bytes() == before


def test_a_table_without_faults_passes(capsys):
    assert main(["translations", "check", *RECIPE]) == 0
    said = capsys.readouterr().out
    assert "20 facts: 20 pass" in said
    assert "too few to learn" in said
    assert "not looked at: translation back" in said


def test_faults_are_named_with_their_lines_and_end_with_1(tmp_path, capsys):
    table = tmp_path / "es.tsv"
    lines = SAMPLE.read_text("utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if "4,5 horas" in line)
    lines[at] = lines[at].replace("4,5", "45")
    table.write_text("\n".join(lines) + "\n", "utf-8")
    assert main(["translations", "check", *RECIPE, f"file={table}"]) == 1
    said = capsys.readouterr().out
    assert f"{table}:{at + 1}  option.4  numbers: lost 4.5; new 45" in said
    assert "19 pass, 1 wait for a person" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["write", "recipe=exam_any", "file=a.tsv"], "no step of this recipe translates facts"),
        (["write", *RECIPE], "no table is named"),
        (["check", *RECIPE, "paths.translations=null"], "no table is named"),
    ],
)
def test_what_is_missing_is_said(words, message, capsys):
    assert main(["translations", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_model_drafts_what_people_then_correct(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    by_model = ["recipe=medicine_parallel", "variant=es_by_model", "model=openai", "model.name=drafter"]
    table = tmp_path / "drafted.tsv"
    with fake_openai_server({"plugin": translating_service.__file__}) as server:
        words = [*by_model, "model.prices=null", f"model.base_url={server.base_url}"]
        assert main(words) == 0
        asked = server.log()
        assert len(asked) == 2 * 46
        assert main(words) == 0
        assert main(["translations", "write", *words, f"file={table}"]) == 0
        assert len(server.log()) == len(asked)
        assert "46 facts" in capsys.readouterr().out
        lines = cells(table)
        assert {line["author"] for line in lines} == {"model:drafter"}
        assert all(line["back"] for line in lines)
        [wrong] = [line for line in lines if "45 horas" in line["translation"]]
        assert "new 45" in wrong["fault"]
        assert main(["translations", "check", *by_model, f"file={table}"]) == 1
        assert "46 facts: 23 pass, 23 wait" in capsys.readouterr().out
        table.write_text(table.read_text("utf-8").replace("45 horas", "4,5 horas"), "utf-8")
        own = ["recipe=medicine_parallel", "variant=es", f"paths.translations={table}", "run.dir=builds/own"]
        assert main(own) == 0
        assert "translate no_translation" not in capsys.readouterr().out
        assert main(["translations", "check", *own]) == 1
        assert "46 facts: 24 pass, 22 wait" in capsys.readouterr().out
        assert len(server.log()) == len(asked)
