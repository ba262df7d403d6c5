"""What a recipe says about work that people do in the review app."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from benchbuilder.config.spec.annotation import AnnotationSpec, Name
from benchbuilder.config.spec.base import FileRef, RuntimeOption, Spec


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
