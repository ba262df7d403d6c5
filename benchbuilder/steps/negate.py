"""Negates true statements at their predicates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from benchbuilder.config import FileRef, KindSpec, Slot, open_word_forms
from benchbuilder.core import (
    Dropped,
    FrozenModel,
    Kept,
    Outcome,
    ProducedBy,
    Regex,
    Row,
    Span,
    SpecIssue,
    Statement,
    Table,
    create_from_spec,
    fill_template,
    find_all,
    has_match,
    match_count,
    strip_wrapping,
    template_faults,
    word_boundaries,
)
from benchbuilder.retrieval import Tokenizer, word_boundary_problem
from benchbuilder.steps.base import Port
from benchbuilder.steps.language.edits import (
    SearchRule,
    altered_statement,
    answer_text,
    count_negations,
    cuts_word,
    exchanges,
    replace_span,
    search_negation,
    shift_span,
    single_edit,
)
from benchbuilder.steps.language.patterns import find_word
from benchbuilder.steps.language.punctuation import end_with
from benchbuilder.steps.language.questions import is_one_sentence
from benchbuilder.steps.writer import MODEL_REASONS, NeedsModel, ReplyFault, Writer, WriterSpec


class SeamNegation(FrozenModel):
    """An end of the text before the answer, and its negated form (``null``: no rule applies)."""

    end: Annotated[str, Field(min_length=1)]
    negated: str | None


class AdverbNegation(FrozenModel):
    """Words of the predicate before an end, and how both are negated: over ``{adverb}`` and ``{end}``.

    Between the two, a negation would say something else (``most does not depend on``). An adverb before the adverb is
    negated in the same way, with the rest as its ``{end}``. With ``negated: null``, no rule applies.
    """

    adverb: Annotated[Regex, Field(min_length=1)]
    negated: str | None

    @model_validator(mode="after")
    def _only_its_parts(self) -> Self:
        if self.negated is not None and (faults := template_faults(self.negated, ("adverb", "end"))):
            raise ValueError(f"negated: {'; '.join(faults)}")
        return self


class Exchange(FrozenModel):
    """A model may negate by replacing `old` with one of `new`."""

    old: str
    new: tuple[Annotated[str, Field(min_length=1)], ...]


class NegateSpec(WriterSpec):
    """How statements are negated."""

    method: Literal["seam", "search"]
    """``seam``: at the predicate before the answer; ``search``: by an ordered text search."""
    seams: tuple[SeamNegation, ...]
    """For ``seam``; the longest end that fits counts. An end with ``%column%`` means one end for each word in `forms`.
    """
    forms: tuple[FileRef, ...] = ()
    """Tables of word forms, whose columns `seams` may name."""
    adverbs: tuple[AdverbNegation, ...] = ()
    """For ``seam``: adverbs right before an end, which is negated together with them; the first that fits counts."""
    whole_words: tuple[str, ...]
    """Words that an end or an adverb must not split."""
    blocked: tuple[Regex, ...]
    """For ``seam``: patterns before the answer that would change the scope of the negation."""
    blocked_behind: Regex = ""
    """For ``seam``: a pattern at the words behind the predicate, such as an adverb of degree: "is not most likely due
    to" leaves open whether the cause is denied or how likely it is. Empty: none."""
    blocked_answers: tuple[Regex, ...]
    """For ``seam``: patterns of answers that would make it unclear what is negated."""
    search: tuple[SearchRule, ...]
    """For ``search``: the first rule that applies counts."""
    negations: tuple[Regex, ...]
    """Patterns of negations; without any, negations are not checked."""
    harmless: tuple[Regex, ...]
    """Words that contain such a pattern without negating anything."""
    stop: str
    """The end of every statement."""
    marks: str
    """Marks that a model's text may end in instead of the stop."""
    ends: str
    """Characters that end a sentence; a model's text contains none except its stop."""
    max_edit: Annotated[int, Field(ge=1)]
    """The largest number of characters in which a model's text may differ from the true statement."""
    exchanges: tuple[Exchange, ...]
    """Further edits by which a model may negate; the rest of its text must be the true statement. Without any, this is
    not checked.

    A pure insertion (an empty `old`) must not be inside a word.
    """
    leading: tuple[str, ...]
    """Insertions that are allowed at the very beginning of a model's text."""
    hedges: tuple[Regex, ...]
    """Negations that leave the truth open; a model's text has no more of them than the true statement."""
    stand_in: Annotated[str, Field(min_length=1)]
    """A negation. A quote assumes replies with it before the answer."""
    tokenizer: Annotated[KindSpec | None, Slot("tokenizer", inherit="tokenizer")] = None


class Negate(Writer):
    """A statement with its predicate negated once, never inside the answer: a true one becomes false, a false one true.

    False statements are negated by rules only: their negations serve as questions, for which no model is paid.
    Statements made by models have no seam; their last predicate before the answer is found by whole words of the
    tokenizer. If no rule applies, a model is asked; its text must differ from the true statement in one short part.
    A statement that is already negative is always dropped: two negations are hard to read and easy to miss.
    """

    kind = "negate"
    version = 4
    spec_class = NegateSpec
    ports: ClassVar[Mapping[str, Port]] = {"each": Port(Statement)}
    output: ClassVar[type[Row] | None] = Statement
    faults: ClassVar[Mapping[str, str]] = {
        "not_one_sentence": "The model's text is not one sentence on one line.",
        "answer_changed": "The model's text does not contain the answer unchanged.",
        "changed_elsewhere": "The model's text differs from the true statement by more than one plain negation.",
        "hedged": "The model's text leaves the truth open.",
        "not_one_negation_more": "The result does not have exactly one negation more than the true statement.",
    }
    """Why a model's text is rejected."""
    reasons: ClassVar[Mapping[str, str]] = {
        **MODEL_REASONS,
        "needs_rule": "No rule applies, and a model negates true statements only.",
        "already_negative": "The statement is already negative; a second negation would be hard to read.",
        **faults,
    }
    prompt_variables: ClassVar[Mapping[str, str]] = {
        "statement": "the true statement",
        "answer": "its answer (empty if unknown)",
    }
    reply_field = "statement"

    def fingerprint(self) -> Mapping[str, str]:
        """The model's and the tokenizer's versions."""
        own = self._make_tokenizer().fingerprint() if self.spec.tokenizer is not None else {}
        return {**super().fingerprint(), **own}

    def validate_inputs(self, rows: Mapping[str, type[Row]]) -> list[SpecIssue]:
        """The issues of every writer, and a tokenizer that does not split words."""
        tokenizer = self._make_tokenizer() if self.spec.tokenizer is not None else None
        return [*super().validate_inputs(rows), *(word_boundary_problem(tokenizer) if tokenizer is not None else ())]

    def _make_tokenizer(self) -> Tokenizer:
        return create_from_spec("tokenizer", self.spec.tokenizer)

    def open(self, lookups: Mapping[str, Table[Any]]) -> None:
        """Open the tokenizer, if the recipe names one, and read the prompts."""
        super().open(lookups)
        forms, seams = open_word_forms(self.spec.forms), dict[tuple[str, str | None], None]()
        for rule in self.spec.seams:
            pairs = forms.fill_templates(rule.end, rule.negated or "")
            seams.update({(end, negated if rule.negated is not None else None): None for end, negated in pairs})
        self._seams = tuple(SeamNegation(end=end, negated=negated) for end, negated in seams)
        self._seam_rules = {rule.end: rule for rule in reversed(self._seams)}  # of two with one end the first
        self._seam_lengths = sorted({len(rule.end) for rule in self._seams}, reverse=True)
        self._tokenizer = self._make_tokenizer() if self.spec.tokenizer is not None else None
        if self._tokenizer is not None:
            self._tokenizer.open()

    def exclusion(self, row: Any, parents: Mapping[str, Any]) -> Outcome | None:
        """Statements with a negation, inside or outside the answer, are dropped, and false ones that need a model."""
        statement: Statement = row
        answer = answer_text(statement)
        if self._count_negations(statement.text, statement.answer) or self._count_negations(answer, None):
            return Dropped("already_negative", statement.text)
        if statement.polarity == "false":
            outcome = self.by_rule(row, parents)
            return Dropped("needs_rule", outcome.detail) if isinstance(outcome, NeedsModel) else outcome
        return None

    def by_rule(self, row: Any, parents: Mapping[str, Any]) -> Outcome | NeedsModel:  # noqa: ARG002
        """The statement with its predicate negated, if a rule applies."""
        true: Statement = row
        spec: NegateSpec = self.spec
        edit = search_negation(true.text, spec.search) if spec.method == "search" else self._negate_predicate(true)
        if edit is None:
            return NeedsModel(true.text)
        span, new = edit
        if not self._negates_once(true, span, new):
            text = replace_span(true.text, span, new)
            return NeedsModel(text) if self.model_spec is not None else Dropped("not_one_negation_more", text)
        return Kept(self._negated(true, span, new, self.produced_by(spec.method), ()))

    def prompt_values(self, row: Any, parents: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Statement and answer."""
        return {"statement": row.text, "answer": answer_text(row)}

    def expected_reply(self, row: Any, parents: Mapping[str, Any]) -> str:
        """The result of the rules, or the statement with a negation before its answer."""
        true: Statement = row
        outcome = self.by_rule(row, parents)
        if isinstance(outcome, Kept) and isinstance(outcome.row, Statement) and outcome.row.answer is not None:
            return outcome.row.text
        end = true.answer.start if true.answer is not None else len(true.text.removesuffix(self.spec.stop))
        return true.text[:end] + self.spec.stand_in + true.text[end:]

    def judge(self, row: Any, parents: Mapping[str, Any], text: str, produced_by: ProducedBy) -> Row | ReplyFault:  # noqa: ARG002
        """The true statement with one short part changed outside the answer, which adds one negation."""
        true: Statement = row
        spec: NegateSpec = self.spec
        reply = strip_wrapping(text)
        text = end_with(reply, spec.stop, spec.marks)
        if "\n" in reply or not is_one_sentence(text, spec.stop, spec.ends):
            return ReplyFault("not_one_sentence")
        answer = answer_text(true)
        if answer not in text:
            return ReplyFault("answer_changed", answer)
        edit = single_edit(true.text, text, true.answer)
        if edit is None or max(edit[0].end - edit[0].start, len(edit[1])) > spec.max_edit:
            return ReplyFault("changed_elsewhere", true.text)
        if any(match_count(pattern, text) > match_count(pattern, true.text) for pattern in spec.hedges):
            return ReplyFault("hedged", true.text)
        if not self._negates_once(true, *edit):
            return ReplyFault("not_one_negation_more", true.text)
        if spec.exchanges and not self._is_allowed_exchange(true, text):
            return ReplyFault("changed_elsewhere", true.text)
        return self._negated(true, *edit, produced_by, ("one_sentence", "one_edit"))

    def _negates_once(self, true: Statement, span: Span, new: str) -> bool:
        """Whether `new` instead of `span` changes the text, by one more negation if negations are counted."""
        text = replace_span(true.text, span, new)
        if text == true.text:
            return False
        before = self._count_negations(true.text, true.answer)
        after = self._count_negations(text, shift_span(true.answer, span, len(new)))
        return not self.spec.negations or after == before + 1

    def _is_allowed_exchange(self, true: Statement, text: str) -> bool:
        """Whether `text` differs from the true statement only by an exchange that the recipe allows."""
        spec: NegateSpec = self.spec
        pairs = {(rule.end, rule.negated) for rule in self._seams if rule.negated is not None}
        pairs |= {(rule.old, new) for rule in spec.exchanges for new in rule.new}
        return any(
            self._fits_at(true, text, old, new, position)
            for old, new in sorted(pairs)
            for position in exchanges(true.text, text, old, new)
        )

    def _fits_at(self, true: Statement, text: str, old: str, new: str, position: int) -> bool:
        """Whether replacing `old` at `position` splits no word; `leading` must allow an insertion at the start."""
        end = position + len(old)
        if position == 0 and not old:
            return new in self.spec.leading
        if any(cuts_word(true.text, cut, self.spec.whole_words) for cut in (position, end)):
            return False
        if self._tokenizer is None or (true.answer is not None and end == true.answer.start):
            return True
        if {position, end} <= word_boundaries(true.text, self._tokenizer.tokens(true.text)):
            return True
        return bool(old) and any(span.start == position for span in find_word(new, text, self._tokenizer.tokens))

    def _negated(
        self, true: Statement, span: Span, new: str, produced_by: ProducedBy, checks: tuple[str, ...]
    ) -> Statement:
        """The true statement with `new` instead of `span`; `checks` are further checks that it passed."""
        answer = shift_span(true.answer, span, len(new))
        passed = ["differs_from_true"]
        if self.spec.negations:
            passed.append("one_negation_more")
        if answer is not None:
            passed.append("answer_untouched")
        text, seam = replace_span(true.text, span, new), Span(start=span.start, end=span.start + len(new))
        return altered_statement(true, produced_by, text, "negation", (*passed, *checks), answer, seam)

    def _count_negations(self, text: str, answer: Span | None) -> int:
        outside = replace_span(text, answer, "\0") if answer is not None else text
        return count_negations(outside, self.spec.negations, self.spec.harmless)

    def _negate_predicate(self, true: Statement) -> tuple[Span, str] | None:
        """The span of the predicate before the answer and its negated form."""
        end = self._predicate_end(true)
        if end is None or any(has_match(pattern, true.text[:end]) for pattern in self.spec.blocked):
            return None
        if self.spec.blocked_behind and has_match(rf"\A(?:{self.spec.blocked_behind})", true.text[end:]):
            return None
        words: tuple[str, ...] = self.spec.whole_words
        if any(has_match(pattern, answer_text(true)) for pattern in self.spec.blocked_answers):
            return None
        starts = (end - length for length in self._seam_lengths if length <= end)
        whole = (start for start in starts if true.text[start:end] in self._seam_rules)
        start = next((start for start in whole if not cuts_word(true.text, start, words)), None)
        rule = None if start is None else self._seam_rules[true.text[start:end]]
        if rule is None or rule.negated is None:
            return None
        return self._with_adverbs(true.text[:end], end - len(rule.end), rule.negated)

    def _with_adverbs(self, before: str, start: int, negated: str) -> tuple[Span, str] | None:
        """The span of the predicate with the adverbs before `start`, where its end begins, and its negated form."""
        while (found := self._adverb_before(before, start)) is not None:
            adverb, rule = found
            if rule.negated is None:
                return None
            words = {"adverb": adverb.slice_of(before), "end": before[start:]}
            start, negated = adverb.start, fill_template(rule.negated, words)[0]
        return Span(start=start, end=len(before)), negated

    def _adverb_before(self, before: str, start: int) -> tuple[Span, AdverbNegation] | None:
        """The adverb that ends at `start`, and the first rule that it fits."""
        for rule in self.spec.adverbs:
            for span in find_all(rule.adverb, before):
                if span.end == start and not cuts_word(before, span.start, self.spec.whole_words):
                    return span, rule
        return None

    def _predicate_end(self, true: Statement) -> int | None:
        if true.joined != "model":
            return true.seam.end if true.seam is not None else None
        if true.answer is None or self._tokenizer is None:
            return None
        ends = [
            span.end
            for rule in self._seams
            for span in find_word(rule.end, true.text, self._tokenizer.tokens)
            if span.end <= true.answer.start
        ]
        return max(ends, default=None)
