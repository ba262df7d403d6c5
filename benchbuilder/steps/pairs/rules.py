"""Rules that turn a question and its answer into a statement, induced from one pair or from two."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import regex

from benchbuilder.core import Casing, LengthUnit, Span, normalise_space

_SLOT = "<1 word>"
_MOST_SLOTS, _MOST_VARIABLES = 3, 3


@dataclass(frozen=True, slots=True)
class StatementPair:
    """A question with its answer and the statement that a speaker made of them; `line` is its place in the file."""

    question: str
    answer: str
    statement: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """A part of a question: a `word` or `mark` as it is, any one word (``slot``), or a variable (``var``)."""

    sort: str
    text: str = ""
    number: int = 0
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class StatementPart:
    """A part of a statement: written text, a variable, or the answer (``answer``); `spaced`: a space is before it."""

    sort: str
    text: str = ""
    number: int = 0
    spaced: bool = False


@dataclass(frozen=True)
class PairRule:
    """How questions of one form become statements; `words` are all words that the slots stood for in pairs."""

    question: tuple[QuestionPart, ...]
    statement: tuple[StatementPart, ...]
    words: frozenset[str] = frozenset()

    @cached_property
    def digest(self) -> str:
        """What names the rule in the list of accepted ones."""
        parts = [[part.sort, part.text, part.number] for part in self.question]
        written = [[part.sort, part.text, part.number, part.spaced] for part in self.statement]
        return hashlib.blake2b(json.dumps([parts, written]).encode(), digest_size=6).hexdigest()

    @property
    def literals(self) -> int:
        """The number of words of the question that must stand there."""
        return sum(part.sort == "word" for part in self.question)

    @property
    def slots(self) -> int:
        """The number of places for any one word."""
        return sum(part.sort == "slot" for part in self.question)

    @property
    def drops_words(self) -> bool:
        """Whether it leaves words of the question out of the statement."""
        return any(part.dropped for part in self.question if part.sort in ("word", "slot"))

    @cached_property
    def shape(self) -> str:
        """The form of its questions, for people."""
        texts = ["…" if part.sort == "var" else _SLOT if part.sort == "slot" else part.text for part in self.question]
        return " ".join(texts)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches the tokens of a question, one a line; a group a variable."""
        kinds = {"slot": r"w[^\n]*\n", "var": r"((?:[^\n]+\n)+?)"}
        return re.compile(
            "".join(kinds.get(part.sort) or re.escape(f"{part.sort[0]}{part.text}\n") for part in self.question)
        )

    @property
    def dropped_words(self) -> frozenset[str]:
        """The words of its pairs that it leaves out."""
        return self.words | {part.text for part in self.question if part.dropped and part.sort == "word"}

    def apply(self, question: str, answer: str, unit: LengthUnit, casing: Casing | None) -> tuple[str, Span] | None:
        """The statement without its stop, and the place of the answer in it; ``None`` if the rule does not fit."""
        bare = bare_question(question)
        tokens = tokens_of(bare, unit)
        match = self.pattern.fullmatch("".join(f"{token.sort[0]}{token.text}\n" for token in tokens))
        if match is None:
            return None
        values: dict[int, str] = {}
        for number in range(match.re.groups):
            first = match.string.count("\n", 0, match.start(number + 1))
            last = match.string.count("\n", 0, match.end(number + 1)) - 1
            values[number] = bare[tokens[first].start : tokens[last].end]
        text, span = "", Span(start=0, end=0)
        for part in self.statement:
            piece = part.text if part.sort == "text" else answer if part.sort == "answer" else values[part.number]
            inside = bool(text)
            text += " " if part.spaced and inside else ""
            if part.sort == "answer":
                piece = casing.lower_first(piece) if casing is not None and inside else piece
                span = Span(start=len(text), end=len(text) + len(piece))
            text += piece
        raised = casing.raise_first(text) if casing is not None else text
        return (raised, span) if len(raised) == len(text) else (text, span)


def induce_rule(pair: StatementPair, unit: LengthUnit) -> PairRule | None:
    """The rule of one pair; ``None`` if the answer does not stand in the statement, or nothing of the question does.

    >>> pair = StatementPair("Which organ makes bile?", "The liver", "The liver makes bile.")
    >>> rule = induce_rule(pair, "words")
    >>> rule.shape, rule.apply("Which organ holds urine?", "The bladder", "words", None)[0]
    ('which organ … ?', 'The bladder holds urine')
    """
    bare, statement = bare_question(pair.question), without_final_stop(pair.statement)
    asked, said = tokens_of(bare, unit), tokens_of(statement, unit)
    answer = tokens_of(without_final_stop(pair.answer), unit)
    place = find_tokens(answer, said)
    if place < 0:
        return None
    blocks = _common_blocks(asked, said, range(place, place + len(answer)))
    if not blocks:
        return None
    variables = _variables(blocks)
    if len(asked) == sum(block.size for block in variables):
        # a question that the answer simply follows: its last word says which these are
        last = variables[-1]
        variables = [*variables[:-1], replace(last, size=last.size - 1)] if last.size > 1 else []
    parts = _question_parts(asked, blocks, variables)
    written = _statement_parts(statement, said, variables, (place, place + len(answer)))
    rule = PairRule(tuple(parts), tuple(written))
    return rule if any(part.sort in ("word", "mark", "blank") for part in rule.question) else None


@dataclass(frozen=True, slots=True)
class _SharedRun:
    """A run of tokens that question and statement share."""

    asked: int
    said: int
    size: int


def _common_blocks(asked: Sequence[TextToken], said: Sequence[TextToken], answer: range) -> list[_SharedRun]:
    """The longest runs that both share, outside of the answer and of the marks at both ends of the question."""
    words = [n for n, token in enumerate(asked) if token.sort == "word"]
    free_asked = set(range(words[0], words[-1] + 1)) if words else set[int]()
    free_said = set(range(len(said))) - set(answer)
    blocks: list[_SharedRun] = []
    while True:
        best = _SharedRun(0, 0, 0)
        for first in sorted(free_asked):
            for second in sorted(free_said):
                size = 0
                while (first + size in free_asked and second + size in free_said
                       and asked[first + size].text == said[second + size].text):  # fmt: skip
                    size += 1
                if size > best.size:
                    best = _SharedRun(first, second, size)
        if not best.size:
            return sorted(blocks, key=lambda block: block.asked)
        free_asked -= set(range(best.asked, best.asked + best.size))
        free_said -= set(range(best.said, best.said + best.size))
        if any(token.sort == "word" for token in asked[best.asked : best.asked + best.size]):
            blocks.append(best)


def _variables(blocks: Sequence[_SharedRun]) -> list[_SharedRun]:
    """The blocks that may be anything: at most three of two tokens and more (or the longest), none beside another."""
    longest = max(block.size for block in blocks)
    chosen: list[_SharedRun] = []
    for block in sorted(blocks, key=lambda block: -block.size):
        beside = any(
            block.asked == other.asked + other.size or other.asked == block.asked + block.size for other in chosen
        )
        if block.size >= min(2, longest) and not beside and len(chosen) < _MOST_VARIABLES:
            chosen.append(block)
    return sorted(chosen, key=lambda block: block.asked)


def _question_parts(
    asked: Sequence[TextToken], blocks: Sequence[_SharedRun], variables: Sequence[_SharedRun]
) -> Iterator[QuestionPart]:
    starts = {block.asked: number for number, block in enumerate(variables)}
    inside = {n for block in variables for n in range(block.asked, block.asked + block.size)}
    kept = {n for block in blocks for n in range(block.asked, block.asked + block.size)}
    for position, token in enumerate(asked):
        if position in starts:
            yield QuestionPart("var", number=starts[position])
        elif position not in inside:
            yield QuestionPart(token.sort, token.text, dropped=position not in kept)


def _statement_parts(
    text: str, said: Sequence[TextToken], variables: Sequence[_SharedRun], answer: tuple[int, int]
) -> Iterator[StatementPart]:
    places = {block.said: (block.said + block.size, "var", number) for number, block in enumerate(variables)}
    places[answer[0]] = (answer[1], "answer", 0)
    position = 0
    while position < len(said):
        spaced = position > 0 and said[position].start > said[position - 1].end
        if position in places:
            position, sort, number = places[position]
            yield StatementPart(sort, number=number, spaced=spaced)
            continue
        start = said[position].start
        while position < len(said) and position not in places:
            position += 1
        yield StatementPart("text", text[start : said[position - 1].end], spaced=spaced)


def rules_of(pairs: Iterable[StatementPair], unit: LengthUnit) -> list[PairRule]:
    """The rules of all pairs, and those of two pairs whose dropped words differ; those with most words first.

    A rule that another one covers, with the same words written, is left out.
    """
    rules = {rule.digest: rule for pair in pairs if (rule := induce_rule(pair, unit)) is not None}
    waiting = list(rules.values())
    while waiting:
        rule = waiting.pop()
        for other in list(rules.values()):
            wider = _generalised(rule, other)
            if wider is not None and wider.digest not in rules:
                rules[wider.digest] = wider
                waiting.append(wider)
    kept = [rule for rule in rules.values() if not any(_covers(other, rule) for other in rules.values())]
    return sorted(kept, key=lambda rule: (-rule.literals, rule.slots, rule.shape, rule.digest))


def _generalised(one: PairRule, two: PairRule) -> PairRule | None:
    """The rule for both, with slots where dropped words differ; ``None`` unless all else is equal."""
    if one.statement != two.statement or len(one.question) != len(two.question) or one.digest == two.digest:
        return None
    parts: list[QuestionPart] = []
    words = {*one.words, *two.words}
    for first, second in zip(one.question, two.question, strict=True):
        if first == second:
            parts.append(first)
        elif all(part.sort == "slot" or (part.sort == "word" and part.dropped) for part in (first, second)):
            parts.append(QuestionPart("slot", dropped=True))
            words |= {part.text for part in (first, second) if part.sort == "word"}
        else:
            return None
    made = PairRule(tuple(parts), one.statement, frozenset(words))
    is_literal = any(part.sort in ("word", "mark", "blank") for part in parts)
    return made if is_literal and made.slots <= _MOST_SLOTS else None


def _covers(wide: PairRule, narrow: PairRule) -> bool:
    """Whether `wide` makes the same of every question that `narrow` fits."""
    if wide.slots <= narrow.slots or wide.statement != narrow.statement or len(wide.question) != len(narrow.question):
        return False
    pairs = zip(wide.question, narrow.question, strict=True)
    return all(
        w == replace(n, dropped=w.dropped) or (w.sort == "slot" and n.sort in ("slot", "word")) for w, n in pairs
    )


_TOKENS = {
    "words": regex.compile(r"(?P<blank>_{2,}|…|\.{3,})|(?P<word>[\p{L}\p{M}\p{N}\u200c\u200d]+)|\S"),
    "characters": regex.compile(r"(?P<blank>_{2,}|…|\.{3,})|(?P<word>[\p{L}\p{N}]\p{M}*)|\S"),
}
_END = regex.compile(r"[\s\p{Sentence_Terminal}]+\Z")
_COLON = regex.compile(r"(?<=[?？؟])\s*[:：]\s*\Z")


@dataclass(frozen=True, slots=True)
class TextToken:
    """A token of a text, in small letters, with its place; `sort` is ``word``, ``blank`` or ``mark``."""

    text: str
    start: int
    end: int
    sort: str


def tokens_of(text: str, unit: LengthUnit) -> tuple[TextToken, ...]:
    """The tokens of `text`: words, or single characters in languages without spaces.

    >>> [token.text for token in tokens_of("Milk is rich in ____.", "words")]
    ['milk', 'is', 'rich', 'in', '____', '.']
    """
    return tuple(
        TextToken(match[0].casefold(), match.start(), match.end(), match.lastgroup or "mark")
        for match in _TOKENS[unit].finditer(text)
    )


def bare_question(text: str) -> str:
    """A question without a colon behind its question mark, and without final stops; its marks of asking stay.

    >>> bare_question("Which is it?:"), bare_question("It is.")
    ('Which is it?', 'It is')
    """
    text = _COLON.sub("", normalise_space(text))
    end = _END.search(text)
    return text if end is None or regex.search(r"[?？؟]", end[0]) else text[: end.start()]


def without_final_stop(text: str) -> str:
    """A statement without the marks that end its sentence."""
    return _END.sub("", normalise_space(text))


def find_tokens(part: Sequence[TextToken], whole: Sequence[TextToken]) -> int:
    """The position of `part` in `whole`, by text; -1 if it is not in it, or empty."""
    wanted = [token.text for token in part]
    texts = [token.text for token in whole]
    starts: Iterator[int] = (n for n in range(len(texts) - len(wanted) + 1) if texts[n : n + len(wanted)] == wanted)
    return next(starts, -1) if wanted else -1


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
