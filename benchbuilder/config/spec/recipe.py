"""The recipe: the top level of a resolved configuration.

Nodes that name a kind (sources, steps, tokenizer, retriever, model, annotation, outputs) are plain mappings here;
the loader hands each to the spec class of its kind and puts the result in its place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from benchbuilder.config.links import check_links
from benchbuilder.config.spec.analysis import AnalysisSpec
from benchbuilder.config.spec.annotation import Name, ReviewProjectSpec
from benchbuilder.config.spec.audit import AuditSpec
from benchbuilder.config.spec.base import (
    Day,
    FileRef,
    FolderPath,
    KindSpec,
    LanguageTag,
    RuntimeOption,
    Seed,
    Slot,
    Spec,
    StepSpec,
)
from benchbuilder.config.spec.evaluation import EvaluationSpec
from benchbuilder.config.spec.forms import FormsSpec
from benchbuilder.config.spec.release import ReleaseSpec
from benchbuilder.config.spec.scorecard import ScorecardSpec
from benchbuilder.config.spec.translation import CheckWords
from benchbuilder.core import LengthUnit, Problem, RecipeError


class RunSpec(Spec):
    """How a build runs here: all runtime options; none changes the output."""

    dir: Annotated[FolderPath | None, RuntimeOption()] = None
    """Folder of the build; default ``builds/NAME`` (``builds/NAME-VARIANT``) under the current folder."""
    workers: Annotated[int | None, RuntimeOption(), Field(ge=1, le=4096)] = None
    """How many shards are processed at the same time; ``null``: as many as there are cores."""
    shard_rows: Annotated[int, RuntimeOption(), Field(ge=1)] = 50_000
    """Rows per shard; a step commits shard by shard."""
    memory_mb: Annotated[int, RuntimeOption(), Field(ge=100)] = 1_000
    """Megabytes for all shards in progress, in addition to Python and its libraries in each process. Shards with long
    rows are cut smaller to fit. A step that needs all rows at once reads and makes them in windows of a thirty-second
    of this; what it knows of every row (ids, keys, positions) comes on top."""
    executor: Annotated[Any, RuntimeOption(), Slot("executor")] = KindSpec(kind="local")
    """What processes the shards, and where."""


class BudgetSpec(Spec):
    """Hard limits for the costs of model calls over all runs of a build; they stop it, but never change its output."""

    usd: Annotated[float | None, RuntimeOption(), Field(gt=0)] = None
    """US dollars, by the price table of each model; needs a price for every model that is called."""
    tokens: Annotated[int | None, RuntimeOption(), Field(gt=0, le=10**15)] = None
    """Tokens of prompts and replies together."""


class ToleranceSpec(Spec):
    """Limits that the recipe sets on its own results."""

    failed_rows: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Proportion of a step's branches that may fail before the build stops with exit code 5."""


class CardSpec(Spec):
    """The part of the dataset card that only the author of a recipe knows."""

    title: str
    summary: str
    licence: str
    """Licence of the benchmark itself; never invented."""
    intended_use: tuple[str, ...]
    not_for: tuple[str, ...]
    limitations: tuple[str, ...] = ()
    personal_data: str
    correct_as_of: Day = ""
    """Date until which the knowledge was checked, ISO 8601 (2025-01-31); empty: nobody has said one."""
    citation: str = ""
    deviations: tuple[str, ...] = ()
    """Differences from the paper that the recipe follows."""
    illustrative: bool = False
    """Whether the sources are sample data, not expert-checked. With a bundled sample in use it is always true; with
    sources that did not come with the recipe it is false, whatever another recipe says."""


OWN_FOLDERS = frozenset({"analysis", "annotation", "audit", "compare", "evaluation", "judges", "store", "words"})
"""Folders of a build other than those of tasks."""


class TaskSpec(Spec):
    """One of several tasks of a benchmark, with items and an evaluation of its own.

    `items` is the step whose rows are the task's items. `title` follows the title of the benchmark on the task's pages;
    without one it is the task's name. `outputs` are added to the recipe's; ``null`` removes one for this task. All
    files of a task are written into a folder of its name in the folder of the build.
    """

    items: str
    title: str = ""
    evaluation: EvaluationSpec | None = None
    outputs: Annotated[dict[str, Any], Slot("exporter")] = {}
    illustrative: bool | None = None
    """Whether sources of this task are bundled sample data; decided when the recipe is read, whatever it says."""


class WritingSpec(Spec):
    """How the recipe's language is written: what steps and sentences refer to (``${writing.joiner}``)."""

    joiner: str
    """What stands between words and between sentences: a space, or nothing."""
    stop: str
    """The end of a statement; empty where nothing ends one."""
    question_mark: str
    """The end of a question."""
    open_mark: str = ""
    """The beginning of a question."""
    quotes: Annotated[str, Field(max_length=2)] = ""
    """The mark before and the mark after what somebody said."""
    comma: str = ","
    """What separates the parts of a list."""
    list_and: str = ""
    """What joins the last two parts of a list."""
    direction: Literal["ltr", "rtl"] = "ltr"
    """From left to right, or from right to left."""
    digits: Annotated[str, Field(min_length=10, max_length=10)] = "0123456789"
    """The digits from 0 to 9."""
    unit: LengthUnit
    """What lengths are counted in: characters where no spaces separate words."""
    stops: tuple[str, ...]
    """What ends a sentence anywhere, besides a full stop behind a word."""
    abbreviations: tuple[str, ...] = ()
    """What ends in a full stop without ending a sentence, written without it."""


class Recipe(Spec):
    """A whole recipe, resolved and validated."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    name: Name
    language: LanguageTag
    seed: Seed
    requires: dict[str, str] = {}
    variant: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_/-]*$")] = None
    paths: dict[str, str | None] = {}
    strings: Annotated[dict[str, FileRef], RuntimeOption()] = {}
    """Files with the texts of all pages (reports, results, review app) by language; missing texts are English."""
    writing: WritingSpec | None = None
    """How the language is written; for flows that take their marks from here."""
    sources: Annotated[dict[str, Any], Slot("source")]
    tokenizer: Annotated[Any, Slot("tokenizer")]
    model: Annotated[Any, Slot("model")]
    retriever: Annotated[Any, Slot("retriever")]
    annotation: Annotated[Any, Slot("annotation")]
    steps: Annotated[dict[str, Any], Slot("step")]
    forms: FormsSpec = FormsSpec()
    """The sentences that show questions, answers and claims, and words that ask for care."""
    translation_checks: dict[str, CheckWords] = {}
    """What checks of translations look at, by language."""
    items: str = ""
    """The step whose rows are the benchmark."""
    tasks: dict[Name, TaskSpec] = {}
    """Instead of `items`: the tasks of the benchmark by name."""
    reviews: dict[Name, ReviewProjectSpec] = {}
    """Further projects in the review app by name; no step depends on them."""
    evaluation: EvaluationSpec | None = None
    """How models are evaluated on the items; no step of the build depends on it."""
    audit: AuditSpec = AuditSpec()
    """What the audit looks for, and when it closes the gate; no step of the build depends on it."""
    analysis: AnalysisSpec = AnalysisSpec()
    """What answers are analysed for, and when an item is flagged; no step depends on it."""
    scorecard: ScorecardSpec = ScorecardSpec()
    """The author's answers on the scorecard, and the criteria that a release must meet."""
    release: ReleaseSpec = ReleaseSpec()
    """What a release holds back, who made it, and where it goes; no step of the build depends on it."""
    outputs: Annotated[dict[str, Any], Slot("exporter")]
    tolerate: ToleranceSpec = ToleranceSpec()
    budget: BudgetSpec = BudgetSpec()
    card: CardSpec
    run: RunSpec = RunSpec()

    @model_validator(mode="after")
    def _names(self) -> Recipe:
        if both := sorted(set(self.sources) & set(self.steps)):
            raise ValueError(f"{', '.join(both)}: a source and a step cannot share a name")
        if "claims" in self.reviews:
            raise ValueError("reviews: claims is the name of the candidates' own project; choose another")
        if bool(self.items) == bool(self.tasks):
            raise ValueError("items: name the step whose rows are the benchmark, or its tasks with the items of each")
        if taken := sorted(OWN_FOLDERS & set(self.tasks)):
            raise ValueError(f"tasks: {', '.join(taken)} is another folder of a build; choose another name")
        if self.tasks and self.evaluation is not None:
            raise ValueError("evaluation: a benchmark of several tasks is evaluated by task, tasks.NAME.evaluation")
        return self

    def for_task(self, name: str) -> Recipe:
        """The recipe of one task alone: its items, evaluation and outputs; RecipeError if there is no such task."""
        if name not in self.tasks:
            allowed = ", ".join(self.tasks) or "none: this recipe has one benchmark"
            raise RecipeError([Problem("there is no such task", key="tasks", actual=name, allowed=allowed)])
        task = self.tasks[name]
        outputs = {name: spec for name, spec in {**self.outputs, **task.outputs}.items() if spec is not None}
        own = {} if task.illustrative is None else {"illustrative": task.illustrative}
        card = self.card.model_copy(update={"title": f"{self.card.title}: {task.title or name}", **own})
        return self.model_copy(
            update={"card": card, "items": task.items, "evaluation": task.evaluation, "outputs": outputs, "tasks": {}}
        )

    def by_task(self) -> dict[str, Recipe]:
        """The recipe of each task by name; without tasks the recipe itself, under an empty name."""
        return {name: self.for_task(name) for name in self.tasks} or {"": self}

    def node_spec(self, name: str) -> KindSpec:
        """The spec of source or step `name`."""
        return self.sources[name] if name in self.sources else self.steps[name]

    def step_spec(self, name: str) -> StepSpec:
        """The spec of step `name`."""
        return self.steps[name]

    @property
    def benchmark_name(self) -> str:
        """Its name, and its variant."""
        return f"{self.name}-{self.variant}" if self.variant else self.name

    def build_folder(self, cwd: Path) -> Path:
        """The folder of the build; StoreError if a link leads out of the working folder there (see `check_links`)."""
        folder = self.place_of_build(cwd)
        check_links(folder)
        return folder

    def place_of_build(self, cwd: Path) -> Path:
        """Where the folder of the build is, whatever is there."""
        return cwd / (self.run.dir if self.run.dir is not None else Path("builds", self.benchmark_name))
