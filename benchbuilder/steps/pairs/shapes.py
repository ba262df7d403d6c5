"""The shapes of questions: how they begin and end, most frequent first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchbuilder.core import LengthUnit
from benchbuilder.steps.pairs.tokens import bare_question, tokens_of

_EXAMPLES = 3
_LONGEST = {"words": 4, "characters": 6}
_SHORTEST_BEGINNING = {"words": 2, "characters": 1}
"""One word at the beginning, such as *the*, says nothing of a question; one at its end may be a verb."""
_FEWEST = 2
"""A shape is not worth a rule if fewer questions have it."""


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A question with its right answer, and the id of its fact."""

    id: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class QuestionShape:
    """How questions begin or end: `place` is ``first``, ``last``, ``colon`` or ``blank``, `tokens` what stands there.

    `count` is the number of questions that no shape before it covers, `ids` are those of these, and `examples` some.
    """

    place: str
    tokens: tuple[str, ...]
    count: int
    examples: tuple[AskedFact, ...]
    ids: tuple[str, ...] = ()

    def text(self, unit: LengthUnit) -> str:
        """The shape for people."""
        words = (" " if unit == "words" else "").join(self.tokens)
        texts = {"first": f"{words} …", "last": f"… {words}", "colon": "… :", "blank": "… ____ …"}
        return texts[self.place]


def find_shapes(
    facts: Sequence[AskedFact], unit: LengthUnit, most: int = 12, *, shortest: int = 2
) -> list[QuestionShape]:
    """The shapes that together cover most questions: each time the one of most questions not yet covered.

    Of equally frequent shapes, the longest counts. A beginning or an end has at least `shortest` tokens.
    """
    by_fact = [frozenset(_shapes_of(fact.question, unit, shortest)) for fact in facts]
    left, found = set(range(len(facts))), list[QuestionShape]()
    counts = Counter(shape for shapes in by_fact for shape in shapes)
    counts = Counter({shape: count for shape, count in counts.items() if count >= _FEWEST})
    while counts and len(found) < most:
        place, tokens = max(counts, key=lambda shape: (counts[shape], len(shape[1]), shape))
        count = counts[place, tokens]
        if count < _FEWEST:
            break
        covered = sorted(n for n in left if (place, tokens) in by_fact[n])
        step = max(1, len(covered) // _EXAMPLES)
        found.append(QuestionShape(place, tokens, count, tuple(facts[n] for n in covered[::step][:_EXAMPLES]),
                                   tuple(facts[n].id for n in covered)))  # fmt: skip
        left -= set(covered)
        for number in covered:
            counts.subtract(by_fact[number] & counts.keys())
    return found


def _shapes_of(question: str, unit: LengthUnit, shortest: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    tokens = tokens_of(bare_question(question), unit)
    if any(token.sort == "blank" for token in tokens):
        yield "blank", ()
    if tokens and tokens[-1].text in (":", "："):
        yield "colon", ()
    texts, are_words = tuple(token.text for token in tokens), [token.sort == "word" for token in tokens]
    for size in range(shortest, min(_LONGEST[unit], len(tokens)) + 1):
        if sum(are_words[:size]) >= max(shortest, _SHORTEST_BEGINNING[unit]):
            yield "first", texts[:size]
        if sum(are_words[-size:]) >= shortest:
            yield "last", texts[-size:]
