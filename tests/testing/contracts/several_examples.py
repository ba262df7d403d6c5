"""Rows and settings for kinds that handle questions with several right options, from `law_zh`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchbuilder.config.load import load_recipe
from benchbuilder.config.spec.recipe import Recipe
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept, SourceUnit
from benchbuilder.sources.multiple_choice import SeveralChoices
from benchbuilder.steps.choices import SplitAnswers

Example = tuple[Any, dict[str, Table[Any]]]


def bundled(name: str) -> Recipe:
    """A bundled recipe."""
    return load_recipe([f"recipe={name}"], cwd=Path("/nowhere"), environ={}).recipe


def several_answers() -> Example:
    """Questions with one or more right options, for `split_answers`."""
    recipe = bundled("law_zh")
    units = SeveralChoices(recipe.sources["jec_qa"], "jec_qa", "zh").read()
    rows = [unit.outcome.row for unit in units if isinstance(unit, SourceUnit) and isinstance(unit.outcome, Kept)]
    return recipe.steps["answers"], {"each": Table.of(rows, type(rows[0]))}


def right_options() -> Example:
    """Questions with one right option, for `state_option`."""
    spec, tables = several_answers()
    split = SplitAnswers(spec, None)  # pyright: ignore[reportArgumentType]
    rows = [outcome.row for row in tables["each"] for outcome in split.map(row, {}) if isinstance(outcome, Kept)]
    return bundled("law_zh").steps["options"], {"each": Table.of(rows, type(rows[0]))}
