"""What the bundled recipe `clinic_zu` promises: safe rules only, honest about the rest, offline, accounts."""

from __future__ import annotations

import csv
import filecmp
from pathlib import Path
from typing import Any

import make_sample_votes as maker
import pytest
import regex
from bundled_builds import ENDS, evaluated, shared, warnings

from benchbuilder.config.load import load_recipe
from benchbuilder.core import registry
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.roles import Statement
from benchbuilder.core.records.row import Origin, ProducedBy, Span
from benchbuilder.core.text.patterns import find_all
from benchbuilder.evaluation.parsing.verdict_tables import read_verdict_table
from benchbuilder.evaluation.parsing.verdicts import VerdictReader, YesNoQuestion

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "recipes" / "recipe" / "clinic_zu" / "sample"


@pytest.fixture(scope="module")
def made(once, tmp_path_factory):
    return shared(once, "clinic_zu", tmp_path_factory.mktemp("zu"))


@pytest.mark.push
def test_check_is_clean():
    assert warnings("clinic_zu") == []
    assert warnings("clinic_zu", "annotation=app_zu") == []


@pytest.mark.push
def test_the_sample_has_the_shape_of_the_real_files():
    paths = sorted((SAMPLE / "african_mmlu").glob("*_zu.csv"))
    assert len(paths) == 3
    rows = [row for path in paths for row in csv.reader(path.read_text(encoding="utf-8").splitlines())]
    assert 30 <= len(rows) <= 60
    assert {len(row) for row in rows} == {6}
    assert {row[5] for row in rows} == set("ABCD")


def test_every_unit_ends_somewhere(made):
    assert made.ends("african_mmlu_zu") <= ENDS
    assert "item" in made.ends("african_mmlu_zu")


def test_nothing_of_the_recipe_needs_tools_for_the_language(made):
    recipe = made.loaded.recipe
    assert recipe.tokenizer.kind == "character_ngrams"
    assert recipe.paths["stop_words"] is None
    assert recipe.model.kind == "none"


def test_rules_put_answers_behind_a_colon_or_into_a_blank_and_leave_the_rest(made):
    facts = {row.id: row.payload for row in made.rows("facts_choice")}
    statements = made.rows("state_choice")
    assert len(statements) > 25
    for row in statements:
        question, answer = facts[row.fact].question, row.answer.slice_of(row.text)
        assert answer.lower() == facts[row.fact].answer.rstrip(".").lower()
        kept = row.text[: row.answer.start] + row.text[row.answer.end :]
        assert kept.replace(" ", "").rstrip(".") == regex.sub("_+", "", question).replace(" ", "").rstrip(".")
    assert set(made.reasons("state_choice")) == {"needs_model"}
    left = {facts[outcome["row"]].question for outcome in outcomes(made, "state_choice", "needs_model")}
    assert all(question.endswith("?") for question in left)
    assert not any(payload.question.endswith("?") for payload in facts.values() if payload.question not in left)


def outcomes(made, step, reason):
    return [outcome for outcome in made.store.outcomes(made.manifests[step]).to_pylist() if outcome["reason"] == reason]


@pytest.mark.push
@pytest.mark.parametrize(
    ("question", "check"),
    [
        ("Ukulahlekelwa ngamanzi akuveli:", "does_not"),
        ("Khetha impendulo eyodwa kokulandelayo:", "choose"),
        ("Thola indlela evamile yokuhlola:", "choose"),
        ("” Isiguli sichaza:", "closes"),
        ("Izinso zihluza:", None),
    ],
)
def test_what_begins_no_true_sentence_is_screened(question, check):
    spec = load_recipe(["recipe=clinic_zu"], cwd=Path("/nowhere"), environ={}).recipe.steps["screen_questions"]
    hit = [
        name
        for one in spec.checks.values()
        if one is not None and "question" in one.fields
        for name, wording in one.patterns.items()
        if wording is not None and any(find_all(pattern, question) for pattern in wording.find)
    ]
    assert hit == ([check] if check else [])


def test_no_rule_negates(made):
    assert made.rows("negate_choice") == []
    assert set(made.reasons("negate_choice")) == {"already_negative", "needs_model", "needs_rule"}
    assert all("one_negation_more" not in row.checks for row in made.rows("candidates"))


@pytest.mark.push
@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("Izinso azihluzi igazi.", True),
        ("Amaphaphu azihluzi: igazi.", False),  # another subject
        ("Amaphaphu zihluza: igazi.", False),
        ("Izinso zihluza: umoya.", False),
    ],
)
def test_a_model_negates_the_verb_and_changes_no_subject(text, taken):
    model = ["model=openai", "model.name=x"]
    steps = load_recipe(["recipe=clinic_zu", *model], cwd=Path("/nowhere"), environ={}).recipe.steps
    context = StepContext(seed=1, language="zu", step="s", cache=Path("cache"), workplace=Path("workplace"))
    true = Statement(
        id="statement-1", origin=Origin(file="a.csv", line=1), produced_by=ProducedBy(rule="model"), polarity="true",
        language="zu", partition="a",
        text="Izinso zihluza: igazi.", joined="template", answer=Span(start=16, end=21), fact="fact-1",
    )  # fmt: skip
    stage: Any = registry.find_kind("step", "negate").load()(steps["negate_choice"], context)
    stage.open({})
    assert isinstance(stage.judge(true, {}, text, ProducedBy(rule="model")), Statement) is taken


def test_questions_are_frames_around_whole_statements(made):
    for row in made.rows("candidates"):
        if row.type == "tf":
            assert row.question.startswith("Ingabe kuyiqiniso ukuthi ")
            assert row.expected in ("yes", "no")
        else:
            assert "…" in row.question
    several = [row for row in made.rows("ask_oe_choice") if "hlanganisa" in row.text]
    assert several == []  # more than one answer would complete it


def test_character_ngrams_find_the_paragraph(made):
    codes = maker.paragraph_codes(maker.SAMPLES["clinic_zu"])
    support = maker.supports(maker.SAMPLES["clinic_zu"])
    ranks = {}
    for row in made.rows("evidence"):
        place = f"{row.origin.file.split('/sample/')[1]}:{row.origin.line}"
        if codes[row.text] in support[place]:
            ranks.setdefault(row.of, row.rank)
    candidates = made.rows("candidates")
    assert len(ranks) >= 0.95 * len(candidates)
    assert sum(rank == 1 for rank in ranks.values()) >= 0.85 * len(candidates)


@pytest.mark.push
def test_speakers_are_asked_in_english_about_isizulu():
    judging = load_recipe(["recipe=clinic_zu"], cwd=Path("/nowhere"), environ={}).recipe.annotation
    assert "isiZulu" in judging.questions_about()["fluent"].text
    assert judging.min_evidence == 1


def test_the_votes_are_those_that_the_maker_makes(tmp_path):
    sample = maker.SAMPLES["clinic_zu"]
    maker.write(sample, tmp_path)
    names = ["a.csv", "b.csv", "meta.csv"]
    assert filecmp.cmpfiles(tmp_path, sample.folder / "votes", names, shallow=False) == (names, [], [])


def test_votes_decide_and_the_evaluation_runs_with_the_baselines(made, tmp_path):
    items = made.rows("items")
    assert items
    assert all(item.reviewed for item in items)
    evaluation = evaluated(made, tmp_path)
    agree = [row.value for row in evaluation.rows("verdict.always_agree")]
    disagree = [row.value for row in evaluation.rows("verdict.always_disagree")]
    assert [a + b for a, b in zip(agree, disagree, strict=True)] == [1.0] * len(agree)


@pytest.mark.push
def test_a_model_is_asked_in_english_about_isizulu_text():
    recipe = load_recipe(["recipe=clinic_zu"], cwd=Path("/nowhere"), environ={}).recipe
    for step in ("state_choice", "negate_choice", "ask_tf_choice", "ask_oe_choice"):
        text = recipe.steps[step].prompt.file.read_text(encoding="utf-8")
        assert "in isiZulu" in text
        assert "Rules:" in text


@pytest.fixture(scope="module")
def reader():
    return VerdictReader([read_verdict_table(ROOT / "recipes" / "verdicts" / f"{name}.yaml") for name in ("zu", "en")])


@pytest.mark.push
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Yebo.", "yes"),
        ("Cha.", "no"),
        ("Yebo, kuyiqiniso.", "yes"),
        ("Cha, akulona iqiniso.", "no"),
        ("Akulona iqiniso ukuthi izinso zihluza umoya.", "no"),
        ("Impendulo ithi: cha.", "no"),
        ("Yebo noma cha.", ""),
        ("Angazi.", ""),
        ("Izinso zingaphansi kwezimbambo.", ""),
    ],
)
def test_verdicts_in_isizulu(reader, answer, verdict):
    assert read(reader, answer) == verdict


def read(reader, answer):
    found = reader.read(answer, YesNoQuestion(question="Ingabe kuyiqiniso ukuthi izinso zihluza umoya?"))
    return found.verdict or ""
