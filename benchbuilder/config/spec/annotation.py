"""What a recipe says about people's work: the annotation of candidates, and rating projects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from benchbuilder.config.spec.base import FileRef, KindSpec, RuntimeOption, Spec

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


AnswerType = Literal["binary", "scale", "scalar", "text"]


class Band(Spec):
    """What the values from `low` up to `high` of a scalar mean, for people who give them."""

    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]
    text: Annotated[str, Field(min_length=1)]


class GuidingQuestion(Spec):
    """A question that each annotator answers about a claim, or about each paragraph of its evidence.

    `subject` is what it is asked about; rows that have no evidence are judged as claims are. `text` is the wording:
    votes are bound to it, and to what the answers mean. `label` is a short form for column headers. `order` is the
    place among the guiding questions, in sheets, on the page, and as a gate; the gate of `min_evidence` stands where
    the first question about evidence stands. `answer` says what an answer is:

    - ``binary``: 0 or 1
    - ``scale``: one of `options`, whole numbers with what each means; they are ordered
    - ``scalar``: a number from 0 to 1 in steps of `step`, with `bands` as anchors. Two scalars are in dispute if they
      lie further apart than `tolerance`, or on different sides of `threshold` (on or above it, and below it)
    - ``text``: free text of at most `max_chars` characters in a field of `lines` lines; never in dispute

    A question that is not `gating_questions` may be left empty.
    """

    order: int
    subject: Literal["claim", "evidence"] = "claim"
    label: Annotated[str, Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]
    answer: AnswerType = "binary"
    required: bool = True
    options: dict[int, str] = {}
    bands: dict[Name, Band | None] = {}
    step: Annotated[float, Field(gt=0, le=0.5)] = 0.05
    tolerance: Annotated[float, Field(ge=0, le=1)] = 0.25
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    max_chars: Annotated[int, Field(ge=1, le=100_000)] = 4000
    lines: Annotated[int, RuntimeOption(), Field(ge=1, le=40)] = 3

    @model_validator(mode="after")
    def _check_consistency(self) -> GuidingQuestion:
        if self.answer == "scale" and len(self.options) < 2:
            raise ValueError("options: a scale needs at least two, each a whole number with what it means")
        if self.answer != "scale" and self.options:
            raise ValueError(f"options: only a question with answer: scale has them, this one has {self.answer}")
        if self.answer != "scalar" and self.bands:
            raise ValueError(f"bands: only a question with answer: scalar has them, this one has {self.answer}")
        if any(band.low >= band.high for band in self.anchors()):
            raise ValueError("bands: each goes from low up to a higher value")
        return self

    def anchors(self) -> list[Band]:
        """The bands from the highest to the lowest."""
        return sorted((b for b in self.bands.values() if b is not None), key=lambda band: (-band.high, -band.low))


class BootstrapSpec(Spec):
    """How intervals are drawn: `samples` resamples of candidates, a percentile interval at `level`."""

    samples: Annotated[int, Field(ge=100, le=100_000)]
    level: Annotated[float, Field(gt=0, lt=1)]
    seed: Annotated[int, Field(ge=0)]


class AnnotationSpec(KindSpec, ABC):
    """Who judges what, and what is kept.

    `keep` maps guiding questions to the decision that they must have: just that one if the answer is binary, that or
    a higher one on a scale or a scalar. A paragraph supports a candidate if it has the required decision on every
    question about evidence; a candidate needs `min_evidence` supporting paragraphs. A question that is ``null`` is
    neither asked nor a gate; one that is ``null`` in `keep`, or not there, is asked and gates nothing.

    By the `rule` ``adjudicate``, where the annotators of a thing are in dispute an adjudicator decides, and elsewhere
    they do (scalars: by their mean). By ``mean`` there is no adjudicator: all votes count, and decide by their mean.
    `thresholds` are the numbers of supporting paragraphs for which survivors are counted. `fields` names what people
    are shown of each thing, in order, each with a label; what is ``null`` is not shown.
    """

    questions: dict[Name, GuidingQuestion | None]
    rule: Literal["adjudicate", "mean"] = "adjudicate"
    keep: dict[Name, int | float | None] = {}
    min_evidence: Annotated[int, Field(ge=0)] = 0
    thresholds: tuple[Annotated[int, Field(ge=0)], ...] = ()
    fields: dict[Name, str | None] = {}
    bootstrap: BootstrapSpec

    @model_validator(mode="after")
    def _check_questions(self) -> AnnotationSpec:
        asked = self.questions_about()
        if not asked:
            raise ValueError("questions: at least one guiding question must be asked")
        for what, values in (("order", [q.order for q in asked.values()]), ("text", [q.text for q in asked.values()])):
            if len(set(values)) < len(values):
                raise ValueError(f"questions: two guiding questions have the same {what}")
        if unknown := sorted(set(self.keep) - set(self.questions)):
            raise ValueError(f"keep: there is no question {', '.join(unknown)} (questions: {', '.join(asked)})")
        for name, value in (self.gating_questions("claim") | self.gating_questions("evidence")).items():
            question = asked[name]
            allowed = {"binary": {0.0, 1.0}, "scale": {float(option) for option in question.options}}
            if not question.required:
                raise ValueError(f"keep: {name} cannot be a gate, as it may be left empty (required: false)")
            if question.answer == "text" or value not in allowed.get(question.answer, {value}):
                raise ValueError(f"keep: {name} cannot be {value:g}: its answer is {question.answer}")
        if self.rule == "adjudicate" and self.votes_per_task() < 2 and any(q.answer != "text" for q in asked.values()):
            raise ValueError("rule: adjudicate needs at least two annotators a thing; with one, write rule: mean")
        return self

    @abstractmethod
    def votes_per_task(self) -> int:
        """How many annotators judge each thing."""

    def display_fields(self) -> dict[str, str]:
        """Names of the fields that people are shown, with their labels, in order."""
        return {name: label for name, label in self.fields.items() if label is not None}

    def questions_about(self, subject: str = "") -> dict[str, GuidingQuestion]:
        """The guiding questions that are asked (about `subject`, if given), in their order."""
        found = [(name, q) for name, q in self.questions.items() if q is not None and subject in ("", q.subject)]
        return dict(sorted(found, key=lambda pair: pair[1].order))

    def gating_questions(self, subject: str) -> dict[str, float]:
        """The gating questions about `subject` in their order, with the decision that keeps."""
        pairs: list[tuple[str, Any]] = [(name, self.keep.get(name)) for name in self.questions_about(subject)]
        return {name: value for name, value in pairs if value is not None}


class GoldSpec(Spec):
    """Tasks with known answers, planted among the others to see how well people judge; they decide nothing.

    `file` is JSON Lines: ``fields`` (name to text), ``paragraphs`` (objects with ``text`` and maybe ``title``, at
    will) and ``expected`` (guiding question about the claim to its right answer). Each annotator gets one after every
    `every` other tasks, until all are used.
    """

    file: FileRef
    every: Annotated[int, Field(ge=1)] = 10


class ProjectSpec(AnnotationSpec):
    """One body of work in the app: what is shown, what is asked, of how many people.

    `heading` and `paragraph` are the words for the task and for a paragraph. `guideline` is a Markdown file that stands
    beside every task. People are shown a banner after `suggested_seconds`; work handed in before `min_seconds` is
    marked as hasty for the lead, not refused.
    """

    title: Annotated[str, Field(min_length=1, max_length=80)]
    fields: dict[Name, str | None] = Field(...)
    heading: str
    paragraph: str
    per_task: Annotated[int, Field(ge=1, le=20)]
    guideline: FileRef | None = None
    suggested_seconds: Annotated[int | None, RuntimeOption(), Field(ge=1)] = None
    min_seconds: Annotated[int | None, RuntimeOption(), Field(ge=0)] = None
    gold: GoldSpec | None = None

    def votes_per_task(self) -> int:
        """How many annotators judge each task."""
        return self.per_task


class TaskRowsSpec(Spec):
    """Where the tasks of a review come from: a file of rows, or the finished items.

    `file` is JSON Lines, CSV or Parquet; with ``null`` and ``items: true`` the rows are those of the item step, as
    ``items.tsv`` holds them. `show` maps fields of the task to columns, of which a row may lack any but the first;
    `paragraphs` is a column with a text or a list of texts (or of objects with ``text`` and ``title``); `about` are
    columns that are exported with the votes and never shown. `sample` rows are drawn by the recipe's seed, in
    proportion to the values of the column `by`.
    """

    file: FileRef | None = None
    items: bool = False
    task: Name | None = None
    """Of a benchmark with several tasks: whose items are meant."""
    show: dict[Name, str | None]
    paragraphs: str | None = None
    about: tuple[str, ...] = ()
    sample: Annotated[int | None, Field(ge=1)] = None
    by: str | None = None


class ReviewProjectSpec(ProjectSpec):
    """A body of work that is not the annotation of candidates: ratings of answers, forms, free-text answers."""

    kind: str = "review"
    rows: TaskRowsSpec
