"""Makes the examples that judges are trained on from items, answers and ratings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from benchbuilder.config import TrainingSpec
from benchbuilder.core import Answer, DataError, Item, Score, join_groups, near_texts
from benchbuilder.evaluation.judges.base import Case, Example, make_case


class EvaluationTables(Protocol):
    """The tables of an evaluation: items, answers and scores."""

    @property
    def items(self) -> Iterable[Item[Any]]:
        """The benchmark."""
        ...

    @property
    def answers(self) -> Iterable[Answer]:
        """Answers of all models."""
        ...

    @property
    def scores(self) -> Iterable[Score]:
        """Scores by any scorer in any aspect."""
        ...


def make_examples(
    items: Iterable[Item[Any]], answers: Iterable[Answer], scores: Iterable[Score], aspect: str,
    training: TrainingSpec,
) -> list[Example]:  # fmt: skip
    """Make an example of every answer that the training scorer scored in `aspect`, and the synthetic examples.

    The order of rows makes no difference. Scores without a value, and answers to unknown items, are left out.

    Raises:
        DataError: No answer is rated in this aspect.
    """
    known = {item.id: item for item in items}
    texts = {answer.id: answer for answer in answers}
    families = item_families((_member(item) for item in known.values()), training.near)
    examples: list[Example] = []
    for score in scores:
        answer = texts.get(score.of)
        if score.scorer != training.scorer or score.aspect != aspect or score.value is None or answer is None:
            continue
        if (item := known.get(score.item)) is not None:
            ratings = tuple((rating.rater, rating.value) for rating in score.ratings)
            case = make_case(item, answer.text)
            examples.append(_example(item, families, case, score.value, 1.0, model=answer.model, ratings=ratings))
    if not examples:
        raise DataError(
            f"there is no answer with a rating of its {aspect}",
            why=f"judges learn from the scores of evaluation.scorers.{training.scorer}",
            next="have answers rated, or check evaluation.training.scorer and the aspect of the judge",
        )
    if aspect in training.synthetic:
        examples += [made for item in known.values() for made in _statements(item, families, training.synthetic_weight)]
    return sorted(examples, key=lambda example: (example.item, example.model, example.target, example.case.answer))


def _member(item: Item[Any]) -> GroupMember:
    """What a judge could recognise the item by: verdicts alone are those of many items."""
    case = make_case(item, "")
    answers = () if item.verdict_only else (case.right, case.wrong)
    return GroupMember(item.id, item.family_name, (case.question, *answers))


def _example(
    item: Item[Any], families: dict[str, str], case: Case, target: float, weight: float,
    model: str = "", ratings: tuple[tuple[str, float], ...] = (),
) -> Example:  # fmt: skip
    return Example(case, target, weight, item.id, families[item.id], model, item.partition, ratings)


def _statements(item: Item[Any], families: dict[str, str], weight: float) -> Iterable[Example]:
    """The true statement as a right answer, and the false statement as a wrong answer."""
    case = make_case(item, "")
    for text, target in ((case.right, 1.0), (case.wrong, 0.0)):
        if text:
            yield _example(item, families, replace(case, answer=text), target, weight)


def drop_some_evidence(examples: Sequence[Example], proportion: float, seed: int) -> list[Example]:
    """Remove the paragraphs of about a `proportion` of the examples; the example and the seed decide which."""
    return [
        replace(example, case=example.case.without_evidence()) if draw_number(example, seed) < proportion else example
        for example in examples
    ]


def draw_number(example: Example, *marks: int | str) -> float:
    """A number from 0 to 1 that depends on the example and the `marks` (seed, purpose) alone."""
    text = json.dumps([*marks, example.item, example.model, example.case.answer], ensure_ascii=False)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") / 2**64


def examples_digest(examples: Iterable[Example]) -> str:
    """SHA-256 of everything that a judge can learn from the examples; their order makes no difference."""
    lines = sorted(
        json.dumps(
            [e.case.question, e.case.answer, e.case.evidence, e.case.right, e.case.wrong, e.case.type, e.target,
             e.weight, e.item, e.family, e.model, e.source, e.ratings], ensure_ascii=False,
        )
        for e in examples
    )  # fmt: skip
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class GroupMember:
    """An item: its id, its fact (empty if it has none), and every text by which a judge could recognise it."""

    id: str
    fact: str
    texts: tuple[str, ...]


def item_families(members: Iterable[GroupMember], threshold: float) -> dict[str, str]:
    """The family of each member by id, named by the first fact (or id) in it; the order of members does not matter.

    Two members belong to one family if they share a fact, or if a text of one and a text of the other have equal
    character trigrams, or trigrams whose Jaccard index exceeds `threshold`. Punctuation, white space, width and case
    are ignored. Families are transitive: members related to the same member belong together.
    """
    ordered = sorted(members, key=lambda member: member.id)
    owners = [place for place, member in enumerate(ordered) for _ in member.texts]
    near = near_texts((text for member in ordered for text in member.texts), threshold)
    pairs = ((owners[left], owners[right]) for left, right in near)
    names = join_groups([member.fact or member.id for member in ordered], pairs)
    return dict(zip((member.id for member in ordered), names, strict=True))
