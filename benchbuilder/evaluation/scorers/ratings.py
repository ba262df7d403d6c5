"""The scorer kind `ratings`: human ratings of answers, from files or from the review app."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.annotation import (
    EXPORT_COLUMNS,
    ProjectAnswer,
    is_disputed,
    project_answers_digest,
    read_exported_answers,
    read_project_answers,
)
from benchbuilder.config import FileRef, GuidingQuestion, KindSpec, Name, RuntimeOption
from benchbuilder.core import (
    Answer,
    DataError,
    Dropped,
    Item,
    Rating,
    StepContext,
    normalise_space,
    raise_row_errors,
    read_given_file,
    read_row_file,
    recipe_name,
    strip_reasoning,
    to_half_width,
)
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult

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
    version: ClassVar[int] = 2
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


_LONG = frozenset({"aspect", "rater", "value"})
_NEXT = (
    "long form: id (or question), model, aspect, rater, value; wide form: id (or question), model, and a column "
    "ASPECT.RATER each; or an export of votes"
)
_ANNOTATOR, _ADJUDICATOR = "annotator", "adjudicator"


@dataclass(frozen=True, slots=True)
class AnswerRating:
    """The rating of an answer by one person in one aspect, from 0 to 1, with its location `where`.

    `ids` and `models` have several entries if they share the answer. `answer` is the rated text with white space
    folded; ``None`` if unknown.
    """

    where: str
    ids: tuple[str, ...]
    question: str
    models: tuple[str, ...]
    aspect: str
    rater: str
    role: str
    value: float
    answer: str | None

    def lookup_keys(self) -> tuple[str, ...]:
        """The keys by which it is found: the ids, and the question with white space folded."""
        return (*self.ids, self.question) if self.question else self.ids


def ratings_in_file(file: Path, aspects: Collection[str]) -> tuple[AnswerRating, ...]:
    """The ratings in `aspects` from a file in long or wide form, or from an export.

    A plan asks for them once per model, so the last file is cached until its content changes. DataError lists unusable
    rows with file and line: values that are not numbers from 0 to 1, unknown answers, and repeated ratings.
    """
    try:
        content = hashlib.sha256(read_given_file(file)).hexdigest()
    except OSError:  # the reader below reports it
        content = ""
    return _read_ratings(file, tuple(aspects), content)


@lru_cache(maxsize=2)
def _read_ratings(file: Path, aspects: tuple[str, ...], content: str) -> tuple[AnswerRating, ...]:  # noqa: ARG001
    rows = read_row_file(file)
    columns = list(dict.fromkeys(name for _, row in rows for name in row))
    if rows and set(columns) >= EXPORT_COLUMNS:
        return tuple(ratings_in_app(read_exported_answers(file, rows), aspects, file.name))
    raters = {name: tuple(name.split(".", 1)) for name in columns if name.partition(".")[0] in aspects and "." in name}
    if rows and not raters and not set(columns) >= _LONG:
        raise DataError(
            f"{file.name} holds no ratings of {', '.join(aspects)}", where=str(file),
            why=f"its columns are {', '.join(columns)}", next=_NEXT,
        )  # fmt: skip
    ratings: list[AnswerRating] = []
    problems: list[str] = []
    for line, row in rows:
        where = f"{file.name}:{line}"
        named = [str(row.get(name) or "").strip() for name in ("aspect", "rater")]
        cells = [(*raters[name], row.get(name)) for name in raters] if raters else [(*named, row.get("value"))]
        for aspect, rater, cell in cells:
            if aspect not in aspects or _is_blank(cell):
                continue
            try:
                ratings.append(_rating(where, row, aspect, rater, cell))
            except ValueError as error:
                problems.append(f"{where}: {error}")
    _raise_problems(problems, ratings, file.name, _NEXT)
    return tuple(ratings)


def ratings_in_app(votes: Iterable[ProjectAnswer], aspects: Collection[str], label: str) -> list[AnswerRating]:
    """The ratings among the answers of a rating project, whose rows name ``model`` and ``id`` (or show ``question``).

    DataError lists the rows that do not name these, or have invalid values.
    """
    ratings: list[AnswerRating] = []
    problems: list[str] = []
    for vote in votes:
        if vote.question not in aspects:
            continue
        ids, models = (tuple(filter(None, vote.metadata.get(name, ()))) for name in ("id", "model"))
        question, text = normalise_space(vote.fields.get("question", "")), vote.fields.get("answer")
        if not models or not (ids or question):
            problems.append(f"{vote.location}: the rated model or item is missing")
            continue
        try:
            value = _value(vote.value)
        except ValueError as error:
            problems.append(f"{vote.location}: {vote.question} of {vote.person}: {error}")
            continue
        ratings.append(AnswerRating(
            vote.location, ids, question, models, vote.question, vote.person, vote.role, value,
            None if text is None else normalise_space(text),
        ))  # fmt: skip
    _raise_problems(
        problems, ratings, label, "its rows say `about: [id, model]`, and its aspects are scalars from 0 to 1"
    )
    return ratings


def _raise_problems(problems: Sequence[str], ratings: Sequence[AnswerRating], label: str, advice: str) -> None:
    """Raise DataError if there are problems with rows, or between the ratings of several rows."""
    every = [*dict.fromkeys(problems), *_ambiguous_models(ratings), *_duplicate_problems(ratings)]
    raise_row_errors(every, f"{label} holds ratings that cannot be used", advice)


def _rating(where: str, row: Mapping[str, Any], aspect: str, rater: str, cell: Any) -> AnswerRating:
    """Parse one rating; ValueError says what is wrong."""
    name = next((str(row[key]).strip() for key in ("id", "item") if row.get(key)), "")
    question, model = (str(row.get(key) or "").strip() for key in ("question", "model"))
    if not model or not (name or question):
        raise ValueError("the rated model or item is missing")
    if not rater:
        raise ValueError(f"the rater of {aspect} is missing")
    role = str(row.get("role") or _ANNOTATOR).strip()
    if role not in (_ANNOTATOR, _ADJUDICATOR):
        raise ValueError(f"role is {role!r}; known are {_ANNOTATOR}, {_ADJUDICATOR}")
    try:
        value = _value(cell)
    except ValueError as error:
        raise ValueError(f"{aspect} of {rater}: {error}") from error
    text = row.get("answer")
    return AnswerRating(
        where, (name,) if name else (), normalise_space(question), (model,), aspect, rater, role, value,
        None if text is None else normalise_space(str(text)),
    )  # fmt: skip


def _is_blank(cell: Any) -> bool:
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _value(cell: object) -> float:
    """Parse a number from 0 to 1, also with full-width digits or a decimal comma; ValueError otherwise."""
    plain = to_half_width(unicodedata.normalize("NFKC", str(cell))).strip().replace(",", ".")
    try:
        value = math.nan if isinstance(cell, bool) else float(plain)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise ValueError(f"{str(cell)!r} is not a number from 0 to 1")
    return value


def _ambiguous_models(ratings: Sequence[AnswerRating]) -> list[str]:
    """Problems with different model names that a recipe writes alike: they may or may not be one model."""
    first: dict[str, tuple[str, AnswerRating]] = {}
    problems: dict[str, str] = {}
    for rated in ratings:
        for model in rated.models:
            before, at = first.setdefault(recipe_name(model), (model, rated))
            if before != model:
                message = f"the model {model!r} is called {before!r} at {at.where}: give a model one name everywhere"
                problems.setdefault(model, f"{rated.where}: {message}")
    return list(problems.values())


def _duplicate_problems(ratings: Sequence[AnswerRating]) -> list[str]:
    """Problems with second ratings by one person, or second decisions, for one answer in one aspect."""
    first: dict[tuple[str, str, str, str, str | None], AnswerRating] = {}
    problems: list[str] = []
    for rated in ratings:
        who = rated.role if rated.role == _ADJUDICATOR else f"{_ANNOTATOR} {rated.rater}"
        for place in rated.ids or (rated.question,):
            for model in rated.models:
                before = first.setdefault((place, recipe_name(model), rated.aspect, who, rated.answer), rated)
                if before is not rated:
                    message = f"{rated.aspect} of {model} on {place} was rated before, at {before.where}"
                    problems.append(f"{rated.where}: {rated.rater}: {message}")
    return problems
