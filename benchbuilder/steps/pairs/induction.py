"""All rules of a file of pairs: which are accepted, what they make of questions, and how well pairs bear each other."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import regex

from benchbuilder.core import Casing, LengthUnit, Span, comparison_form
from benchbuilder.steps.language.punctuation import strip_marks
from benchbuilder.steps.pairs.rules import PairRule, StatementPair, rules_of
from benchbuilder.steps.pairs.tokens import tokens_of, without_final_stop

_OPTION_SHARE = 0.08
"""A dropped word asks if options hold it at most so many times as often as questions do."""
_ASKS = regex.compile(r"[?？؟¿]")


@dataclass(frozen=True, slots=True)
class InducedStatement:
    """What a rule makes of a question: the text without its stop, the place of the answer, and the rule."""

    rule: PairRule
    text: str
    answer: Span


class PairRules:
    """The rules of pairs, in the order in which they are tried, and the words of asking that no statement may hold.

    `questions` and `options` are texts of the benchmark's sources; they tell words of asking from other words.
    """

    def __init__(
        self, pairs: Sequence[StatementPair], unit: LengthUnit, casing: Casing | None,
        questions: Iterable[str] = (), options: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.pairs, self._casing = tuple(pairs), casing
        self._unit: LengthUnit = unit
        self.rules = rules_of(pairs, unit)
        self._asking = self._question_words(questions, options) if self.rules else frozenset[str]()

    def apply(self, question: str, answer: str, accepted: Collection[str] | None = None) -> InducedStatement | None:
        """What the first rule that fits makes of a question; ``None`` if none does.

        Only rules with a digest among `accepted` are tried; ``None`` tries all.
        """
        answer = without_final_stop(strip_marks(answer, " ;,."))
        for rule in self.rules if answer else ():
            if accepted is not None and rule.digest not in accepted:
                continue
            made = rule.apply(question, answer, self._unit, self._casing)
            if made is not None and not self._asks(*made):
                return InducedStatement(rule, *made)
        return None

    def not_reproduced(self) -> Iterator[tuple[StatementPair, str]]:
        """Each pair that the others do not reproduce, with what they make of it (empty: nothing)."""
        for pair in self.pairs:
            others = [other for other in self.pairs if other is not pair]
            made = PairRules(others, self._unit, self._casing).apply(pair.question, pair.answer)
            text = "" if made is None else made.text
            if comparison_form(text) != comparison_form(without_final_stop(pair.statement)):
                yield pair, text

    def examples(
        self, facts: Iterable[tuple[str, str, str]], seed: int, most: int = 3
    ) -> dict[str, tuple[int, list[str]]]:
        """For each rule, the number of facts (id, question, answer) that it states, and the first few by `seed`.

        Questions of pairs are left out.
        """
        known = {comparison_form(pair.question) for pair in self.pairs}
        made: dict[str, list[tuple[str, str]]] = {rule.digest: [] for rule in self.rules}
        for name, question, answer in facts:
            stated = None if comparison_form(question) in known else self.apply(question, answer)
            if stated is not None:
                rank = hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).hexdigest()
                made[stated.rule.digest].append((rank, stated.text))
        return {digest: (len(texts), [text for _, text in sorted(texts)[:most]]) for digest, texts in made.items()}

    def _asks(self, text: str, answer: Span) -> bool:
        """Whether a statement still asks, outside of its answer."""
        for rest in (text[: answer.start], text[answer.end :]):
            if _ASKS.search(rest) or any(token.text in self._asking for token in tokens_of(rest, self._unit)):
                return True
        return False

    def _question_words(self, questions: Iterable[str], options: Iterable[str]) -> frozenset[str]:
        dropped = {word for rule in self.rules for word in rule.dropped_words}
        for pair in self.pairs:
            dropped -= {token.text for token in tokens_of(pair.statement, self._unit)}
        asked, offered = self._counts(questions, dropped), self._counts(options, dropped)
        return frozenset(word for word in dropped if offered[word] <= _OPTION_SHARE * max(asked[word], 1))

    def _counts(self, texts: Iterable[str], words: Collection[str]) -> Counter[str]:
        return Counter(token.text for text in texts for token in tokens_of(text, self._unit) if token.text in words)
