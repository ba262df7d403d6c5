"""``benchbuild audit``: of a build, and of a benchmark from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchbuilder.cli.dispatch import main

FEW = ["audit.permutations=99", "~audit.views.all", "audit.scopes=[all]"]
CLOSED = "error: the audit closes the gate: "


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def benchmark(folder: Path, *, leaks: bool) -> Path:
    """A file of questions, whose verdict is known from a negation or from nothing."""
    lines = ["q-type\tsource\tfull-question\tanswer\tanswer-wrong\texpected"]
    for number in range(60):
        yes = (number // 2 + number) % 2 == 0
        right, wrong = ("给", "停") if number % 2 else ("停", "给")
        negation = "不" if leaks and not yes else ""
        lines.append(
            f"TF\tnotes\t第{number}种药{negation}能吃吗？\t{right}{number}\t{wrong}{number}\t{'yes' if yes else 'no'}"
        )
    path = folder / "items.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def audit(*words: str) -> int:
    return main(["audit", "recipe=care_mi", "run.dir=build", *FEW, *words])


@pytest.mark.full
def test_a_benchmark_from_elsewhere_is_audited(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = benchmark(here, leaks=True)
    assert audit("--benchmark", str(file)) == 6
    said = capsys.readouterr()
    assert "leaks: all items: the verdict can be guessed from ending: 100.0 % [100.0, 100.0] of 60" in said.out
    assert "Others that leak: negation, cue words, all words, length." in said.out
    assert "not applicable: relation, concept words, " in said.out
    assert "no item is made from a triple." in said.out
    assert said.err.startswith(CLOSED)
    assert all(len(line) <= 80 for line in said.out.split("leaks: ")[0].splitlines())
    (folder,) = (here / "build").iterdir()
    assert folder.name.startswith("audit-items-")
    data = json.loads((folder / "audit.json").read_text("utf-8"))
    assert (data["schema"], data["closed"], data["items"]) == (1, True, 60)
    assert {path.name for path in (folder / "tables").iterdir()} == {"checks.csv", "words.csv"}
    pages = [(folder / name).read_text("utf-8") for name in ("audit.html", "audit.zh.html")]
    assert not any("<script" in page for page in pages)
    assert ["gate is closed" in page for page in pages] == [True, False]
    assert ["闸门关闭" in page for page in pages] == [False, True]
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert audit("--benchmark", str(file)) == 6
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.push
def test_a_sound_benchmark_passes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit("--benchmark", str(benchmark(here, leaks=False))) == 0
    assert "audit: 0 of " in capsys.readouterr().out


@pytest.mark.push
def test_contradictions_close_the_gate_and_corpora_are_searched(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = benchmark(here, leaks=False)
    question = "妊娠期高血压疾病患者预防子痫发作首选的药物是什么？"
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(f"OE\tnotes\t{question}\t{right}\t{wrong}\t\n" for right, wrong in ("硫镁", "镁硫"))
    (here / "exam.txt").write_text(f"题库：{question}硫\n", encoding="utf-8")
    assert audit("--benchmark", str(file), "--against", "exam.txt") == 6
    said = capsys.readouterr()
    assert "note: pairs of items: 1 contradiction; see duplicates.csv" in said.out
    assert "note: questions of items: 2 copied (coverage 0.8 or more); see matches.csv" in said.out
    assert said.err.startswith(f"{CLOSED}1 pair of items contradict each other")
    (folder,) = (here / "build").iterdir()
    assert len((folder / "duplicates.csv").read_text("utf-8").splitlines()) == 2
    assert len((folder / "matches.csv").read_text("utf-8").splitlines()) == 3
    assert audit("--benchmark", str(file), "--against", "gone.txt") == 3


@pytest.mark.push
def test_an_allowed_leak_needs_a_reason(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    local = here / "recipes" / "local" / "default.yaml"
    local.parent.mkdir(parents=True)
    local.write_text("# @package _global_\naudit:\n  allow:\n    - {view: length, scope: all, why: ' '}\n", "utf-8")
    assert audit("--benchmark", str(benchmark(here, leaks=True))) == 2
    said = capsys.readouterr().err
    assert "audit.allow[0].why" in said
    assert "default.yaml:4" in said


@pytest.mark.push
def test_before_a_build_there_is_nothing_to_audit(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit() == 3
    said = capsys.readouterr().err
    assert "there is nothing to audit: build is not built yet" in said
    assert "build the benchmark first (the same command without `audit`), or give --benchmark FILE" in said


@pytest.mark.full
def test_a_build_ends_with_its_audit_and_keeps_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["recipe=care_mi", "annotation=none", "run.dir=build", "source=[cpubmed,textbook]", *FEW]
    assert main([*small, "audit.gate=none"]) == 0
    assert "audit:" not in capsys.readouterr().out
    assert main(small) == 0
    said = capsys.readouterr().out
    assert "audit: " in said
    assert "Guessing without knowledge" in (here / "build" / "tables" / "audit.md").read_text("utf-8")
    assert 'id="audit"' in (here / "build" / "report.html").read_text("utf-8")
    kept = (here / "build" / "store" / "audits" / "benchmark.json").stat().st_mtime_ns
    code = main(["audit", *small])
    assert (here / "build" / "store" / "audits" / "benchmark.json").stat().st_mtime_ns == kept
    data = json.loads((here / "build" / "audit" / "audit.json").read_text("utf-8"))
    assert code == (6 if data["closed"] else 0)
    views = {check["view"] for check in data["checks"]}
    assert {"relation", "popularity", "shared_letters", "answer_identity", "relatedness"} <= views
    assert dict(data["skipped"])["letter"] == "no_options"


@pytest.mark.full
def test_a_closed_gate_ends_a_build_with_its_own_code(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The former design of triples: the form tells the verdict."""
    small = [
        "recipe=care_mi",
        "variant=negated",
        "run.dir=build",
        "source=[cpubmed,medqa,textbook]",
        *FEW,
        "audit.gate=build",
    ]
    assert main(small) == 6
    said = capsys.readouterr()
    assert "items in build" in said.out
    assert "checks leak, and" in said.out
    assert "the audit closes the gate of the benchmark" in said.err
    assert main(["audit", *small]) == 6
    said = capsys.readouterr()
    assert "the verdict can be guessed from" in said.out
    assert "negation" in said.out
    assert "ending" in said.out
    assert (here / "build" / "items.jsonl").exists()
