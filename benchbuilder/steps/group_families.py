"""The step `group_families`: near duplicates become one family; equal questions are dropped."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder.config import StepSpec
from benchbuilder.core import (
    Candidate,
    Dropped,
    Fact,
    GatherResult,
    Kept,
    Outcome,
    Table,
    Triple,
    answers_after,
    equality_key,
    jaccard,
    join_groups,
    near_pairs,
    near_rows,
    trigrams,
)
from benchbuilder.steps.base import Gather, Port

_LISTED = 20
"""How many of the largest families the notes name."""


class GroupFamiliesSpec(StepSpec):
    """What is a near duplicate, and what happens to contradictions.

    Facts whose texts share more than `near` of their character trigrams (Jaccard) become one family; ``null`` joins
    none. Two open questions are the same if they are equal, or if they share more than `same` of their trigrams.
    `contradictions` of the same question are dropped, or kept for the experts. With `by_record`, all facts of one
    record of a source are one family, such as those of one procedure.
    """

    near: Annotated[float | None, Field(gt=0, le=1)] = 0.7
    same: Annotated[float, Field(gt=0, le=1)] = 1.0
    contradictions: Literal["drop", "keep"] = "drop"
    by_record: bool = False


@dataclass
class _Drops:
    """The rows that are dropped, by their position."""

    outcomes: dict[int, Dropped] = field(default_factory=dict[int, Dropped])

    def add(self, place: int, reason: str, detail: str) -> None:
        """Drop a row, unless it is dropped already."""
        self.outcomes.setdefault(place, Dropped(reason, detail))


class GroupFamilies(Gather):
    """Joins families of near-duplicate facts, and drops equal questions.

    The texts of a fact are its right and its wrong answers and its open questions, with their contexts. Facts in the
    table of the port `triples` are compared by their two ends alone, each of which must be near: sentences about
    triples share their frame, facts about one concept share its name, and a question may have several answers. Where a
    question is shown with an answer, facts are compared by the question alone.
    Families are joined transitively, and the smallest name is kept.

    Open questions with different right answers contradict each other. So do true/false questions about one statement,
    in whatever form, if it is true for one and false for another. All of them are dropped. Of equal questions with
    equal answers, the first is kept. If a true/false question is dropped, the other true/false questions of its former
    family are dropped too: a family that lost a part may give its verdicts away. Kept rows keep their ids.
    """

    kind: ClassVar[str] = "group_families"
    spec_class: ClassVar[type[StepSpec]] = GroupFamiliesSpec
    ports: ClassVar[Mapping[str, Port]] = {
        "each": Port(Candidate),
        "triples": Port(Fact[Triple], mode="lookup", optional=True),
    }
    reasons: ClassVar[Mapping[str, str]] = {
        "contradiction": "An equal question has another right answer.",
        "duplicate": "An equal question with the same answer is kept.",
        "family_incomplete": "Another true/false question of its family is dropped.",
    }

    spec: GroupFamiliesSpec

    def gather(self, tables: Mapping[str, Table[Any]]) -> GatherResult:
        """Every candidate, kept with its family or dropped, in the order of the input."""
        rows: list[Candidate] = list(tables["each"])
        former = [row.family or row.fact for row in rows]
        same = self._same_questions(rows)
        claimed = [place for place, row in enumerate(rows) if row.type == "tf"]
        alike = same + _group(claimed, lambda place: _claim_key(rows[place]))
        ends = _ends_of_facts(tables.get("triples"))
        asked = ([place for place in places if rows[place].fact not in ends] for places in alike)
        joins = list(chain.from_iterable(pairwise(places) for places in asked))
        if self.spec.near is not None:
            joins += _near_facts(rows, ends, self.spec.near)
        if self.spec.by_record:
            records = _group(range(len(rows)), lambda place: (rows[place].origin.file, rows[place].origin.line))
            joins += chain.from_iterable(map(pairwise, records))
        names = join_groups(former, joins)
        drops = _Drops()
        if self.spec.contradictions == "drop":
            _drop_contradictions(rows, alike, drops)
        _drop_duplicates(rows, former, same, drops)
        outcomes: list[tuple[str, list[Outcome]]] = [
            (row.id, [drops.outcomes.get(place) or Kept(row.model_copy(update={"family": name}))])
            for place, (row, name) in enumerate(zip(rows, names, strict=True))
        ]
        return GatherResult(outcomes, notes=_notes(rows, former, names, alike))

    def _same_questions(self, rows: Sequence[Candidate]) -> list[list[int]]:
        """The positions of candidates with the same question, in order; only groups of several."""
        same = _group(range(len(rows)), lambda place: (rows[place].type, _question_key(rows[place])))
        if self.spec.same == 1.0:
            return same
        places = [place for place, row in enumerate(rows) if row.type == "oe"]
        pairs = near_rows([[trigrams(rows[place].context + rows[place].question)] for place in places], self.spec.same)
        equal = _group(range(len(places)), lambda number: _question_key(rows[places[number]]))
        pairs = chain(pairs, *(pairwise(numbers) for numbers in equal))
        names = join_groups([str(number) for number in range(len(places))], pairs)
        near = _group(range(len(places)), names.__getitem__)
        return [
            *(group for group in same if rows[group[0]].type == "tf"),
            *([places[number] for number in numbers] for numbers in near),
        ]


def _ends_of_facts(triples: Table[Any] | None) -> dict[str, tuple[str, str]]:
    """The head and the tail of each fact of the port `triples`, by its id."""
    if triples is None:
        return {}
    columns = (triples.column(name) for name in ("id", "payload.head", "payload.tail"))
    return {fact: (head, tail) for fact, head, tail in zip(*columns, strict=True)}


def _near_facts(
    rows: Sequence[Candidate], ends: Mapping[str, tuple[str, str]], near: float
) -> Iterator[tuple[int, int]]:
    """Pairs of positions of candidates whose facts are near duplicates."""
    places: dict[str, int] = {}
    texts: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for place, row in enumerate(rows):
        first = places.setdefault(row.fact, place)
        if row.fact not in ends:
            texts[first].update(dict.fromkeys(_texts(row)))
    order = list(texts)
    for left, right in near_rows([[trigrams(text) for text in texts[place]] for place in order], near):
        yield order[left], order[right]
    related = [(place, ends[fact]) for fact, place in places.items() if fact in ends]
    for left, right in _near_ends([pair for _, pair in related], near):
        yield related[left][0], related[right][0]


def _group(places: Iterable[int], key: Callable[[int], Hashable], least: int = 2) -> list[list[int]]:
    """The groups of at least two positions with the same key, in order."""
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place in places:
        groups[key(place)].append(place)
    return [group for group in groups.values() if len(group) >= least]


def _question_key(row: Candidate) -> str:
    return equality_key(row.context + row.question)


def _claim_key(row: Candidate) -> tuple[str, str]:
    """What a true/false question is about: a statement, or an answer to a question that is shown."""
    return equality_key(row.asked), equality_key(row.context + _asked_statement(row))


def _texts(row: Candidate) -> tuple[str, ...]:
    """The texts by which the fact of a candidate is compared: statements, and questions without a statement."""
    if row.asked:
        return (row.context + row.asked,)
    statements = (row.context + row.answer, row.context + row.answer_wrong)
    return statements if row.type == "tf" else (*statements, row.context + row.question)


def _near_ends(ends: Sequence[tuple[str, str]], near: float) -> Iterator[tuple[int, int]]:
    """Pairs of positions of triples whose heads are near and whose tails are near."""
    grams = [(trigrams(head), trigrams(tail)) for head, tail in ends]
    tagged = [frozenset({*(f"h{gram}" for gram in head), *(f"t{gram}" for gram in tail)}) for head, tail in grams]
    first: dict[frozenset[str], int] = {}
    for place, sets in enumerate(tagged):
        if first.setdefault(sets, place) != place:
            yield first[sets], place
    known = list(first)
    for left, right in near_pairs(known, near):  # two ends that are near make a whole that is near
        one, other = grams[first[known[left]]], grams[first[known[right]]]
        if all(a == b or jaccard(a, b) > near for a, b in zip(one, other, strict=True)):
            yield first[known[left]], first[known[right]]


def _is_true(row: Candidate) -> bool:
    """Whether the statement of a true/false question is true without its negation."""
    return (row.expected == "yes") != row.negated


def _asked_statement(row: Candidate) -> str:
    """The statement that a true/false question is about, without its negation."""
    return row.answer if _is_true(row) else row.answer_wrong


def _answers(rows: Sequence[Candidate], places: Sequence[int]) -> dict[int, str]:
    """What equal questions must agree in, by position: the answer, or whether the statement that is asked is true."""
    if rows[places[0]].type == "tf":
        return {place: str(_is_true(rows[place])) for place in places}
    answers: dict[int, str] = {}
    for equal in _group(places, lambda place: _question_key(rows[place]), least=1):
        row = rows[equal[0]]
        statements = [rows[place].context + rows[place].answer for place in equal]
        answers.update(zip(equal, answers_after(row.context + row.question, statements), strict=True))
    return answers


def _drop_contradictions(rows: Sequence[Candidate], alike: Sequence[Sequence[int]], drops: _Drops) -> None:
    for places in alike:
        answers = _answers(rows, places)
        for place, answer in answers.items():
            other = next((rows[one] for one in places if answers[one] != answer), None)
            if other is not None:
                row = rows[place]
                right = [f"{one.expected}: {one.answer}" if one.expected else one.answer for one in (row, other)]
                drops.add(place, "contradiction", f"{right[0]} / {right[1]} ({other.id})")


def _drop_duplicates(
    rows: Sequence[Candidate], former: Sequence[str], same: Sequence[Sequence[int]], drops: _Drops
) -> None:
    """Keep the first of equal questions; true/false questions are kept or dropped by family, in the order of rows."""
    group_of: dict[int, tuple[int, str]] = {}
    for number, places in enumerate(same):
        group_of |= {place: (number, answer) for place, answer in _answers(rows, places).items()}
    families: defaultdict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        families[former[place] if row.type == "tf" else row.id].append(place)
    kept: dict[tuple[int, str], int] = {}
    for places in families.values():
        lost = next((place for place in places if place in drops.outcomes), None)
        own: dict[tuple[int, str], int] = {}
        for place in places:
            if place not in group_of or place in drops.outcomes:
                continue
            key = group_of[place]
            if key in kept:
                drops.add(place, "duplicate", rows[kept[key]].id)
                lost = place if lost is None else lost
            elif own.setdefault(key, place) != place:
                drops.add(place, "duplicate", rows[own[key]].id)
        if lost is None:
            kept |= own
            continue
        for place in places:
            drops.add(place, "family_incomplete", rows[lost].id)


def _notes(
    rows: Sequence[Candidate], former: Sequence[str], names: Sequence[str], alike: Sequence[Sequence[int]]
) -> dict[str, Any]:
    """How many families there are and how large they are, in facts."""
    facts: defaultdict[str, set[str]] = defaultdict(set)
    for row, name in zip(rows, names, strict=True):
        facts[name].add(row.fact)
    sizes = Counter(len(members) for members in facts.values())
    largest = sorted(facts, key=lambda name: (-len(facts[name]), name))[:_LISTED]
    return {
        "families": {
            "before": len(set(former)),
            "after": len(facts),
            "sizes": {str(size): sizes[size] for size in sorted(sizes)},
            "largest": {name: len(facts[name]) for name in largest if len(facts[name]) > 1},
        },
        "contradictions": len(
            {place for places in alike if len(set(_answers(rows, places).values())) > 1 for place in places}
        ),
    }
