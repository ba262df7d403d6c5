"""The scorer kind `ratings`: human ratings of answers, from files or from the review app."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.annotation import is_disputed, project_answers_digest, read_project_answers
from benchbuilder.config import FileRef, GuidingQuestion, KindSpec, Name, RuntimeOption
from benchbuilder.core import Answer, Dropped, Item, Rating, StepContext, normalise_space, recipe_name, strip_reasoning
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult
from benchbuilder.evaluation.scorers.rating_rows import AnswerRating, ratings_in_app, ratings_in_file

_GRAVITY = ("unrated", "too_few", "in_dispute")
"""Reasons for a missing score; if two apply, the later one is reported."""


class RatingsSpec(KindSpec):
    """Where ratings come from, and how they become a score.

    By default they come from the rating project `review` in the app. With `file` they come from CSV, TSV, JSON Lines or
    Parquet in long form (``id`` or ``question``, ``model``, ``aspect``, ``rater``, ``value``, optionally ``role`` and
    ``answer``), in wide form (one column ``ASPECT.RATER`` each), or from the app's export (`benchbuild votes export
    csv`). `aspects` are the scored aspects; in the app, they are names of guiding questions.

    With the `rule` ``mean`` the score is the mean of the annotators' ratings. With ``adjudicate`` it is the mean unless
    they differ by more than `tolerance`, or are on different sides of `threshold`: then an adjudicator's rating is the
    score. An answer with fewer than `at_least` ratings in an aspect has no score in it.
    """

    aspects: Annotated[tuple[Name, ...], Field(min_length=1)]
    review: Name = "answers"
    file: FileRef | None = None
    rule: Literal["mean", "adjudicate"] = "mean"
    at_least: Annotated[int, Field(ge=1, le=100)]
    tolerance: Annotated[float, Field(ge=0, le=1)]
    threshold: Annotated[float, Field(ge=0, le=1)]
    database_env: Annotated[str | None, RuntimeOption()] = None

    @property
    def looks_elsewhere(self) -> bool:
        """A shared database is not in the folder of the build."""
        return self.database_env is not None


class RatingsScorer(Scorer):
    """Scores answers by human ratings; each rater's value is kept beside the score.

    Ratings are matched by the item's id, else by its question, and by the model's name, as written or as in recipes. If
    a rating names the rated text, it must be the answer, with or without the thoughts before it. Ratings by
    adjudicators do not enter the mean.
    """

    kind: ClassVar[str] = "ratings"
    spec_class: ClassVar[type[KindSpec]] = RatingsSpec
    reasons: ClassVar[Mapping[str, str]] = {
        "unrated": "Nobody rated this answer.",
        "too_few": "Fewer people rated this answer than the recipe asks for.",
        "in_dispute": "People are in dispute about this answer, and no adjudicator decided.",
        "other_answer": "What people rated is another answer of this model to the same question.",
    }

    spec: RatingsSpec

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self._rated: Sequence[AnswerRating] = ()
        self._found: dict[tuple[str, str], list[AnswerRating]] = {}

    def external_inputs(self) -> Mapping[str, str]:
        """A digest of what counts in the app; nothing before there is anything, and nothing of a file."""
        spec = self.spec
        if spec.file is not None:
            return {}
        digest = project_answers_digest(spec.review, spec.database_env, self.context.workplace)
        return {f"ratings in the app ({spec.review})": digest} if digest else {}

    def open(self) -> None:
        """Read all ratings; DataError lists those that are unusable, with file and line."""
        spec = self.spec
        if spec.file is not None:
            self._rated = ratings_in_file(spec.file.file, spec.aspects)
        else:
            votes = read_project_answers(spec.review, spec.database_env, self.context.workplace)
            self._rated = ratings_in_app(votes, spec.aspects, f"the review {spec.review!r}")
        self._found = {}
        for rated in self._rated:
            for model in rated.models:
                for place in rated.lookup_keys():
                    self._found.setdefault((recipe_name(model), place), []).append(rated)

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """A score in each aspect with enough ratings."""
        return [self._scored(answer, item) for answer, item in pairs]

    def unused_ratings(self, items: Collection[Item[Any]], models: Collection[str]) -> Iterator[str]:
        """Sentences about ratings of items or models that are not in the evaluation."""
        known = {place for item in items for place in _lookup_keys(item)}
        named = {recipe_name(model) for model in models}
        strange = [rated for rated in self._rated if known.isdisjoint(rated.lookup_keys())]
        others = sorted({m for rated in self._rated for m in rated.models if recipe_name(m) not in named})
        if strange:
            yield f"{len(strange)} ratings are of other items than the benchmark's (the first: {strange[0].where})"
        if others:
            count = sum(not named & {recipe_name(model) for model in rated.models} for rated in self._rated)
            yield f"{count} ratings are of models that do not answer here: {', '.join(others)}"

    def _scored(self, answer: Answer, item: Item[Any]) -> ScorerResult:
        name = recipe_name(answer.model)
        candidates = next((rated for place in _lookup_keys(item) if (rated := self._found.get((name, place)))), [])
        candidates = [rated for rated in candidates if rated.ids == candidates[0].ids or item.id in rated.ids]
        shown = {None, *(normalise_space(text) for text in (answer.text, strip_reasoning(answer.text) or ""))}
        fitting = [rated for rated in candidates if rated.answer in shown]
        if candidates and not fitting:
            return Dropped("other_answer", f"rated was what stands at {candidates[0].where}")
        by_aspect = {name: [rated for rated in fitting if rated.aspect == name] for name in self.spec.aspects}
        marks = [self._mark(aspect, ratings) for aspect, ratings in by_aspect.items()]
        lacking = [mark for mark in marks if isinstance(mark, Dropped)]
        if len(lacking) < len(marks):
            return tuple(mark for mark in marks if isinstance(mark, AspectScore))
        return max(lacking, key=lambda dropped: _GRAVITY.index(dropped.reason))

    def _mark(self, aspect: str, aspect_ratings: Sequence[AnswerRating]) -> AspectScore | Dropped:
        spec = self.spec
        own = (rated for rated in aspect_ratings if rated.role != "adjudicator")
        rated_by = sorted(own, key=lambda rated: rated.rater)
        if not rated_by:
            return Dropped("unrated")
        values = [rated.value for rated in rated_by]
        if len(rated_by) < spec.at_least:
            return Dropped("too_few", f"{aspect}: {len(rated_by)} of {spec.at_least}")
        ratings = tuple(Rating(rater=rated.rater, value=rated.value) for rated in rated_by)
        mean = round(math.fsum(values) / len(values), 6)
        if spec.rule == "mean" or not is_disputed(self._question(), values):
            return AspectScore(aspect, mean, label="mean", detail=f"n={len(values)}", ratings=ratings)
        final = next((rated for rated in aspect_ratings if rated.role == "adjudicator"), None)
        if final is None:
            return Dropped("in_dispute", f"{aspect}: {', '.join(f'{value:g}' for value in values)}")
        return AspectScore(aspect, final.value, label="adjudicated", detail=final.rater, ratings=ratings)

    def _question(self) -> GuidingQuestion:
        spec = self.spec
        return GuidingQuestion(
            order=1, subject="claim", label="-", text="-", answer="scalar", tolerance=spec.tolerance,
            threshold=spec.threshold,
        )  # fmt: skip


def _lookup_keys(item: Item[Any]) -> tuple[str, str]:
    """The keys by which an item's ratings are found: its id, and its question with context."""
    return item.id, normalise_space(make_case(item, "").question)
