"""The plain way to `group_families`: with every candidate as an object, and every pair of facts compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, combinations, pairwise

from benchbuilder.core.records.roles import Candidate
from benchbuilder.core.text.near_duplicates import answers_after, equality_key, jaccard, join_groups, trigrams
from benchbuilder.steps.group_families import GroupFamiliesSpec

Ends = dict[str, tuple[str, str]]


def plain_outcomes(rows: Sequence[Candidate], ends: Ends, spec: GroupFamiliesSpec) -> list[tuple[str, str, str]]:
    """For each row what became of it: its family, or a reason and a detail."""
    former = [row.family or row.fact for row in rows]
    same = _same_questions(rows, spec.same)
    claimed = [place for place, row in enumerate(rows) if row.type == "tf"]
    alike = same + _group(claimed, lambda place: _claim_key(rows[place]))
    asked = ([place for place in places if rows[place].fact not in ends] for places in alike)
    joins = list(chain.from_iterable(pairwise(places) for places in asked))
    if spec.near is not None:
        joins += _near_facts(rows, ends, spec.near)
    if spec.by_record:
        records = _group(range(len(rows)), lambda place: (rows[place].origin.file, rows[place].origin.line))
        joins += chain.from_iterable(map(pairwise, records))
    names = join_groups(former, joins)
    drops: dict[int, tuple[str, str]] = {}
    if spec.contradictions == "drop":
        _drop_contradictions(rows, alike, drops)
    _drop_duplicates(rows, former, same, drops)
    return [("", *drops[place]) if place in drops else (name, "", "") for place, name in enumerate(names)]


def _group(places: Iterable[int], key: Callable[[int], Hashable], least: int = 2) -> list[list[int]]:
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place in places:
        groups[key(place)].append(place)
    return [group for group in groups.values() if len(group) >= least]


def _same_questions(rows: Sequence[Candidate], least: float) -> list[list[int]]:
    same = _group(range(len(rows)), lambda place: (rows[place].type, _question_key(rows[place])))
    places = [place for place, row in enumerate(rows) if row.type == "oe"]
    texts = [rows[place].context + rows[place].question for place in places]
    keys = [_question_key(rows[place]) for place in places]
    pairs = [
        (left, right)
        for left, right in combinations(range(len(places)), 2)
        if keys[left] == keys[right] or (least < 1 and _are_near(texts[left], texts[right], least))
    ]
    names = join_groups([str(number) for number in range(len(places))], pairs)
    near = _group(range(len(places)), names.__getitem__)
    return [
        *(group for group in same if rows[group[0]].type == "tf"),
        *([places[at] for at in group] for group in near),
    ]


def _are_near(one: str, other: str, near: float) -> bool:
    left, right = trigrams(one), trigrams(other)
    return bool(left and right) and (left == right or jaccard(left, right) > near)


def _near_facts(rows: Sequence[Candidate], ends: Ends, near: float) -> list[tuple[int, int]]:
    firsts: dict[str, int] = {}
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for place, row in enumerate(rows):
        firsts.setdefault(row.fact, place)
        texts[row.fact] += _texts(row)
    pairs = [
        (one, other)
        for one, other in combinations(firsts, 2)
        if (one in ends) == (other in ends) and (
            _near_ends(ends[one], ends[other], near) if one in ends
            else any(_are_near(left, right, near) for left in texts[one] for right in texts[other])
        )
    ]  # fmt: skip
    return [(firsts[one], firsts[other]) for one, other in pairs]


def _near_ends(one: tuple[str, str], other: tuple[str, str], near: float) -> bool:
    pairs = [(trigrams(left), trigrams(right)) for left, right in zip(one, other, strict=True)]
    return all(left == right or jaccard(left, right) > near for left, right in pairs)


def _question_key(row: Candidate) -> str:
    return equality_key(row.context + row.question)


def _claim_key(row: Candidate) -> tuple[str, str]:
    return equality_key(row.asked), equality_key(row.context + (row.answer if _is_true(row) else row.answer_wrong))


def _texts(row: Candidate) -> list[str]:
    statements = [row.answer, row.answer_wrong] if row.type == "tf" else [row.answer, row.answer_wrong, row.question]
    return [row.context + text for text in ([row.asked] if row.asked else statements)]


def _is_true(row: Candidate) -> bool:
    return (row.expected == "yes") != row.negated


def _answers(rows: Sequence[Candidate], places: Sequence[int]) -> dict[int, str]:
    if rows[places[0]].type == "tf":
        return {place: str(_is_true(rows[place])) for place in places}
    answers: dict[int, str] = {}
    for equal in _group(places, lambda place: _question_key(rows[place]), least=1):
        row = rows[equal[0]]
        statements = [rows[place].context + rows[place].answer for place in equal]
        answers.update(zip(equal, answers_after(row.context + row.question, statements), strict=True))
    return answers


def _drop_contradictions(
    rows: Sequence[Candidate], alike: Sequence[Sequence[int]], drops: dict[int, tuple[str, str]]
) -> None:
    for places in alike:
        answers = _answers(rows, places)
        for place in places:
            other = next((rows[one] for one in places if answers[one] != answers[place]), None)
            if other is not None:
                detail = f"{_right(rows[place])} / {_right(other)} ({other.id})"
                drops.setdefault(place, ("contradiction", detail))


def _right(row: Candidate) -> str:
    return f"{row.expected}: {row.answer}" if row.expected else row.answer


def _drop_duplicates(
    rows: Sequence[Candidate], former: Sequence[str], same: Sequence[Sequence[int]], drops: dict[int, tuple[str, str]]
) -> None:
    group_of: dict[int, tuple[int, str]] = {}
    for number, places in enumerate(same):
        group_of |= {place: (number, answer) for place, answer in _answers(rows, places).items()}
    kept: dict[tuple[int, str], int] = {}
    families = _group(range(len(rows)), lambda at: former[at] if rows[at].type == "tf" else rows[at].id, least=1)
    for places in families:
        lost = next((place for place in places if place in drops), None)
        own: dict[tuple[int, str], int] = {}
        for place in places:
            if place not in group_of or place in drops:
                continue
            key = group_of[place]
            if key in kept:
                drops[place] = "duplicate", rows[kept[key]].id
                lost = place if lost is None else lost
            elif own.setdefault(key, place) != place:
                drops[place] = "duplicate", rows[own[key]].id
        if lost is None:
            kept |= own
            continue
        for place in places:
            drops.setdefault(place, ("family_incomplete", rows[lost].id))
