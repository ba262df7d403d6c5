"""An analysis of models that never were, with all sections, as the page gets it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from answered_world import answered, simulated, texts

from benchbuilder.config import AnalysisSpec, load_recipe
from benchbuilder.core import Claim, Item, Origin, ProducedBy, Support, Table
from benchbuilder.evaluation.analysis.answered import AnsweredItems, AnsweringSystem, WordedAnswers
from benchbuilder.evaluation.analysis.run import SECTIONS, Analysis
from benchbuilder.evaluation.analysis.section import AnalysisSettings

FORMS = ("statement", "verify", "yes_no")


def item(number: int, question: str = "", language: str = "en") -> Item[Claim]:
    """Item `number`: three true/false questions of a fact, the second negated, then an open one."""
    open_question, right = number % 4 == 3, number % 4 == 0
    support = Support(passage=f"p{number}", base="textbooks", document="Physiology", title="Pregnancy", score=1.5,
                      rank=1, text="Folic acid lowers the risk of neural tube defects.")  # fmt: skip
    claim = Claim(
        type="oe" if open_question else "tf", expected="" if open_question else "yes" if right else "no",
        question=f"{question}Question {number}: does folic acid lower the risk?", answer=f"It does ({number}).",
        answer_wrong=f"It does not ({number}).", evidence=(support,),
    )  # fmt: skip
    return Item[Claim].build(
        origin=Origin(file="b.jsonl", line=number + 1), produced_by=ProducedBy(rule="made_up"), language=language,
        partition=f"source-{number % 3}", payload=claim, candidate="", fact=f"fact-{number // 4}", reviewed=True,
        form=FORMS[number // 4 % 3],
    )  # fmt: skip


def _worded(world: AnsweredItems, example: str, models: list[str]) -> WordedAnswers:
    """Answers to the first 80 items in three wordings, the others twice; the last wording is harder."""
    part, random = world.scores[:, :80], np.random.default_rng(9)
    scores = np.repeat(part[:, None, None, :], 3, axis=1).repeat(2, axis=2)
    lost = random.random(scores.shape) < np.array([0, 0.05, 0.3])[:, None, None]
    scores = np.where(lost, 0.0, scores)
    scores[:, 0, 1] = np.nan
    names = ("built", "plain", "doubting")
    return WordedAnswers(names, tuple(f"{example} ({name})" for name in names), tuple(models),
                         world.items.ids[: part.shape[1]], world.items.families[: part.shape[1]], scores,
                         np.zeros(scores.shape, np.bool_))  # fmt: skip


def analysed(
    models: int, items: int, folder: Path = Path("builds/care_mi/analysis"), *, invented: bool = False,
    question: str = "", language: str = "en", names: str = "model", **changes: Any,
) -> Analysis:  # fmt: skip
    """The analysis of so many models and items; the first half of the models may be favoured by a source."""
    rows = [item(number, question, language) for number in range(items)]
    gap = np.zeros((models, items))
    gap[: models // 2, ::3] = 0.8
    places = np.arange(items)
    world = answered(
        simulated(models, items, 5, gap), places // 4,
        ids=texts(*(row.id for row in rows)), sources=texts(*(row.partition for row in rows)),
        types=texts(*(row.payload.type for row in rows)), forms=texts(*(row.form for row in rows)),
        facts=texts(*(row.fact for row in rows)), expected=texts(*(row.payload.expected for row in rows)),
        negated=places % 4 == 1, questions=texts(*(row.payload.question for row in rows)),
        wrong_answers=texts(*(row.payload.answer_wrong for row in rows)),
    )  # fmt: skip
    keyed = world.scores.copy()
    keyed[:, 9::40] = 1 - keyed[:, 9::40]  # some keys are wrong
    systems = tuple(AnsweringSystem(f"{names}-{n}", "model", invented=invented) for n in range(models))
    said_wrong = np.where(world.items.types == "oe", 1 - keyed, np.nan)
    worded = _worded(world, f"{question}Does folic acid lower the risk?", [system.name for system in systems])
    world = replace(world, scores=keyed, systems=systems, said_wrong=said_wrong, worded=worded)
    halves = {"one": [s.name for s in systems[: models // 2]], "other": [s.name for s in systems[models // 2 :]]}
    groups = {"size": {"title": "small and large", **halves}}
    loaded = load_recipe(["recipe=care_mi"])
    spec = AnalysisSpec.model_validate({"groups": groups, "samples": 200, **changes})
    loaded = replace(loaded, recipe=loaded.recipe.model_copy(update={"analysis": spec}))
    return of_answers(Analysis(loaded, "A benchmark", folder, world, {}, Table.of(rows, Item[Claim]), {}), world)


def of_answers(analysis: Analysis, world: AnsweredItems) -> Analysis:
    """The analysis of other answers to the same items."""
    settings = AnalysisSettings(analysis.loaded.recipe.analysis, 1)
    return replace(analysis, answered=world, sections={name: make(world, settings) for name, make in SECTIONS.items()})
