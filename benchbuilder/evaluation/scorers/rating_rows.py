"""Reads ratings of answers from files, from an export of votes, or from the review app."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchbuilder.annotation import EXPORT_COLUMNS, ProjectAnswer, read_exported_answers
from benchbuilder.core import (
    DataError,
    normalise_space,
    raise_row_errors,
    read_given_file,
    read_row_file,
    recipe_name,
    to_half_width,
)

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
