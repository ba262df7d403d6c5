"""Duplicates and contradictions inside a benchmark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from benchbuilder.core import (
    STATEMENT_FORM,
    Candidate,
    Claim,
    Item,
    Row,
    answers_after,
    cells_of,
    equality_key,
    jaccard,
    near_pairs,
    trigrams,
)
from benchbuilder.evaluation.audit.subjects import family_of, shown_text

NEAR = 0.7
"""Questions of different families that share more than this of their character trigrams are near duplicates."""
_COMMON_ITEMS, _COMMON_SHARE = 20, 0.02
"""Trigrams that more questions than this contain belong to the frame of questions."""
_LEAST_STATEMENT = 6
"""Characters that a right and a wrong answer share if both are statements."""

_STATED_FORMS = (STATEMENT_FORM, "claim")
"""The forms of items whose answers are whole statements."""

DuplicateKind = Literal["contradiction", "duplicate", "near duplicate"]
_ORDER: tuple[DuplicateKind, ...] = ("contradiction", "duplicate", "near duplicate")


@dataclass(frozen=True)
class DuplicatePair:
    """Two items, the kind of pair, the proportion of trigrams that their questions share, and what they say."""

    kind: DuplicateKind
    first: str
    second: str
    similarity: float
    question: str
    answers: tuple[str, str]


@dataclass(frozen=True)
class _Entry:
    """An item: its id, family, type, question and answers."""

    id: str
    family: str
    type: str
    context: str
    question: str
    expected: str
    right: str
    wrong: str

    @property
    def says(self) -> str:
        """What equal questions must agree in, for people."""
        return self.expected or self.right


def find_duplicates(rows: Iterable[Row], near: float = NEAR) -> list[DuplicatePair]:
    """The pairs of items that contradict each other, that are equal, and near duplicates of different families.

    Equal questions with other verdicts or other right answers contradict each other. So do two items of this program
    if the right statement of one is the wrong statement of the other. Near duplicates have near questions, without the
    frame that many questions share, and near right answers. Each pair is given once, contradictions first.
    """
    rows = list(rows)
    entries = [_entry(row) for row in rows]
    statements = [row.id for row in rows if _has_statements(row)]
    found: dict[tuple[str, str], DuplicatePair] = {}
    for pair in (*_equal(entries), *_contradicting_statements(entries, set(statements)), *_near(entries, near)):
        found.setdefault((min(pair.first, pair.second), max(pair.first, pair.second)), pair)
    return sorted(found.values(), key=lambda pair: (_ORDER.index(pair.kind), -pair.similarity, pair.first, pair.second))


def distinct_part(right: str, wrong: str) -> str:
    """The part of a right answer that the wrong one lacks: without their common beginning and end.

    >>> distinct_part("the drug is aspirin.", "the drug is insulin.")
    'aspir'
    """
    start = next((n for n, (a, b) in enumerate(zip(right, wrong, strict=False)) if a != b), min(len(right), len(wrong)))
    rest, other = right[start:][::-1], wrong[start:][::-1]
    end = next((n for n, (a, b) in enumerate(zip(rest, other, strict=False)) if a != b), min(len(rest), len(other)))
    return rest[end:][::-1]


def _entry(row: Row) -> _Entry:
    cells = cells_of(row)
    question = shown_text(row) or cells.get("full-question") or cells.get("question") or next(iter(cells.values()), "")
    context = str(getattr(getattr(row, "payload", row), "context", ""))
    return _Entry(
        row.id, family_of(row), cells.get("q-type", "").lower(), context, question, cells.get("expected", ""),
        cells.get("answer", ""), cells.get("answer-wrong", ""),
    )  # fmt: skip


def _has_statements(row: Row) -> bool:
    """Whether the answers of an item are whole statements.

    Those of a benchmark from elsewhere need not be, and where a question is shown, its answer is none.
    """
    if getattr(row, "form", STATEMENT_FORM) not in _STATED_FORMS:
        return False
    if isinstance(row, Item):
        return isinstance(row.payload, Claim) and bool(row.candidate)
    return isinstance(row, Candidate)


def _groups(entries: Iterable[tuple[Hashable, _Entry]]) -> Iterator[list[_Entry]]:
    groups: defaultdict[Hashable, list[_Entry]] = defaultdict(list)
    for key, entry in entries:
        groups[key].append(entry)
    return (group for group in groups.values() if len(group) > 1)


def _pair(kind: DuplicateKind, first: _Entry, second: _Entry, similarity: float) -> DuplicatePair:
    return DuplicatePair(kind, first.id, second.id, round(similarity, 3), first.question, (first.says, second.says))


def _equal(entries: Sequence[_Entry]) -> Iterator[DuplicatePair]:
    """Every item with the question of an earlier one, beside the first that contradicts it, or else the first."""
    for group in _groups(((entry.type, equality_key(entry.question)), entry) for entry in entries):
        answers = _answers(group)
        for place, entry in enumerate(group[1:], 1):
            others = zip(group[:place], answers, strict=False)
            other = next((other for other, answer in others if answer != answers[place]), None)
            if other is not None:
                yield _pair("contradiction", other, entry, 1.0)
            else:
                yield _pair("duplicate", group[0], entry, 1.0)


def _answers(group: Sequence[_Entry]) -> list[str]:
    """What equal questions must agree in: the verdict, or the answer."""
    if any(entry.expected for entry in group):
        return [entry.expected for entry in group]
    return answers_after(group[0].question, [entry.context + entry.right for entry in group])


def _contradicting_statements(entries: Sequence[_Entry], statements: set[str]) -> Iterator[DuplicatePair]:
    """Items whose right statement is the wrong statement of another one."""
    chosen = [entry for entry in entries if entry.id in statements and _are_statements(entry)]
    right: dict[str, _Entry] = {}
    for entry in chosen:
        right.setdefault(equality_key(entry.context + entry.right), entry)
    for entry in chosen:
        other = right.get(equality_key(entry.context + entry.wrong))
        if other is not None and other.id != entry.id:
            yield DuplicatePair("contradiction", other.id, entry.id, 1.0, other.right, (other.right, entry.right))


def _are_statements(entry: _Entry) -> bool:
    right, wrong = equality_key(entry.right), equality_key(entry.wrong)
    return bool(wrong) and len(right) - len(distinct_part(right, wrong)) >= _LEAST_STATEMENT


def _near(entries: Sequence[_Entry], near: float) -> Iterator[DuplicatePair]:
    """Pairs of different families with near questions and near right answers."""
    grams = [trigrams(entry.question) for entry in entries]
    counts = Counter(gram for one in grams for gram in one)
    most = max(_COMMON_ITEMS, _COMMON_SHARE * len(entries))
    owners: defaultdict[frozenset[str], list[int]] = defaultdict(list)
    for place, one in enumerate(grams):
        if own := frozenset(gram for gram in one if counts[gram] <= most):
            owners[own].append(place)
    known = list(owners)
    pairs = [(known[left], known[right]) for left, right in near_pairs(known, near)]
    for left, right in (*pairs, *((own, own) for own in known)):
        for one in owners[left]:
            for other in owners[right]:
                first, second = entries[one], entries[other]
                if first.family != second.family and first.type == second.type and _near_answers(first, second, near):
                    yield _pair("near duplicate", first, second, jaccard(grams[one], grams[other]))


def _near_answers(first: _Entry, second: _Entry, near: float) -> bool:
    one, other = (distinct_part(equality_key(e.right), equality_key(e.wrong)) or e.right for e in (first, second))
    left, right = trigrams(one), trigrams(other)
    return left == right or jaccard(left, right) > near
