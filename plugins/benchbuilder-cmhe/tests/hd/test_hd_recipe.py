"""Detection of hallucination from the bundled dialogues to scored answers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchbuilder.cli.dispatch import main
from benchbuilder.config import load_recipe
from benchbuilder.evaluation.parsing.verdicts import YesNoQuestion, verdict_reader

import benchbuilder_cmhe

WORDS = ["recipe=cmhe"]
NAMES = ("always_yes", "always_no", "random")


def items(built: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (built / "hd" / "items.jsonl").read_text("utf-8").splitlines()]


def test_the_sample_becomes_three_partitions(built: Path) -> None:
    rows = items(built)
    assert Counter(row["source"] for row in rows) == {"correct": 44, "tampered": 44, "generated": 6}
    assert {row["source"]: row["expected"] for row in rows} == {"correct": "no", "tampered": "yes", "generated": "yes"}
    assert {row["source"]: row["reviewed"] for row in rows} == dict.fromkeys(("correct", "tampered", "generated"), True)
    for row in rows:
        assert bool(row["changes"]) == (row["source"] == "tampered")
        for change in row["changes"]:
            assert change["after"] in row["answer"]


def test_a_family_makes_two_true_and_two_untrue_answers_of_the_same_letters(built: Path) -> None:
    families: dict[str, list[dict[str, Any]]] = {}
    for row in items(built):
        families.setdefault(row["family"], []).append(row)
    sizes = Counter(len(rows) for rows in families.values())
    assert sizes == {4: 22, 1: 6}, "a generated answer is its own family"
    for family, rows in families.items():
        by_verdict = {
            verdict: Counter("".join(row["answer"] for row in rows if row["expected"] == verdict))
            for verdict in ("yes", "no")
        }
        if len(rows) == 4:
            assert by_verdict["yes"] == by_verdict["no"], family
            assert {row["fact"] for row in rows} == set(family.split("+")) == {row["partner"] for row in rows}


def test_personal_data_is_left_out_and_not_told(built: Path) -> None:
    ledger = (built / "ledger.tsv").read_text("utf-8")
    assert "personal_data" in ledger
    assert "mobile_number" in ledger
    everything = ledger + (built / "hd" / "items.jsonl").read_text("utf-8")
    for private in ("13800001234", "王小明"):
        assert private not in everything


def test_people_dropped_what_is_not_wrong_and_kept_the_least_reasonable(built: Path) -> None:
    ledger = (built / "ledger.tsv").read_text("utf-8").splitlines()
    outcomes = Counter(
        (line.split("\t")[0], line.split("\t")[2])
        for line in ledger
        if line.startswith(("hd_confirm", "hd_whole", "hd_rate"))
    )
    assert outcomes["hd_confirm", "disagrees"] == 1
    assert outcomes["hd_confirm", "not_readable"] == 1
    assert outcomes["hd_whole", "family_incomplete"] == 6
    assert outcomes["hd_rate", "not_chosen"] == 4
    kept = [row["answer"] for row in items(built) if row["source"] == "generated"]
    assert not [answer for answer in kept if answer.startswith(("您好，甘油三酯", "肺结节多数", "偏头痛发作时"))]


def test_without_votes_everything_is_there_and_unreviewed(own_build: Path) -> None:
    assert main([*WORDS, "annotation=none"]) == 0
    rows = items(own_build / "builds" / "cmhe")
    assert Counter(row["source"] for row in rows) == {"correct": 48, "tampered": 48, "generated": 10}
    assert not any(row["reviewed"] for row in rows)


def test_the_published_way_is_there_with_a_model_of_its_own(own_build: Path, capsys: Any) -> None:
    words = ["check", *WORDS, "variant=reference"]
    assert main(words) != 0
    assert "the strategy `model` needs a model" in capsys.readouterr().err
    card = load_recipe([*WORDS, "variant=reference"]).recipe.card
    assert not any("exchange" in text for text in (*card.limitations, *card.deviations)), "nothing is exchanged there"
    model = "steps.hd_altered.model"
    assert main([*words, f"model@{model}=openai", f"{model}.name=x", f"{model}.base_url=http://127.0.0.1:9/v1"]) == 0


def test_the_prompts_of_all_tasks_are_listed(own_build: Path, capsys: Any) -> None:
    assert main(["prompt", "ls", *WORDS]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["zh/cmhe_hd.j2", "tasks.hd.evaluation", "prompt"] in lines
    assert ["zh/cmhe_dd_extract.j2", "tasks.dd.evaluation.scorers.icd10", "prompt"] in lines
    assert main(["prompt", "show", "cmhe_hd", *WORDS]) == 2
    said = capsys.readouterr().err
    assert "zh/cmhe_hd.j2 is put to no row of a step" in said
    assert "benchbuild show tasks.hd.evaluation.prompt names the file" in said


def test_the_audit_finds_no_leak_and_no_contradiction(own_build: Path, capsys: Any) -> None:
    """Its text is the question with the answer: equal questions with two answers contradict nothing."""
    assert main(["audit", *WORDS, "--task", "hd"]) == 0, capsys.readouterr().err
    folder = own_build / "builds" / "cmhe" / "hd" / "audit"
    assert len((folder / "duplicates.csv").read_text("utf-8").splitlines()) == 1
    checks = {check["view"]: check for check in json.loads((folder / "audit.json").read_text("utf-8"))["checks"]}
    assert {name for name, check in checks.items() if check["word"] == "leaks"} == {"source"}
    assert not checks["source"]["gates"]
    assert {"negation", "question_words", "all"} <= checks.keys()


def test_baselines_are_scored_by_partition(built: Path, capsys: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(built.parents[1])
        assert main(["evaluate", *WORDS, "--task", "hd"]) == 0, capsys.readouterr().err
    table = json.loads((built / "hd" / "evaluation" / "results.json").read_text("utf-8"))
    told = json.dumps(table, ensure_ascii=False)
    assert "always_yes" in told
    assert "Baichuan" in told
    scores = (built / "hd" / "evaluation" / "results_scores.csv").read_text("utf-8-sig").splitlines()
    right = Counter(next(name for name in NAMES if name in line) for line in scores[1:] if ",right" in line)
    assert right["always_yes"] == 50
    assert right["always_no"] == 44
    assert 0 < right["random"] < 98


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("是", "yes"), ("是的，回答里药名有误。", "yes"), ("该回答存在不实信息。", "yes"),
        ("这个回答是错误的。", "yes"),
        ("否", "no"), ("否，医生的回答正确。", "no"), ("没有发现明显的错误。", "no"), ("不包含误导性信息。", "no"),
        ("该回答符合医学常识。", "no"), ("Yes", "yes"), ("我不确定。", ""), ("患者应多休息。", ""),
    ],
)  # fmt: skip
def test_verdicts_speak_of_the_answer_not_of_a_claim(text: str, verdict: str) -> None:
    table = Path(benchbuilder_cmhe.__file__).parent / "recipes" / "verdicts" / "cmhe_hd_zh.yaml"
    assert verdict_reader([table]).read(text, YesNoQuestion()).verdict == verdict
