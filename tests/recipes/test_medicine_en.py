"""The bundled recipe `medicine_en`: it checks clean, builds and is evaluated offline, and its accounts balance."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from once import Once

from benchbuilder.cli.dispatch import main
from benchbuilder.config.load import load_recipe
from benchbuilder.pipeline.check import check_recipe

SAMPLE = Path(__file__).parents[2] / "recipes" / "recipe" / "medicine_en" / "sample"
RULES = Path(__file__).parents[2] / "recipes" / "rules" / "en"


@pytest.fixture(scope="module")
def built(once: Once, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once.copied(("recipe=medicine_en",), tmp_path_factory.mktemp("medicine_en")) / "builds" / "medicine_en"


@pytest.fixture(scope="module")
def items(built: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (built / "items.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.push
def test_nothing_in_the_recipe_is_worth_a_warning():
    assert list(check_recipe(load_recipe(["recipe=medicine_en"], cwd=Path("/nowhere"), environ={}))) == []


@pytest.mark.push
def test_the_sample_has_cases_stems_and_triples():
    assert len((SAMPLE / "medqa_us.jsonl").read_text("utf-8").splitlines()) >= 30
    stems = [row for path in SAMPLE.glob("mmlu/*.csv") for row in csv.reader(path.read_text("utf-8").splitlines())]
    assert len(stems) >= 40
    assert {len(row) for row in stems} == {6}
    assert len((SAMPLE / "relations.tsv").read_text("utf-8").splitlines()) > 30


def test_most_questions_become_items(items):
    assert len(items) >= 120
    sources = Counter((item["source"], item["q-type"]) for item in items)
    assert all(sources[source, "TF"] >= 20 for source in ("medqa_us", "mmlu_csv", "relation_table"))
    assert all(sources[source, "OE"] >= 15 for source in ("medqa_us", "mmlu_csv"))


def test_always_yes_is_right_on_about_half(items):
    expected = Counter(item["expected"] for item in items if item["q-type"] == "TF")
    assert 0.45 <= expected["yes"] / expected.total() <= 0.55


def test_sentences_are_apart_and_written_as_english_is(items):
    for item in items:
        text = item["full-question"]
        assert "  " not in text
        assert not any(mark + letter in text for mark in "?!" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), text
        for side in ("answer", "answer-wrong"):
            assert item[side][0].isupper()
            assert item[side].endswith(".")
            assert "which of the following" not in item[side].casefold()
        if item["context"]:
            assert text == item["context"].rstrip() + " " + item["question"]


def test_every_fate_is_told_and_nothing_vanishes(built):
    with (built / "ledger.tsv").open(encoding="utf-8") as lines:
        outcomes = Counter((row["step"], row["reason"]) for row in csv.DictReader(lines, delimiter="\t"))
    for step, reason in (
        ("medqa_us", "no_answer_key"),
        ("relation_table", "head_equals_tail"),
        ("unique", "duplicate"),
        ("screen_options", "all_or_none"),
        ("screen_questions", "negative"),
        ("screen_questions", "meta"),
        ("screen_questions", "picture"),
        ("screen_questions", "answer_too_long"),
        ("choices_on_topic", "off_topic"),
        ("triples_on_topic", "off_topic"),
        ("state_choice", "needs_model"),
        ("replace_choice", "implied_by_true"),
    ):
        assert outcomes[step, reason], (step, reason)


def test_the_baselines_answer_and_are_scored(built):
    assert main(["evaluate", "recipe=medicine_en", f"run.dir={built}"]) == 0
    scores = json.loads((built / "evaluation" / "results.json").read_text("utf-8"))
    assert "always_agree" in json.dumps(scores)
    with (built / "evaluation" / "results_scores.csv").open(encoding="utf-8-sig") as lines:
        rows = [row for row in csv.DictReader(lines) if row["scorer"] == "verdict"]
    right = Counter(row["model"] for row in rows if float(row["value"] or 0) == 1.0)
    of = Counter(row["model"] for row in rows)
    assert right["always_agree"] + right["always_disagree"] == of["always_agree"]
    assert right["echo"] == 0  # a question repeated is no verdict


@pytest.mark.push
@pytest.mark.parametrize(
    ("table", "columns"), [("verbs.tsv", 5), ("nouns.tsv", 2)]
)  # fmt: skip
def test_tables_of_word_forms_hold_each_word_once(table, columns):
    lines = [line for line in (RULES / table).read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines]
    assert all(len(row) == columns and all(row) for row in rows)
    assert len({row[0] for row in rows}) == len(rows)
    assert [row[0] for row in rows[1:]] == sorted(row[0] for row in rows[1:])
