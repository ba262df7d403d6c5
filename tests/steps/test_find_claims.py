"""English guidelines: which sentences are claims by rule, and what makes them false; no false claim may be true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claim_rows import make

from benchbuilder.config.load import load_recipe
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept
from benchbuilder.core.records.payloads import Fact, LabelledClaim
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy

STEPS = load_recipe(["recipe=guideline_en"], cwd=Path("/nowhere"), environ={}).recipe.steps


def passage(text: str, title: str) -> Passage:
    return Passage.build(base="g", document="Guide", title=title, text=text, origin=Origin(file="g.jsonl", line=1),
                         produced_by=ProducedBy(rule="test"), language="en", partition="g")  # fmt: skip


def step(name: str, **lookups: Any) -> Any:
    made = make(STEPS[name].kind, STEPS[name].model_dump(mode="json", exclude={"from_", "model"}))
    made.open(lookups)
    return made


def found(text: str, title: str = "Guide > Storage") -> list[Any]:
    return list(step("find_claims").map(passage(text, title), {}))


def claims_of(text: str, title: str = "Guide > Storage") -> list[Any]:
    return [outcome.row for outcome in found(text, title) if isinstance(outcome, Kept)]


def false_ones(*texts: str, title: str = "Guide > Storage") -> dict[str, str]:
    """The false claim of each claim in these paragraphs of one document; what a rule refuses is empty."""
    rows = [row for text in texts for row in claims_of(text, title)]
    lookups = {"claims": Table.of(rows, Fact[LabelledClaim]),
               "passages": Table.of([passage(text, title) for text in texts], Passage)}  # fmt: skip
    falsify = step("false_claims", **lookups)
    outcomes = {row.payload.text: next(iter(falsify.map(row, {}))) for row in rows}
    return {text: outcome.row.payload.text if isinstance(outcome, Kept) else "" for text, outcome in outcomes.items()}


def number(text: str) -> float:
    return float(next(word for word in text.replace("%", " ").split() if word[0].isdigit()).replace(",", ""))


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("Term: Guard | Meaning: a cover over moving parts", "‘Guard’ means a cover over moving parts."),
        ("Detergent means a substance that loosens grease.", "‘Detergent’ means a substance that loosens grease."),
        ("A vice is a tool that holds a workpiece.", "A vice is a tool that holds a workpiece."),
        ("Term: Guard | Meaning: A cover over moving parts", "‘Guard’ means a cover over moving parts."),
        ("Term: Trap | Meaning: DNA kept in cold", "‘Trap’ means DNA kept in cold."),
        ("Term: Cart | Meaning: Baker carts and others", "‘Cart’ means Baker carts and others."),
        (
            "Food: Fish | Core temperature: 63 °C",
            "For the food ‘Fish’, the table gives the core temperature as ‘63 °C’.",
        ),
        ("Agent: Ether | pH at start: 7", "For the agent ‘Ether’, the table gives the pH at start as ‘7’."),
        ("Cook fish at 63 °C.", "Cook fish at 63 °C."),
        ("Adults should: walk for at least 30 minutes a day.", "Adults should: walk for at least 30 minutes a day."),
    ],
)
def test_what_is_a_claim(text: str, claim: str) -> None:
    [row] = claims_of(text)
    assert (row.payload.text, row.payload.label, row.payload.gold) == (claim, "true", (text,))
    assert row.payload.premise == "Guide > Storage"


def test_an_entry_may_have_a_dash() -> None:
    [row] = claims_of("Dry bite – a bite in which no venom is injected", "Guide > Definitions")
    assert row.payload.text == "‘Dry bite’ means a bite in which no venom is injected."
    assert claims_of("Dry bite – a bite in which no venom is injected") == []


@pytest.mark.parametrize(
    "text",
    [
        "Carriers – who may be well – spread the disease to others in the household.",
        "Every definition applies to adults – children are treated by their weight and age.",
        "The dose is 5 mg – not the 10 mg that older leaflets name for adults.",
        "Do not use the word allergy – an intolerance of milk is something else.",
        "Some carriers spread the disease – a danger for others in the household.",
    ],
)
def test_a_sentence_with_a_dash_is_no_entry(text: str) -> None:
    assert not [row for row in claims_of(text, "Terms and definitions") if " means " in row.payload.text]


@pytest.mark.parametrize(
    "text",
    [
        "1.5 L of fluid should be drunk within 3 hours.", "2.5 Gy per day should be given for 10 days.",
        "1.5 T scanners should be used for 20 minutes.", "0.9 NaCl should be given for at least 30 minutes.",
        "10.2 Million people should walk for at least 30 minutes.",
        "1.5 A current should flow for at least 30 minutes.",
    ],
)  # fmt: skip
def test_a_measure_is_no_number_of_a_recommendation(text: str) -> None:
    assert not [row for row in claims_of(text) if not row.payload.text.startswith(text.split(maxsplit=1)[0])]


def test_the_number_of_a_recommendation_begins_a_sentence() -> None:
    text = "1.1 The fridge must be kept at 5 °C. 1.2 The freezer must be kept at -18 °C for the whole day."
    assert [row.payload.text for row in claims_of(text)] == [
        "The fridge must be kept at 5 °C.", "The freezer must be kept at -18 °C for the whole day."
    ]  # fmt: skip


@pytest.mark.parametrize("number", ["3.1 ", "4.2.1. ", "R2.4: ", "Recommendation 5: "])
def test_the_number_of_a_recommendation_is_no_part_of_it(number: str) -> None:
    [row] = claims_of(f"{number}Adults should walk for at least 30 minutes a day.")
    assert row.payload.text == row.payload.quote == "Adults should walk for at least 30 minutes a day."


@pytest.mark.parametrize(
    "text",
    [
        "It must be kept at 5 °C for the whole day.", "This dish must be held at 63 °C until lunch.",
        "Red means that the door is open and locked.", "In a survey of 200 guests, 80 % were content with it.",
        "What is kept at 5 °C in this kitchen?", "Staff should wash hands", "See Table 3 for times above 2 hours.",
        "For example, cook fish at 63 °C for a while.", "Fish | 63 °C", "Food: Fish | Notes: cut it small",
    ],
)  # fmt: skip
def test_what_is_no_claim(text: str) -> None:
    assert claims_of(text) == []


def test_an_entry_is_a_definition_below_a_heading_that_says_so() -> None:
    text = "Riser: the upright part between two steps"
    assert [row.payload.text for row in claims_of(text, "Guide > Terms")] == [
        "‘Riser’ means the upright part between two steps."
    ]
    assert claims_of(text, "Guide > Stairs") == []


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("Hands should be washed for at least 20 seconds.", "higher"),
        ("The stair must be more than 800 mm wide.", "higher"),
        ("Hot food must be held at 63 °C or above.", "higher"),
        ("Ropes must hold no less than 15 kg in the test.", "higher"),
        ("Leftovers should be chilled within 90 minutes.", "lower"), ("The rise must not exceed 190 mm.", "lower"),
        ("The fridge must be kept at 8 °C or below.", "lower"), ("Salt should be limited to 5 g a day.", "lower"),
        ("Leads should be no longer than 25 m.", "lower"), ("Milk must be kept below 9 °C in the shop.", "lower"),
    ],
)  # fmt: skip
def test_a_bound_becomes_a_stricter_one_for_a_looser_one_follows(text: str, side: str) -> None:
    false = false_ones(text)[text]
    assert (number(false) > number(text)) == (side == "higher")
    assert number(false) != number(text)


@pytest.mark.parametrize(
    "text",
    [
        # in a condition, another number may be right too
        "Babies under 12 months must not have honey at all.", "Children aged 5 years need sleep in the afternoon.",
        "If food stands for more than 2 hours, throw food away.", "Where a stair is wider than 900 mm, fit two rails.",
        "Ear protection must be worn above 85 dB.", "Helmets are recommended for slopes of 30 degrees or more.",
        "Helmets should be worn on slopes of 30 degrees or more.", "Lightning is a danger within 10 km.",
        # denied, or behind another bound
        "Do not leave food out for more than 2 hours.", "Never store fuel within 5 m of a boiler.",
        "Do not:  work on a ladder for more than 30 minutes.", "The toilet should be limed at least every 3 days.",
        "Adults should not sit for 8 hours a day.",
        # a range, a rough value, a pair, another unit in brackets, a number without a unit, one
        "Adults need 7 to 9 hours of sleep a night.", "The value must be between 7 and 9 mg a day.",
        "The target is a pressure of 140/90 mmHg at rest.", "The door must be 90 cm (35 inches) wide.",
        "Newborns sleep for about 16 hours a day.", "Rule 12 must be read 3 or more times a day.",
        "Freezers should run at -18 °C in all kitchens.", "Alarms must be tested 1 time a month.",
    ],
)  # fmt: skip
def test_a_number_that_others_may_stand_for_stays(text: str) -> None:
    assert false_ones(text).get(text, "") == ""


def test_a_number_that_the_document_names_with_the_same_unit_is_no_new_one() -> None:
    text = "Soup must be kept for 2 hours."
    others = [f"{n} hours are named here." for n in (3, 4, 5)]
    assert number(false_ones(text)[text]) in (3, 4, 5)
    assert false_ones(text, *others)[text] == ""


def test_cells_of_a_column_are_exchanged_unless_one_may_hold_the_other() -> None:
    rows = ["Food: Fish | Time: 15 seconds | Keep: up to 2 days | Note: no",
            "Food: Beef | Time: 45 seconds | Keep: 3 days",
            "Food: Rice | Time: 1 minute | Keep: 3 to 5 days"]  # fmt: skip
    false = false_ones(*rows)
    fish, rice = (
        "For the food ‘Fish’, the table gives the time as ",
        "For the food ‘Rice’, the table gives the time as ",
    )
    assert false[f"{fish}‘15 seconds’."] == f"{fish}‘45 seconds’."
    assert false[f"{rice}‘1 minute’."] == ""
    assert [text for text in false.values() if "keep" in text] == []


def test_terms_are_exchanged_between_definitions_that_share_no_word() -> None:
    texts = ["Riser means the upright part between two steps.", "Going means the depth of a tread.",
             "Tread depth means the depth of a step measured on top."]  # fmt: skip
    false = false_ones(*texts)
    assert (
        false["‘Riser’ means the upright part between two steps."]
        == "‘Going’ means the upright part between two steps."
    )
    assert false["‘Going’ means the depth of a tread."] == "‘Riser’ means the depth of a tread."
    assert false["‘Tread depth’ means the depth of a step measured on top."] == ""


def test_each_value_is_given_as_often_as_another() -> None:
    words = ("alpha beta", "gamma delta", "kappa lambda", "sigma omega", "rhoic tauic", "omicron upsilon")
    false = false_ones(*(f"Term: {name} | Meaning: a {word}" for name, word in
                         zip(("Ox", "Emu", "Yak", "Gnu", "Eel", "Hen"), words, strict=True)))  # fmt: skip
    given = sorted(text.partition("’")[0] for text in false.values())
    assert len(set(given)) == 6


def test_what_fails_a_check_is_dropped_with_its_reason() -> None:
    [outcome] = found("They must be kept at 5 °C in the fridge.")
    assert isinstance(outcome, Dropped)
    assert outcome.reason == "pronoun"
