"""Which judges of a recipe can score answers now, and why the others cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbuilder.config import EvaluationSpec, KindSpec, Recipe
from benchbuilder.core import find_kind
from benchbuilder.evaluation.judges.base import AskingJudge, Judge
from benchbuilder.evaluation.judges.card import (
    JUDGE_CARD,
    changed_settings,
    judge_mismatches,
    plain_spec,
    read_judge_card,
    rubric_digest,
)


@dataclass(frozen=True)
class JudgeScorer:
    """A judge as a scorer of the evaluation: its name there, the scorer as plain data, and whether it asks a model."""

    name: str
    scorer: Mapping[str, Any]
    asks_model: bool


def find_usable_judges(
    recipe: Recipe, spec: EvaluationSpec, folders: Sequence[Path]
) -> tuple[Sequence[JudgeScorer], tuple[str, ...]]:
    """The judges that can score, and notes about those that cannot or should be used with care.

    Trained judges may be in any of `folders`, of which the first is preferred.
    """
    judges: list[JudgeScorer] = []
    notes: list[str] = []
    for name, judge in spec.judges.items():
        cls: type[Judge] = find_kind("judge", judge.kind).load()
        asks_model = issubclass(cls, AskingJudge)
        folder = next((place / name for place in folders if (place / name / JUDGE_CARD).exists()), folders[0] / name)
        if cls.trains:
            obstacle, warnings = _trained_judge_notes(recipe, spec, judge, folder, asks_model=asks_model)
        else:
            silent = issubclass(cls, AskingJudge) and cls(judge).model_spec is None
            obstacle, warnings = f"has no model to ask: {_model_overrides(name)} give it one" if silent else "", []
        notes += [f"the judge {name!r} {note}" for note in ([obstacle] if obstacle else warnings)]
        if not obstacle:
            scorer = {
                "kind": "judged", "judge": judge, "folder": str(folder.absolute()), "language": recipe.language,
                "rubric": spec.rubric, "anyway": spec.any_rubric,
            }  # fmt: skip
            judges.append(JudgeScorer(f"judge_{name}", scorer, asks_model))
    return judges, tuple(notes)


def _trained_judge_notes(
    recipe: Recipe, spec: EvaluationSpec, judge: KindSpec, folder: Path, *, asks_model: bool
) -> tuple[str, list[str]]:
    """Why a judge that needs training cannot score (empty if it can), and warnings about its scores."""
    if not (folder / JUDGE_CARD).exists():
        command = "finetune" if asks_model else "judge train"
        lacks_model = asks_model and getattr(judge, "model", None) is None
        arguments = f"arguments, and {_model_overrides(folder.name)}" if lacks_model else "arguments"
        missing = _missing_ratings(spec)
        return f"is not trained yet: benchbuild {command}, with the same {arguments}{missing}", []
    card = read_judge_card(folder) or {}
    if card.get("spec") != plain_spec(judge):
        return (
            "was trained by other settings than the recipe has now, and scores nothing: "
            "train it again, or change them back"
        ), []
    mismatches = judge_mismatches(card, language=recipe.language, rubric=rubric_digest(spec.rubric))
    if mismatches and not spec.any_rubric:
        return (
            f"was not made for this, and scores nothing: {'; '.join(mismatches)} (train it again, "
            "or set evaluation.any_rubric=true and do not compare the scores with others)"
        ), []
    warnings: list[str] = []
    if keys := changed_settings(card, judge, spec, recipe.seed):
        warnings.append(
            f"was trained by other settings than the recipe has now ({', '.join(keys)}): "
            "its scores go by those until it is trained again"
        )
    if card.get("constant_predictor"):
        warnings.append(f"failed the constant predictor check: {card['constant_predictor']}")
    return "", warnings


def _missing_ratings(spec: EvaluationSpec) -> str:
    """What judges lack to learn from, if the recipe names no ratings."""
    ratings = [scorer for scorer in spec.scorers.values() if scorer.kind == "ratings"]
    if any(getattr(scorer, "file", None) for scorer in ratings):
        return ""
    return "; it learns from people's ratings, and no file of ratings is set (paths.ratings)"


def _model_overrides(judge: str) -> str:
    """The overrides that give a judge a model of its own; the recipe's model is the one under evaluation."""
    key = f"evaluation.judges.{judge}.model"
    return f"model@{key}=openai {key}.name=NAME"
