"""The scorer kind `set_answer`: which members of the right and of the wrong set of names an answer names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from benchbuilder.config import KindSpec
from benchbuilder.core import (
    OPEN_SET,
    SET_FORM,
    Answer,
    DataError,
    Item,
    NotApplicable,
    Regex,
    StepContext,
    set_members,
    strip_reasoning,
    truncate_code_points,
)
from benchbuilder.evaluation.judges.base import make_case
from benchbuilder.evaluation.parsing.named_members import SetReader, SetReading, Sets
from benchbuilder.evaluation.scorers.base import AspectScore, Scorer, ScorerResult

_SHOWN = 400
"""Most characters of a detail."""


class SetAnswerSpec(KindSpec):
    """How names are found in answers. Patterns are for lower case and half width, without the characters of `ignore`.

    Names are found by whole words, whatever their case, width and spaces; one of `endings` may follow a name. Then a
    name of at least `similar_from` characters is found in what is like it: in at least the share `similar` of the
    characters of both, in order, with the same numbers.

    A name is denied if one of the patterns `denials` is before it, unless `turns` or the end of a sentence (`ends`) is
    between them. What is denied behind the name is not seen (X is no complication).

    To count other names, an answer is read as a list if it has marked lines, lines of at most `longest_name`
    characters, or an enumeration: parts between `separators`, none of them longer, behind one of `leads` or as the
    whole answer. `fillers` are removed from its entries.
    """

    ignore: str
    endings: tuple[str, ...] = ()
    similar: Annotated[float, Field(gt=0, le=1)]
    similar_from: Annotated[int, Field(ge=2)]
    denials: tuple[Regex, ...]
    turns: Regex
    ends: Regex
    separators: Regex
    leads: Regex
    fillers: Regex
    longest_name: Annotated[int, Field(ge=1)]
    longest: Annotated[int, Field(ge=1000)] = 20_000
    """Of a longer answer only so many first characters are read."""

    def reader(self) -> SetReader:
        """The reader with these settings."""
        return SetReader(**{name: getattr(self, name) for name in SetReader.__dataclass_fields__})


class SetAnswerScorer(Scorer):
    """Scores open questions whose right answer is a set of names (items of the form ``set``), in three aspects.

    ``set_recall`` is the share of the right members that the answer names, by any of their names. ``set_precision`` is
    the share of right ones among all members that it names. ``set_contradiction`` is the share of the members of the
    wrong set that it names; here less is better. An answer without text, or in reasoning without an end, names nothing.

    ``set_precision`` has no value, and the label says why, for items whose right set is not whole (``open_set``) and
    for answers that name nothing (``nothing_named``). Items without a wrong set have no ``set_contradiction``. With the
    label ``no_list``, only members of the two sets count, because the answer is no list. Other labels are outcomes of a
    request that gave no complete answer, or ``invalid``.

    The detail has what is named, with the likeness of a name that is not there as it is. The counts of ``set_recall``
    are the right members that are named, all that are named, and the right members; for an ``open_set``, names of
    neither set do not count.
    """

    kind: ClassVar[str] = "set_answer"
    version: ClassVar[int] = 3
    spec_class: ClassVar[type[KindSpec]] = SetAnswerSpec
    reasons: ClassVar[Mapping[str, str]] = {
        "no_set": "The right answer to the item is no set of names.",
        "missing": "The model has no answer to this item.",
    }

    def __init__(self, spec: Any, context: StepContext) -> None:
        super().__init__(spec, context)
        self.spec: SetAnswerSpec = spec
        self._reader = self.spec.reader()

    def score(self, pairs: Sequence[tuple[Answer, Item[Any]]]) -> Iterable[ScorerResult]:
        """The three scores of each answer; DataError if a set cannot be read."""
        return [self._scored(answer, item) for answer, item in pairs]

    def _scored(self, answer: Answer, item: Item[Any]) -> ScorerResult:
        if item.form != SET_FORM:
            return NotApplicable("no_set")
        if answer.outcome == "missing":
            return NotApplicable("missing")
        sets = _sets(item)
        label = "" if answer.outcome == "complete" else answer.outcome
        said = strip_reasoning(answer.text if answer.outcome in ("complete", "truncated") else "")
        reading = None if said is None else self._reader.read(said[: self.spec.longest], sets)
        if reading is None:
            reading, label = SetReading(), "invalid"
        return _marks(sets, reading, label, is_open=OPEN_SET in item.tags)


def _sets(item: Item[Any]) -> Sets:
    """The right and the wrong set of an item."""
    case = make_case(item, "")
    try:
        right, wrong = set_members(case.right), set_members(case.wrong)
    except ValueError as error:
        raise DataError(
            "an answer of an item of the form `set` is no set of names", where=item.id, why=str(error),
            next="write members with '; ' between them, and names of one member with ' / ' between them",
        ) from error  # fmt: skip
    if not right:
        raise DataError(
            "an item of the form `set` has no right member", where=item.id, why="its answer is empty",
            next="give it an answer, or another form",
        )  # fmt: skip
    return right, wrong


def _marks(sets: Sets, reading: SetReading, label: str, *, is_open: bool) -> tuple[AspectScore, ...]:
    right, named = reading.counts(is_open=is_open)
    why = "open_set" if is_open else "nothing_named" if not named else "" if reading.is_list else "no_list"
    figures = reading.figures(sets, is_open=is_open)
    told = [_detail(members, found) for members, found in zip(sets, reading.named, strict=True)]
    details = {"set_recall": told[0], "set_precision": truncate_code_points("; ".join(reading.others), _SHOWN),
               "set_contradiction": told[1]}  # fmt: skip
    counts = {"set_recall": (right, named, len(sets[0]))}
    return tuple(
        AspectScore(
            aspect,
            value,
            label or (why if aspect == "set_precision" else ""),
            details[aspect],
            counts=counts.get(aspect, ()),
        )
        for aspect, value in figures.items()
    )


def _detail(members: Sequence[Sequence[str]], found: Mapping[int, float]) -> str:
    """The members that are named, each by its first name, with the likeness where it is below 1."""
    told = [members[place][0] + ("" if found[place] == 1 else f" ({found[place]:.2f})") for place in sorted(found)]
    return truncate_code_points("; ".join(told), _SHOWN)
