"""Verifies clauses without a model, by words: a floor and a smoke test, which reads neither paraphrase nor order."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from benchbuilder.core import ClaimVerdict, DataError, PartKind, Stance, find_all, has_match, sentence_spans
from benchbuilder.evaluation.claims.base import VerifiedPart
from benchbuilder.evaluation.claims.clauses import AnswerClause, split_clauses
from benchbuilder.evaluation.claims.words import ClaimExamples, ClaimWords, ExampleAnswer, open_claim_words, table_of
from benchbuilder.evaluation.judges.base import Case

_MENTION = 0.6
"""The least share of the words that tell a statement from the other one, for a clause to speak of it."""
_TOPIC = 0.35
"""The least share of the words that both statements have, if a clause says more than the statement."""
_HALF = 0.5
"""The same where the last word is there, in a script with spaces."""
_FEW, _FEW_LETTERS = 6, 2
"""How many other words a denial may have, and how many pairs of letters a clause that has little of the topic."""
_AROUND = 3
"""How many letters may stand around a number that tells a statement apart."""
_MARGIN = 0.05
"""How much more a sentence of evidence must have of a clause than a statement, for the clause to be about it alone."""
_SUPPORTED = 0.5
"""The least share of a clause, by the weight of its words, that evidence has in a sentence that supports it."""
_ADDRESSED = 0.4
"""The same for a sentence that contradicts it by a negation or a number."""
_NUMBERED = 0.35
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_COMMAS = re.compile(r"[,，]\s*")
_UNITS = r"\d+(?:\.\d+)?|[a-z]+|."
_SPOKEN_KINDS: tuple[PartKind, ...] = ("refuses", "abstains")
_HAN = re.compile(r"[\u3400-\u9fff]")
_SCOPE = 24
"""How many characters behind a negation say what it denies."""


@dataclass(frozen=True)
class _PlainText:
    """A text in normal form with its words."""

    plain: str
    tokens: tuple[str, ...]
    quantity: re.Pattern[str]
    is_letter: bool = False
    """Whether it stands for one letter of a script without spaces, so that each of its pairs of letters has it."""

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, each once."""
        return frozenset(self.tokens)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Its numbers."""
        return frozenset(_NUMBER.findall(self.plain))

    @cached_property
    def quantities(self) -> frozenset[tuple[str, str, str]]:
        """Its numbers, each with the end of a range and what is counted."""
        found = (match.groups(default="") for match in self.quantity.finditer(self.plain))
        return frozenset((first, last, unit.rstrip("s")) for first, last, unit in found)


@dataclass(frozen=True, slots=True)
class _Negation:
    """A negation, and the words that it may deny."""

    word: str
    scope: frozenset[str]

    def is_same(self, other: _Negation) -> bool:
        """Whether it denies the same, or is the same word."""
        is_telling = len(self.word) > (1 if _HAN.match(self.word) else 2)
        return bool(self.scope & other.scope) or (self.word == other.word and is_telling)


@dataclass(frozen=True)
class _Sentence:
    """A sentence of evidence: its paragraph and range there."""

    place: tuple[int, int, int]
    text: _PlainText
    clauses: tuple[_PlainText, ...]

    def clauses_with(self, text: _PlainText) -> list[_PlainText]:
        """Its clauses that share most words with `text`."""
        shared = [len(one.words & text.words) for one in self.clauses]
        return [one for one, n in zip(self.clauses, shared, strict=True) if n == max(shared)]


class LexicalVerifier:
    """Compares the clauses of an answer with the statements and paragraphs of its item. `words` are by language.

    The table whose letters the item has most of reads the item; an answer mostly in the letters of another table is
    only split.
    """

    def __init__(self, words: Sequence[ClaimWords]) -> None:
        self._words = tuple(words)
        self._reader = lru_cache(maxsize=256)(self._read_item)

    def verify(self, case: Case, clauses: Sequence[AnswerClause]) -> list[VerifiedPart]:
        """The parts of an answer in order."""
        own = table_of(case.question + case.right, self._words)
        said = table_of(case.answer, self._words)
        words, parts = self._words[said], list[VerifiedPart]()
        item = self._reader(own, case.question, case.right, case.wrong, case.evidence)
        for clause in clauses:
            if said != own:
                parts.append(VerifiedPart(clause, "claim", "not_addressed", note="other_language"))
            else:
                text = item.text_of(clause.text(case.answer))
                parts.append(item.part(clause, text, words.plain(case.answer[clause.left : clause.right])))
        return _with_retractions(parts, words, case.answer)

    def _read_item(self, table: int, question: str, right: str, wrong: str, evidence: tuple[str, ...]) -> ItemReader:
        return ItemReader(self._words[table], question, right, wrong, evidence)


class ItemReader:
    """The statements and paragraphs of one item, ready to be compared with clauses."""

    def __init__(self, words: ClaimWords, question: str, right: str, wrong: str, evidence: Sequence[str]) -> None:
        self._words = words
        self.text_of = lru_cache(maxsize=2048)(self._text_of)
        self._right, self._wrong = self.text_of(right), self.text_of(wrong)
        self._topic = self._right.words & self._wrong.words
        self._question = self.text_of(question)
        self._known = self._topic | self._question.words
        sides = [self._side(*side) for side in _apart(self._right.plain, self._wrong.plain)]
        self._apart = tuple(
            self._without_question(_without_words(side, other.words))
            for side, other in zip(sides, sides[::-1], strict=True)
        )
        turned = self._negations(self._right) - self._negations(self._wrong)
        self._is_negated_pair = not all(side.tokens for side in self._apart) and turned % 2 == 1
        self._sentences = [
            self._sentence(number, span.start, span.end, text)
            for number, text in enumerate(evidence)
            for span in sentence_spans(text, words.stops, words.soft_stops, words.abbreviations)
        ]
        self._sentences.append(self._sentence(-1, 0, len(right), right))
        counts = Counter(word for one in self._sentences for word in one.text.words)
        whole = len(self._sentences)
        self._weights: Mapping[str, float] = {word: math.log(1 + whole / (0.5 + n)) for word, n in counts.items()}
        self._quantities = [one for sentence in self._sentences for one in sentence.text.quantities]
        self._rare = math.log(1 + whole / 0.5)

    def _side(self, side: str, is_letter: bool) -> _PlainText:
        """What tells a statement apart as a text; where that is a number, its unit is not counted as a word."""
        apart, found = self.text_of(side), self._words.quantity.search(side)
        around = "" if found is None else f"{side[: found.start()]}{side[found.end() :]}"
        if found is not None and _HAN.search(self._right.plain) and len(around) <= _AROUND:
            numbers = tuple(word for word in apart.tokens if word in apart.numbers)
            return apart if re.search("[a-z]", side[: found.start()]) else replace(apart, tokens=numbers)
        return replace(apart, is_letter=is_letter)

    def _without_question(self, apart: _PlainText) -> _PlainText:
        """What tells a statement apart without words of the question, if any are left: repeating these says nothing."""
        left = tuple(word for word in apart.tokens if word not in self._question.words)
        return apart if apart.numbers or not left else replace(apart, tokens=left)

    def part(self, clause: AnswerClause, text: _PlainText, sentence: str) -> VerifiedPart:
        """What is said of a clause in its `sentence`, in normal form."""
        words = self._words
        unsaid = any(has_match(words.pattern("unsaid"), part) for part in _COMMAS.split(text.plain))
        agreed = has_match(words.pattern("agreed"), sentence)
        kind = self._kind(clause, text, sentence, unsaid=unsaid, agreed=agreed)
        if kind != "claim":
            return VerifiedPart(clause, kind)
        near, beside = self._nearest(text)
        right = self._stance(text, 0, near, beside, unsaid=unsaid)
        wrong = self._stance(text, 1, near, beside, unsaid=unsaid)
        verdict = self._verdict(text, near, beside, right, wrong)
        number, start, end = beside.place
        quote = None if number < 0 or verdict == "not_addressed" else (number, start, end)
        return VerifiedPart(clause, kind, verdict, right, wrong, quote, round(near, 3))

    def _kind(self, clause: AnswerClause, text: _PlainText, sentence: str, *, unsaid: bool, agreed: bool) -> PartKind:
        words, plain = self._words, text.plain
        for kind in _SPOKEN_KINDS:
            if has_match(words.pattern(kind), plain):
                return kind
        no_claim = clause.heading or sentence.endswith("?") or not text.tokens or plain in self._question.plain
        if no_claim or any(has_match(words.pattern(name), plain) for name in ("not_claims", "leads", "corrected")):
            return "none"
        until = sentence[: max(sentence.find(plain), 0) + len(plain)]
        reported = find_all(words.pattern("reported"), until)
        is_over = bool(reported) and has_match(words.pattern("turns"), until[reported[-1].end :])
        return "reported" if reported and not (agreed or unsaid or is_over) else "claim"

    def _stance(self, text: _PlainText, side: int, near: float, beside: _Sentence, *, unsaid: bool) -> Stance:
        """What a clause does with a statement: the right one is side 0."""
        statement, apart = (self._right, self._wrong)[side], self._apart[side]
        if self._is_negated_pair:
            held = len(text.words & statement.words) >= _MENTION * len(statement.words) > 0
            return _turned(self._negations(text) - self._negations(statement) + unsaid) if held else "none"
        if not _speaks_of(apart, text):
            return "none"
        part, denied = self._segment(text, apart)
        if denied or has_match(self._words.pattern("contrasts"), text.plain):
            near, beside = self._nearest(part)
        if self._has_other_place(part, statement):
            return "denies" if self._difference(part, statement) % 2 else "none"
        if not self._is_on_topic(part, text, side, near, beside):
            return "none"
        stance = _turned(self._difference(part, statement) + denied + unsaid)
        is_safe = side == 1 and stance == "denies"
        return "none" if not is_safe and self._is_about(text, side, near, beside) else stance

    def _segment(self, text: _PlainText, apart: _PlainText) -> tuple[_PlainText, bool]:
        """The part of a clause that speaks of what tells a statement apart, and whether it stands behind a contrast."""
        cuts = find_all(self._words.pattern("contrasts"), text.plain)
        starts, ends = [0, *(cut.end for cut in cuts)], [*(cut.start for cut in cuts), len(text.plain)]
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            whole = text.plain[start:end]
            for piece in (*(_COMMAS.split(whole) if _COMMAS.search(whole) else ()), whole):
                part = self.text_of(piece)
                if _speaks_of(apart, part):
                    return part, number > 0
        return text, False

    def _is_on_topic(self, part: _PlainText, text: _PlainText, side: int, near: float, beside: _Sentence) -> bool:
        """Whether a clause says no more than the statement, or holds enough of the topic, or is denied.

        What evidence says with the right statement counts as the topic.
        """
        known = self._known | self._apart[side].words
        more = [word for word in part.tokens if word not in known and not _begins(word, self._apart[side])]
        few = _FEW_LETTERS if _HAN.search(part.plain) else 1
        if len(more) <= few or self._topic_share(text) >= _TOPIC:
            return True
        if side == 0 and near >= _ADDRESSED and any(map(self._says_right, beside.clauses_with(part))):
            return True
        return self._negations(part) > 0 and len(more) <= _FEW

    def _topic_share(self, text: _PlainText) -> float:
        """How much of what both statements say a clause has."""
        there = sum(word in text.words or _begins(word, text) for word in self._topic)
        return there / len(self._topic) if self._topic else 1.0

    def _has_other_place(self, part: _PlainText, statement: _PlainText) -> bool:
        """Whether a clause gives a thing another place than the statement does ("second")."""
        others = self._words.pattern("others")
        return has_match(others, part.plain) and not has_match(others, statement.plain)

    def _is_about(self, text: _PlainText, side: int, near: float, beside: _Sentence) -> bool:
        """Whether a clause only repeats a sentence of evidence that says something else than the statement."""
        if near < _SUPPORTED or (side == 0 and self._says_right(beside.text)):
            return False
        statement = (self._right, self._wrong)[side]
        return near > self._share(text, statement.words | self._known) + _MARGIN and (
            side == 0 or not self._is_contrary(text, beside)
        )

    def _says_right(self, text: _PlainText) -> bool:
        apart = self._apart[0]
        is_word = len(apart.tokens) > 1 or (len(apart.plain) > 1 and bool(_HAN.match(apart.plain)))
        is_told = self._topic_share(text) >= _HALF or is_word
        return is_told and _speaks_of(apart, text)

    def _nearest(self, text: _PlainText) -> tuple[float, _Sentence]:
        """The sentence of evidence that has most of a clause, and how much."""
        best, found = -1.0, self._sentences[-1]
        for sentence in self._sentences:
            if (share := self._share(text, sentence.text.words)) > best:
                best, found = share, sentence
        return best, found

    def _share(self, text: _PlainText, held: frozenset[str]) -> float:
        """How much of a clause `held` has, by the weight of its words."""
        total = part = 0.0
        for word in text.tokens:
            weight = self._weights.get(word, self._rare)
            total += weight
            part += weight if word in held else 0.0
        return part / total if total else 0.0

    def _verdict(self, text: _PlainText, near: float, beside: _Sentence, right: Stance, wrong: Stance) -> ClaimVerdict:
        if wrong == "says" or right == "denies":
            return "contradicted"
        if wrong == "denies":
            return "supported"
        if self._numbers_clash(text, near):
            return "contradicted"
        if right == "says":
            return "supported"
        if near >= _ADDRESSED and self._is_contrary(text, beside):
            return "contradicted"
        if near >= _SUPPORTED and self._is_of_other(text, beside):
            return "contradicted"
        return "supported" if near >= _SUPPORTED else "not_addressed"

    def _is_of_other(self, text: _PlainText, beside: _Sentence) -> bool:
        """Whether a clause says of one statement's thing what evidence says of the other's."""
        spoken, theirs = ([_speaks_of(side, one) for side in self._apart] for one in (text, beside.text))
        return sum(spoken) == 1 == sum(theirs) and spoken != theirs

    def _numbers_clash(self, text: _PlainText, near: float) -> bool:
        """Whether a clause counts something that evidence counts, and no sentence gives its number."""
        if near < _NUMBERED or not text.quantities:
            return False
        for own in text.quantities:
            same = [one for one in self._quantities if own[2] and one[2] == own[2]]
            if same and all(one[:2] != own[:2] for one in same):
                return True
        return False

    def _is_contrary(self, text: _PlainText, sentence: _Sentence) -> bool:
        """Whether a clause and a sentence differ by an odd number of negations of what both say."""
        return self._difference(text, sentence.text) % 2 == 1

    def _difference(self, text: _PlainText, other: _PlainText) -> int:
        """How many negations of a clause neither `other` has nor the question, and of `other` those of its words."""
        own, theirs = self._scopes(text.plain), self._scopes(other.plain)
        for one in list(own):
            if found := next((other for other in theirs if one.is_same(other)), None):
                own.remove(one)
                theirs.remove(found)
        asked = self._asked_negations
        own = [one for one in own if not any(one.word == of.word and one.scope & of.scope for of in asked)]
        return len(own) + sum(len(one.scope) > 0 and one.scope <= text.words for one in theirs)

    def _scopes(self, plain: str) -> list[_Negation]:
        """The negations, each with the words that it may deny: the next two, or at the end of a clause two before."""
        rest = _without(self._words.pattern("not_negations"), plain)
        found: list[_Negation] = []
        for span in find_all(self._words.pattern("negations"), rest):
            behind = self._words.tokens(_COMMAS.split(rest[span.end :], maxsplit=1)[0][:_SCOPE])[:2]
            scope = frozenset(behind or self._words.tokens(rest[: span.start][-_SCOPE:])[-2:])
            found.append(_Negation(span.slice_of(rest), scope))
        return found

    @cached_property
    def _asked_negations(self) -> list[_Negation]:
        return self._scopes(self._question.plain)

    def _negations(self, text: _PlainText) -> int:
        return self._count(text.plain)

    def _count(self, plain: str) -> int:
        return len(find_all(self._words.pattern("negations"), _without(self._words.pattern("not_negations"), plain)))

    def _sentence(self, number: int, start: int, end: int, text: str) -> _Sentence:
        sentence = self.text_of(text[start:end])
        return _Sentence((number, start, end), sentence, tuple(map(self.text_of, _COMMAS.split(sentence.plain))))

    def _text_of(self, text: str) -> _PlainText:
        plain = self._words.plain(text)
        return _PlainText(plain, tuple(self._words.tokens(plain)), self._words.quantity)


def _without(pattern: str, plain: str) -> str:
    for span in reversed(find_all(pattern, plain)):
        plain = f"{plain[: span.start]} {plain[span.end :]}"
    return plain


def _turned(negations: int) -> Stance:
    return "denies" if negations % 2 else "says"


def _apart(one: str, other: str) -> list[tuple[str, bool]]:
    """What is left of two statements without their common beginning and end, and whether that is a letter of a word.

    In a script without spaces a letter is widened to the letters beside it, and a number to what it counts.

    >>> _apart("the marker is troponin.", "the marker is crp.")
    [('troponin', False), ('crp', False)]
    >>> _apart("胎位是枕左前位。", "胎位是枕右前位。")
    [('枕左前', True), ('枕右前', True)]
    """
    is_han = bool(_HAN.search(one))
    first, second = (re.findall(_UNITS if is_han else r"\S+", text.rstrip(".。 ")) for text in (one, other))
    start = end = 0
    shorter = min(len(first), len(second))
    while start < shorter and first[start] == second[start]:
        start += 1
    while end < shorter - start and first[-1 - end] == second[-1 - end]:
        end += 1
    if not is_han:
        return [(" ".join(text[start : len(text) - end]), False) for text in (first, second)]
    return [_widened(text, start, len(text) - end) for text in (first, second)]


def _widened(text: Sequence[str], left: int, right: int) -> tuple[str, bool]:
    """``text[left:right]``; with the letters around it if it is one, and with two behind it if it ends in a number."""
    if right > left and text[right - 1].replace(".", "").isdigit():
        return "".join(text[left : right + 2]), False
    is_letter = right - left == 1 and bool(_HAN.match(text[left]))
    return "".join(text[max(0, left - is_letter) : right + is_letter]), is_letter


def _without_words(side: _PlainText, others: frozenset[str]) -> _PlainText:
    """What tells a statement apart without the words that the other one has there too, if any are left."""
    left = tuple(word for word in side.tokens if word not in others)
    return replace(side, tokens=left) if left else side


def _speaks_of(apart: _PlainText, text: _PlainText) -> bool:
    """Whether a clause has most of the words that tell a statement apart, and all of its numbers.

    Half of them do in a script with spaces if the last one is there; longer words may end otherwise.
    """
    if not apart.tokens or not apart.numbers <= text.numbers:
        return False
    for number, _, unit in apart.quantities:
        others = [one for one in text.quantities if number in one[:2]]
        if unit and others and all(one[2] and one[2][0] != unit[0] for one in others):
            return False
    there = [word in text.words or _begins(word, text) for word in apart.tokens]
    share = sum(there) / len(there)
    if apart.is_letter:
        return any(there)
    return share >= _MENTION or (share >= _HALF and there[-1] and not _HAN.search(apart.plain))


def _begins(word: str, text: _PlainText) -> bool:
    if len(word) < 5 or not word.isascii():
        return False
    return any(other.startswith(word) or (len(other) >= 5 and word.startswith(other)) for other in text.words)


def _with_retractions(parts: list[VerifiedPart], words: ClaimWords, answer: str) -> list[VerifiedPart]:
    """The parts with the numbers of those that take them back; a part that only does so is no claim."""
    made = list(parts)
    for at, part in enumerate(parts):
        plain = words.plain(part.clause.text(answer))
        if not (has_match(words.pattern("corrected"), plain) or has_match(words.pattern("unsaid"), plain)):
            continue
        made[at] = replace(made[at], kind="none", verdict="", right="none", wrong="none", quote=None)
        before = [place for place in range(at) if made[place].kind in ("claim", "reported")]
        spoken = [place for place in before if (made[place].right, made[place].wrong) != ("none", "none")]
        if before:
            place = (spoken or before)[-1]
            made[place] = replace(made[place], taken_back_by=at + 1)
    return made


@lru_cache(maxsize=16)
def check_claim_words(path: Path) -> None:
    """DataError if the verifier reads an example in the word list `path` otherwise than the example says."""
    words = open_claim_words(path)
    read = ((one, answer) for one in words.examples for answer in one.answers)
    wrong = [fault for one, answer in read if (fault := _misread(one, answer, words))]
    if wrong:
        raise DataError(
            "the word list of claims does not read its own examples",
            where=str(path),
            why="; ".join(wrong[:5]),
            next="correct the patterns or the examples",
        )


def _misread(about: ClaimExamples, example: ExampleAnswer, words: ClaimWords) -> str:
    """How an example is read otherwise than it says; "" if it is not."""
    case = Case(about.question, example.answer, about.evidence, about.right, about.wrong)
    parts = LexicalVerifier([words]).verify(case, split_clauses(example.answer, words))
    claims = [part for part in parts if part.kind == "claim"]
    said = [part for part in claims if part.taken_back_by is None]
    for name, wanted in (("right", example.right), ("wrong", example.wrong)):
        found = {getattr(part, name) for part in said} - {"none"} or {"none"}
        if found != {wanted}:
            return f"{example.answer!r}: the {name} statement reads {' and '.join(sorted(found))}, not {wanted}"
    texts = tuple(part.clause.text(example.answer) for part in claims)
    if example.parts is not None and texts != example.parts:
        return f"{example.answer!r}: the claims are {list(texts)}"
    kinds = {part.kind for part in parts}
    if example.kind and example.kind not in kinds:
        return f"{example.answer!r}: no part is of the kind {example.kind}"
    return ""
