"""Fills the scorecard: rules of the program, answers of the author, and what nobody answered. There is no total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import ConfigDict, TypeAdapter

from benchbuilder.config import LoadedRecipe, ScorecardSpec, did_you_mean
from benchbuilder.core import Problem, RecipeError
from benchbuilder.publishing.release.material import ReleaseMaterial, gather_material
from benchbuilder.publishing.release.record import latest_release
from benchbuilder.publishing.release.scorecard.coverage import Reach
from benchbuilder.publishing.release.scorecard.rules import RULES, BuildFacts
from benchbuilder.publishing.release.sentences import ReleaseSentence, sentence

Stage = Literal["design", "construction", "measurement", "release", "maintenance"]
_FILE = Path(__file__).with_name("criteria.yaml")


@dataclass(frozen=True)
class Criterion:
    """One criterion.

    Attributes:
        id: Its name.
        stage: The stage of the benchmark's life that it is about.
        works: The works that ask for it; ``ours`` is what this program adds.
        fill: ``auto`` if the program answers it, ``ask`` if only the author can, ``both`` if the author
            answers where the program sees nothing.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    id: str
    stage: Stage
    works: tuple[Literal["betterbench", "bean2025", "croissant_rai", "datasheet", "ours"], ...]
    fill: Literal["auto", "ask", "both"]

    @property
    def text(self) -> ReleaseSentence:
        """The criterion in a sentence."""
        return sentence(f"scorecard.criterion.{self.id}")


@cache
def all_criteria() -> tuple[Criterion, ...]:
    """The criteria, by stage."""
    rows = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    for row in rows:
        row["works"] = row.pop("from")
    return TypeAdapter(tuple[Criterion, ...]).validate_python(rows)


SCORECARD_FILE = "scorecard.json"
State = Literal["yes", "partly", "no", "not_applicable", "unknown"]


@dataclass(frozen=True)
class ScorecardRow:
    """A criterion with its state; `by` is ``program``, ``author``, or empty if nobody answered."""

    criterion: Criterion
    state: State
    evidence: ReleaseSentence | str = ""
    by: str = ""
    on: str = ""


@dataclass(frozen=True)
class Scorecard:
    """The scorecard of a build.

    Attributes:
        rows: One row for each criterion.
        required: The criteria that a release must meet.
        reach: For each task, which part of its sources reaches the items.
    """

    rows: tuple[ScorecardRow, ...]
    required: tuple[str, ...]
    reach: Mapping[str, Reach]

    def counts(self) -> Mapping[Stage, Counter[State]]:
        """How many criteria of each stage have each state."""
        return {
            stage: Counter(row.state for row in self.rows if row.criterion.stage == stage) for stage in get_args(Stage)
        }

    def of(self, *states: State) -> list[ScorecardRow]:
        """The rows in one of these states."""
        return [row for row in self.rows if row.state in states]

    def missing(self) -> list[ScorecardRow]:
        """The required criteria that are not met."""
        return [
            row for row in self.rows if row.criterion.id in self.required and row.state not in ("yes", "not_applicable")
        ]

    def as_json(self) -> dict[str, Any]:
        """The scorecard as plain data."""
        return {
            "schema": 1,
            "criteria": [
                {
                    **asdict(row.criterion),
                    "text": str(row.criterion.text),
                    "state": row.state,
                    "evidence": str(row.evidence),
                    "by": row.by,
                    "on": row.on,
                }
                for row in self.rows
            ],
            "required": list(self.required),
            "coverage": {task: asdict(reach) for task, reach in self.reach.items()},
        }


def read_scorecard(loaded: LoadedRecipe, cwd: Path) -> Scorecard:
    """The scorecard of the build of a recipe.

    Raises:
        RecipeError: The recipe names a criterion that does not exist, or answers one that the program answers.
        DataError: The build is not finished with these settings.
    """
    check_answers(loaded)
    releases = cwd / loaded.whole.release.dir / loaded.whole.benchmark_name
    return fill_scorecard(gather_material(loaded, cwd), released=latest_release(releases) is not None)


def fill_scorecard(material: ReleaseMaterial, *, released: bool) -> Scorecard:
    """The scorecard of a build that was read; `released` says whether a release exists."""
    check_answers(material.loaded)
    spec, facts = material.loaded.whole.scorecard, BuildFacts(material, released)
    rows = tuple(_row(criterion, spec, facts) for criterion in all_criteria())
    reach = {task.loaded.task: reach for task, reach in zip(material.tasks, facts.reach, strict=True)}
    return Scorecard(rows, spec.required, reach)


def _row(criterion: Criterion, spec: ScorecardSpec, facts: BuildFacts) -> ScorecardRow:
    found = None if criterion.fill == "ask" else RULES[criterion.id](facts)
    if found is not None and (criterion.fill == "auto" or found.state != "no"):
        return ScorecardRow(criterion, found.state, found.evidence, "program")
    answer = spec.answers.get(criterion.id)
    if answer is None:
        return ScorecardRow(criterion, "unknown")
    return ScorecardRow(criterion, answer.state, answer.evidence, "author", answer.on)


def check_answers(loaded: LoadedRecipe) -> None:
    """RecipeError for answers to criteria that do not exist, or that the program answers; all at once."""
    spec, known = loaded.whole.scorecard, {criterion.id: criterion for criterion in all_criteria()}
    problems: list[Problem] = []
    named = [("answers", name) for name in spec.answers] + [("required", name) for name in spec.required]
    for key, name in named:
        where = str(loaded.origins.origin_of(("scorecard", key, name) if key == "answers" else ("scorecard", key)))
        if name not in known:
            problems.append(Problem(
                "the scorecard has no such criterion", key=f"scorecard.{key}", where=where, actual=name,
                hint=did_you_mean(name, list(known)) or "benchbuild scorecard lists them",
            ))  # fmt: skip
        elif key == "answers" and known[name].fill == "auto":
            problems.append(Problem("the program answers this criterion", key=f"scorecard.answers.{name}", where=where,
                                    actual=name, hint="remove the answer"))  # fmt: skip
    if problems:
        raise RecipeError(problems)
