"""What a recipe says about people's work: the annotation of candidates, and rating projects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from benchbuilder.config.spec.base import DescriptiveField, FileRef, KindSpec, RuntimeOption, Seed, Spec

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


AnswerType = Literal["binary", "scale", "scalar", "text"]


class Band(Spec):
    """The meaning of the values of a scalar from `low` up to `high`, for the people who give them."""

    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]
    text: Annotated[str, Field(min_length=1)]


class GuidingQuestion(Spec):
    """A question that each annotator answers about a claim, or about each paragraph of its evidence.

    `subject` is what the question is about; rows without evidence are judged like claims. `text` is the wording. Votes
    are bound to it, and to the meaning of the answers. `label` is a short form for column headers. `order` is the place
    among the guiding questions: in sheets, on the page, and as a filter threshold. `min_evidence` is applied at the
    place of the first question about evidence. `answer` is the type of the answers:

    - ``binary``: 0 or 1
    - ``scale``: one of `options`, ordered whole numbers with their meaning
    - ``scalar``: a number from 0 to 1 in steps of `step`, with `bands` as anchors. Two scalars are in dispute if they
      differ by more than `tolerance`, or lie on different sides of `threshold` (on or above it, and below it)
    - ``text``: free text of at most `max_chars` characters in a field of `lines` lines; never in dispute

    A question that is not `required` may be left empty. A question about a `field` of the task is not asked where that
    field is empty: a gate of it lets such a task pass.
    """

    order: int
    subject: Literal["claim", "evidence"] = "claim"
    label: Annotated[str, Field(min_length=1)]
    text: Annotated[str, Field(min_length=1)]
    answer: AnswerType = "binary"
    required: bool = True
    field: Name | None = None
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
            raise ValueError("options: a scale needs at least two, each a whole number with its meaning")
        if self.answer != "scale" and self.options:
            raise ValueError(f"options: only a question with answer: scale has them, this one has {self.answer}")
        if self.field is not None and self.subject != "claim":
            raise ValueError("field: only a question about the claim is about one of its fields")
        if self.answer != "scalar" and self.bands:
            raise ValueError(f"bands: only a question with answer: scalar has them, this one has {self.answer}")
        if any(band.low >= band.high for band in self.anchors()):
            raise ValueError("bands: each goes from low up to a higher value")
        return self

    def anchors(self) -> list[Band]:
        """The bands from the highest to the lowest."""
        return sorted((b for b in self.bands.values() if b is not None), key=lambda band: (-band.high, -band.low))


class BootstrapSpec(Spec):
    """The bootstrap: `samples` resamples of candidates, and a percentile interval at `level`."""

    samples: Annotated[int, Field(ge=100, le=100_000)]
    level: Annotated[float, Field(gt=0, lt=1)]
    seed: Seed


class AgreementFloor(Spec):
    """How far people must agree on each guiding question, by the lower bound of the interval; ``null`` sets no floor.

    `alpha` is the floor of Krippendorff's alpha. If more than 95 % of the decisions are the same, it is that of Gwet's
    AC1. `raw` is the floor of the proportion that agrees (scalars: within the tolerance). A release refuses labels of
    a question below the floor. With `unknown` ``close``, it also refuses questions on which too little was judged.
    """

    alpha: Annotated[float | None, Field(ge=0, lt=1)] = 0.6
    raw: Annotated[float | None, Field(ge=0, lt=1)] = 0.85
    unknown: Literal["warn", "close"] = "warn"


class AnnotationSpec(KindSpec, ABC):
    """Who judges what, and what is kept.

    `keep` maps guiding questions to their filter threshold, the decision that is required: exactly this one for binary
    answers, this or a higher one on a scale or a scalar. A paragraph supports a candidate if it has the required
    decision on every question about evidence; a candidate needs `min_evidence` supporting paragraphs. A question that
    is ``null`` is not asked. One that is ``null`` or missing in `keep` is asked, but does not filter.

    With the `rule` ``adjudicate``, an adjudicator decides if the annotators are in dispute; otherwise they do (scalars:
    by their mean). With ``mean`` there is no adjudicator: the mean of all votes decides. With ``two_negatives``
    decisions are those of ``adjudicate``, and a candidate is dropped only if it misses two or more of the filter
    thresholds, of which the number of supporting paragraphs is one. `thresholds` are the numbers of supporting
    paragraphs for which kept candidates are counted. `fields` lists what people see, in order, each with a label;
    ``null`` hides a field. `floor` says how far people must agree. It changes no item.
    """

    questions: dict[Name, GuidingQuestion | None]
    rule: Literal["adjudicate", "mean", "two_negatives"] = "adjudicate"
    keep: dict[Name, int | float | None] = {}
    min_evidence: Annotated[int, Field(ge=0)] = 0
    thresholds: tuple[Annotated[int, Field(ge=0)], ...] = ()
    fields: dict[Name, str | None] = {}
    bootstrap: BootstrapSpec
    floor: Annotated[AgreementFloor, DescriptiveField()] = AgreementFloor()
    recheck: Annotated[int, DescriptiveField(), Field(ge=1)] = 100
    """How many items a review with ``rows.recheck`` shows to people who did not vote on them."""

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
        if self.rule != "mean" and self.votes_per_task() < 2 and any(q.answer != "text" for q in asked.values()):
            raise ValueError(f"rule: {self.rule} needs at least two annotators a thing; with one, write rule: mean")
        return self

    @property
    def negatives(self) -> int:
        """How many filter thresholds a candidate must miss to be dropped."""
        return 2 if self.rule == "two_negatives" else 1

    @abstractmethod
    def votes_per_task(self) -> int:
        """How many annotators judge each thing."""

    def display_fields(self) -> dict[str, str]:
        """Names of the fields that people see, with their labels, in order."""
        return {name: label for name, label in self.fields.items() if label is not None}

    def questions_about(self, subject: str = "") -> dict[str, GuidingQuestion]:
        """The guiding questions that are asked (about `subject`, if given), in their order."""
        found = [(name, q) for name, q in self.questions.items() if q is not None and subject in ("", q.subject)]
        return dict(sorted(found, key=lambda pair: pair[1].order))

    def gating_questions(self, subject: str) -> dict[str, float]:
        """The questions about `subject` that filter, in order, with the required decision."""
        pairs: list[tuple[str, Any]] = [(name, self.keep.get(name)) for name in self.questions_about(subject)]
        return {name: value for name, value in pairs if value is not None}


class GoldSpec(Spec):
    """Gold tasks with known answers among the others show how well people judge; they decide nothing.

    `file` is JSON Lines: ``fields`` (name to text), optionally ``paragraphs`` (objects with ``text`` and an optional
    ``title``), and ``expected`` (guiding question about the claim to its right answer). Each annotator gets one after
    every `every` other tasks, until all are used.
    """

    file: FileRef
    every: Annotated[int, Field(ge=1)] = 10


class ProjectSpec(AnnotationSpec):
    """One project in the app: what is shown, what is asked, and how many people judge.

    `heading` and `paragraph` are the words for the task and for a paragraph. `guideline` is a Markdown file shown
    beside every task. People see a banner after `suggested_seconds`. Work submitted before `min_seconds` is marked as
    hasty for the project owner, not rejected.
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
    """The source of the tasks of a review: a file of rows, the finished items, or those that answers made suspicious.

    `file` is JSON Lines, CSV or Parquet. With ``null`` and ``items: true`` the rows are those of the item step, as in
    ``items.tsv``. `show` maps fields of the task to columns; a row may lack any but the first. `paragraphs` is a column
    with a text or a list of texts (or of objects with ``text`` and ``title``). `about` lists columns that are exported
    with the votes and never shown. `sample` rows are drawn by the recipe's seed, in proportion to the values of the
    column `by`.
    """

    file: FileRef | None = None
    items: bool = False
    task: Name | None = None
    """In a benchmark with several tasks: the task of the items."""
    flagged: bool = False
    """Whether the rows are the items that ``benchbuild analyse`` sends back to experts, as in ``to_experts.jsonl``."""
    recheck: tuple[Name, ...] = ()
    """Guiding questions whose yes makes a label wrong. The rows are then drawn from the finished items, as many as
    ``annotation.recheck`` says, by source and by what the analysis flagged. Nobody gets an item that they voted on."""
    show: dict[Name, str | None]
    paragraphs: str | None = None
    about: tuple[str, ...] = ()
    sample: Annotated[int | None, Field(ge=1)] = None
    by: str | None = None


class ReviewProjectSpec(ProjectSpec):
    """A project other than the annotation of candidates: ratings of answers, forms, free-text answers."""

    kind: str = "review"
    rows: TaskRowsSpec

    @model_validator(mode="after")
    def _check_recheck(self) -> ReviewProjectSpec:
        asked = {name for name, q in self.questions_about("claim").items() if q.answer == "binary" and q.required}
        if unknown := [name for name in self.rows.recheck if name not in asked]:
            known = ", ".join(sorted(asked)) or "none"
            raise ValueError(f"rows.recheck: {unknown[0]} is no required question of yes and no about items ({known})")
        if self.rows.recheck and (self.rows.file or self.rows.flagged or self.rows.sample):
            raise ValueError("rows.recheck: the rows are drawn from the items; leave out file, flagged and sample")
        return self
