"""Negates a true statement at the predicate that joins it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from benchbuilder import kinds
from benchbuilder.ports.stage import Map, Port
from benchbuilder.ports.tokenizer import Tokenizer
from benchbuilder.records.envelope import Frozen, Row, Span
from benchbuilder.records.fates import Dropped, Fate, Kept
from benchbuilder.records.statement import Statement
from benchbuilder.records.table import Table
from benchbuilder.spec.base import KindSpec, PromptRef, Slot, StepSpec
from benchbuilder.text.edits import cuts_word, replace_span, shifted
from benchbuilder.text.negation import SearchRule, count_negations, search_negation
from benchbuilder.text.patterns import Regex, find_all, find_word


class SeamNegation(Frozen):
    """What the text before the answer may end in, and what it ends in when negated (``null``: no rule can)."""

    end: Annotated[str, Field(min_length=1)]
    negated: str | None


class NegateSpec(StepSpec):
    """How statements are negated."""

    method: Literal["seam", "search"]
    """``seam``: at the predicate before the answer; ``search``: by an ordered text search."""
    seams: tuple[SeamNegation, ...]
    """For ``seam``; the longest end that fits counts."""
    whole_words: tuple[str, ...]
    """Words that an end must not begin inside of."""
    blocked: tuple[Regex, ...]
    """For ``seam``: where one of these stands before the answer, the negation would change its scope."""
    blocked_answers: tuple[Regex, ...]
    """For ``seam``: where one of these stands in the answer, it would not be plain what is negated."""
    search: tuple[SearchRule, ...]
    """For ``search``: the first that applies counts."""
    negations: tuple[Regex, ...]
    """What counts as a negation; with none, statements are not checked for them."""
    harmless: tuple[Regex, ...]
    """Words that hold such a string and negate nothing."""
    prompt: PromptRef | None = None
    model: Annotated[KindSpec | None, Slot("model", inherit="model")] = None
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


class Negate(Map):
    """A false statement: the true one with its predicate negated once, never inside the answer.

    Model-made statements carry no seam; there the last predicate before the answer is looked for, as whole words of
    the tokenizer.
    """

    kind = "negate"
    version = 2
    spec_class = NegateSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement)}
    output: ClassVar[type[Row] | None] = Statement
    reasons: ClassVar[Mapping[str, str]] = {
        "needs_model": "No rule can do it and the model is `none`.",
        "already_negative": "The statement is negative already; negating it once more would be hard to read.",
        "not_one_negation_more": "The result does not hold exactly one negation more than the true statement.",
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {"statement": "the true statement", "answer": "its answer"}

    def fingerprint(self) -> Mapping[str, str]:
        """The tokenizer's versions."""
        return self._make_tokenizer().fingerprint() if self.spec.tokenizer is not None else {}

    def _make_tokenizer(self) -> Tokenizer:
        return kinds.create("tokenizer", self.spec.tokenizer)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:  # noqa: ARG002
        """Open the tokenizer, if the recipe names one."""
        self._tokenizer = self._make_tokenizer() if self.spec.tokenizer is not None else None
        if self._tokenizer is not None:
            self._tokenizer.open()

    def map(self, row: Any, parents: Mapping[str, Any]) -> Iterable[Fate]:  # noqa: ARG002
        """One ticket a statement."""
        true: Statement = row
        spec: NegateSpec = self.spec
        before = self._count(true.text, true.answer)
        if before or self._count(true.answer.of(true.text) if true.answer is not None else "", None):
            return [Dropped("already_negative", true.text)]
        edit = search_negation(true.text, spec.search) if spec.method == "search" else self._at_predicate(true)
        if edit is None:
            return [Dropped("needs_model", true.text)]
        span, new = edit
        text = replace_span(true.text, span, new)
        answer = shifted(true.answer, span, len(new))
        if text == true.text or (spec.negations and self._count(text, answer) != before + 1):
            return [Dropped("not_one_negation_more", text)]
        checks = ["differs_from_true"]
        if spec.negations:
            checks.append("one_negation_more")
        if answer is not None:
            checks.append("answer_untouched")
        false = Statement.child(
            true,
            made_by=self.made_by(spec.method),
            polarity="false",
            text=text,
            joined="negation",
            answer=answer,
            seam=Span(start=span.start, end=span.start + len(new)),
            context=true.context,
            fact=true.fact,
            checks=tuple(checks),
        )
        return [Kept(false)]

    def _count(self, text: str, answer: Span | None) -> int:
        outside = replace_span(text, answer, "\0") if answer is not None else text
        return count_negations(outside, self.spec.negations, self.spec.harmless)

    def _at_predicate(self, true: Statement) -> tuple[Span, str] | None:
        """The span of the predicate before the answer and its negated form."""
        end = self._predicate_end(true)
        if end is None or any(find_all(pattern, true.text[:end]) for pattern in self.spec.blocked):
            return None
        words: tuple[str, ...] = self.spec.whole_words
        answer = true.answer.of(true.text) if true.answer is not None else ""
        if any(find_all(pattern, answer) for pattern in self.spec.blocked_answers):
            return None
        rules = [
            rule
            for rule in self.spec.seams
            if true.text[:end].endswith(rule.end) and not cuts_word(true.text, end - len(rule.end), words)
        ]
        rule = max(rules, key=lambda rule: len(rule.end), default=None)
        if rule is None or rule.negated is None:
            return None
        return Span(start=end - len(rule.end), end=end), rule.negated

    def _predicate_end(self, true: Statement) -> int | None:
        if true.joined != "model":
            return true.seam.end if true.seam is not None else None
        if true.answer is None or self._tokenizer is None:
            return None
        ends = [
            span.end
            for rule in self.spec.seams
            for span in find_word(rule.end, true.text, self._tokenizer.tokens)
            if span.end <= true.answer.start
        ]
        return max(ends, default=None)
