"""`check` says what relations of a graph look like that the recipe does not list, and where it contradicts the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbuilder.cli.dispatch import main
from benchbuilder.sources.triples import Triples

EFFECTS = ("nausea", "rash", "cough")


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe `mykg` that lists nothing, for a graph with two relations."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    rows = [f"drug {n}\t{relation}\t{effect}" for n in range(12) for relation, effect in
            (("side effect", EFFECTS[n % 3]), ("side effect", EFFECTS[n % 2]), ("maker", f"firm {n % 4}"))]  # fmt: skip
    (tmp_path / "kg.tsv").write_text("head\trelation\ttail\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert main(["new", "mykg", "--source", "kg:triples=kg.tsv"]) == 0
    return tmp_path


@pytest.mark.push
def test_relations_that_no_list_has_are_told_with_examples_and_a_line(
    graph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = graph / "recipes/recipe/mykg.yaml"
    text = file.read_text(encoding="utf-8")
    assert 'open: ["side effect"] # check' in text
    file.write_text(text.replace('open: ["side effect"]', "open: []"), encoding="utf-8")
    capsys.readouterr()
    assert main(["check", "recipe=mykg"]) == 0
    said = capsys.readouterr().out
    assert "kg, relations that the recipe does not list, as they look:\n" in said
    assert "  open; if that is so, write steps.swap_triple.relations.open: [side effect]\n    side effect (" in said
    assert "drug 0 → nausea; drug 1 → rash; drug 2 → cough)" in said
    assert "  checkable: their facts exchange answers\n    maker (12 triples, 4 answers of 12 concepts: " in said
    assert (
        "what a build would make of 32 facts, drawn from 32 triples as they are read, whatever their topic:\n" in said
    )
    assert "  swap_triple: " in said
    assert "  ask_set_triple: " in said
    assert main(["check", "recipe=mykg", "steps.swap_triple.relations.checkable=[maker]"]) == 0
    assert "does not list" not in capsys.readouterr().out
    assert main(["recipe=mykg"]) == 3
    built = capsys.readouterr().out
    for step in ("swap_triple: ", "ask_set_triple: "):  # a build of all triples makes what was said
        told, made = (
            {line.strip() for line in text.splitlines() if line.strip().startswith(step)} for text in (said, built)
        )
        assert made & told == made


@pytest.mark.push
def test_a_functional_relation_with_several_ends_is_a_warning(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["check", "recipe=mykg", 'steps.swap_triple.relations.functional=["side effect",maker]']) == 0
    said = capsys.readouterr().out
    assert (
        "warning: steps.swap_triple.relations.functional: 1 relation of kg should have one right end a concept" in said
    )
    assert "side effect (" in said.partition("warning: ")[2]
    assert "maker" not in said.partition("warning: ")[2].partition("hint")[0].partition("found")[2]


@pytest.mark.push
def test_a_relation_in_two_lists_and_one_that_is_misspelt_are_warnings(
    graph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lists = "steps.swap_triple.relations={open: [side effect], functional: [side effect], ranges: [mass]}"
    assert main(["check", "recipe=mykg", lists]) == 0
    said = capsys.readouterr().out
    assert "relations are listed as functional and as open" in said
    assert "no row that was read has this relation" in said, "the command line is about this graph"
    assert "found:   mass\n    hint:    there are " in said
    assert main(["check", "recipe=mykg", "steps.swap_triple.relations.open=[side efect]"]) == 0
    assert "found:   side efect\n    hint:    did you mean 'side effect'?" in capsys.readouterr().out


@pytest.mark.push
def test_a_source_that_must_be_read_whole_is_not_read_for_an_estimate(
    graph: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Triples, "first_rows", lambda *_: [])
    monkeypatch.setattr(Triples, "read_batches", lambda *_: pytest.fail("it was read"))
    capsys.readouterr()
    assert main(["check", "recipe=mykg"]) == 0
    assert "what a build would make" not in capsys.readouterr().out
