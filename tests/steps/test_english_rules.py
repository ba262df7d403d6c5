"""The English rules: questions with answers, and the statements, negations and open questions made from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claim_rows import choice, kept, reason

from benchbuilder.config.load import load_recipe
from benchbuilder.core import registry
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.outcomes import Dropped, Kept

TABLE = Path(__file__).with_name("english_rules.tsv")
ROWS = [line.split("\t") for line in TABLE.read_text("utf-8").splitlines() if line and not line.startswith("#")]
STATED = [row for row in ROWS if len(row) == 5]
LEFT = [row for row in ROWS if len(row) == 2]


@pytest.fixture(scope="module")
def stages() -> dict[str, Any]:
    recipe = load_recipe(
        ["recipe=medicine_en", "steps.ask_tf_choice.polarity=true_only"], cwd=Path("/nowhere"), environ={}
    ).recipe
    made: dict[str, Any] = {}
    for step in ("state_choice", "negate_choice", "replace_choice", "ask_tf_choice", "ask_oe_choice"):
        spec = recipe.steps[step]
        context = StepContext(seed=1, language="en", step=step, cache=Path("cache"), workplace=Path("workplace"))
        made[step] = registry.find_kind("step", spec.kind).load()(spec, context)
        made[step].open({})
    return made


def state(stages: dict[str, Any], question: str, answer: str, *wrong: str) -> Any:
    return kept(stages["state_choice"].map(choice(question, answer, *wrong), {}))


def text_of(outcomes: Any) -> str:
    """The text of the row that was kept, or a dash."""
    (outcome,) = outcomes
    return outcome.row.text if isinstance(outcome, Kept) else "-"


def test_there_are_enough_pairs():
    assert len(STATED) >= 85
    assert len(LEFT) >= 25
    assert len({tuple(row[:2]) for row in ROWS}) == len(ROWS)


@pytest.mark.push
@pytest.mark.parametrize(("question", "answer", "statement", "negation", "asked"), STATED)
def test_question_and_answer_become_a_statement(stages, question, answer, statement, negation, asked):
    row = state(stages, question, answer)
    assert row.text == statement
    assert row.answer.slice_of(row.text).casefold() == answer.strip(". ").casefold()
    assert text_of(stages["negate_choice"].map(row, {})) == negation
    assert text_of(stages["ask_oe_choice"].map(row, {})) == asked


@pytest.mark.push
@pytest.mark.parametrize(("question", "answer"), LEFT)
def test_what_no_rule_says_in_good_english_is_left_to_a_model(stages, question, answer):
    assert reason(stages["state_choice"].map(choice(question, answer), {})) == "needs_model"


@pytest.mark.push
@pytest.mark.parametrize(
    ("question", "answer", "wrong", "expected"),
    [
        ("Which of these is the most likely diagnosis?", "Gout", "Sepsis", "The most likely diagnosis is sepsis."),
        ("What is the best next step?", "Order a CT scan", "Start aspirin", "The best next step is to start aspirin."),
        ("Which of the following can cause ulcers?", "Ibuprofen", "HIV drugs", "-"),  # one thing, and several
        ("What is the best next step?", "Order a CT scan", "Chest radiograph", "-"),  # what to do, and a thing
        ("What is the next step?", "X-ray of the hand", "Ultrasound of it", "The next step is an ultrasound of it."),
        ("The pulse should be below:", "100 beats", "120 beats", "-"),  # what is below 100 is below 120, too
        (
            "The drug inhibits which of the following enzymes?",
            "Lipase",
            "HIV protease",
            "The drug inhibits HIV protease.",
        ),
        ("_____ causes syphilis.", "Treponema pallidum", "influenza virus", "Influenza virus causes syphilis."),
    ],
)
def test_a_wrong_option_stands_only_where_it_fits(stages, question, answer, wrong, expected):
    fact = choice(question, answer, wrong)
    row = kept(stages["state_choice"].map(fact, {}))
    assert text_of(stages["replace_choice"].map(row, {"fact": fact})) == expected


@pytest.mark.push
def test_an_option_of_another_shape_is_named_as_the_reason(stages):
    fact = choice("Which of the following can cause ulcers?", "Ibuprofen", "Spicy dishes")
    row = kept(stages["state_choice"].map(fact, {}))
    (outcome,) = stages["replace_choice"].map(row, {"fact": fact})
    assert isinstance(outcome, Dropped)
    assert outcome.reason == "other_shape"


@pytest.mark.push
@pytest.mark.parametrize(
    ("question", "answer", "asked"),
    [
        ("Which of these is the most likely diagnosis?", "Gout", "Is it true that the most likely diagnosis is gout?"),
        ("Which of the following can cause ulcers?", "Ibuprofen", "Is it true that ibuprofen can cause ulcers?"),
        ("_____ causes syphilis.", "Treponema pallidum", "Is it true that Treponema pallidum causes syphilis?"),
        (
            "Which of the following is secreted by these cells?",
            "IgA",
            "Is it true that IgA is secreted by these cells?",
        ),
        ("If so, which of these is the diagnosis?", "Gout", "Is it true that if so, the diagnosis is gout?"),
    ],
)
def test_a_statement_begins_small_inside_a_question(stages, question, answer, asked):
    row = state(stages, question, answer)
    assert text_of(stages["ask_tf_choice"].map(row, {})) == asked


@pytest.mark.push
def test_what_is_negative_already_is_not_negated_again(stages):
    row = state(stages, "Which of the following is the best next step?", "Diet with no salt")
    assert reason(stages["negate_choice"].map(row, {})) == "already_negative"


@pytest.mark.push
def test_a_statement_carries_the_case_that_stood_before_it(stages):
    fact = choice("Which of the following is the most likely diagnosis?", "Gout", context="A man has a painful toe. ")
    row = kept(stages["state_choice"].map(fact, {}))
    assert (row.context, row.joined) == ("A man has a painful toe. ", "template")
    assert row.produced_by.rule.endswith("/named")
    assert kept(stages["ask_oe_choice"].map(row, {})).context == row.context


@pytest.mark.push
@pytest.mark.parametrize(
    ("question", "answer", "detail"),
    [
        ("The best source of iodine among these foods is:", "Seaweed", "statement refused (speaks_of_options):"),
        ("A important part of the diet is:", "Fibre", "statement refused (wrong_article): A important"),
        ("Prosthetic teeth are:", "A and B", "answer refused (options_by_letter): A and B"),
        ("Which of the following inhibits the absorption of iron?", "Tannins in tea",
         "no frame fits (`does` fits the question, not the answer 'Tannins in tea'): Which"),
        ("Bananas.", "Yes it is", "no frame fits (`stem_only` fits the question, not the answer 'Yes it is'): Bananas"),
    ],
)  # fmt: skip
def test_the_ledger_says_by_name_why_no_rule_does_it(stages, question, answer, detail):
    (outcome,) = stages["state_choice"].map(choice(question, answer), {})
    assert outcome.detail.startswith(detail)
