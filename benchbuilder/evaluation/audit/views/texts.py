"""Views of texts: what can be read without knowing anything of the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from benchbuilder.core import text_length
from benchbuilder.evaluation.audit.features import ViewFeatures
from benchbuilder.evaluation.audit.subjects import AuditSubject
from benchbuilder.evaluation.audit.views.base import View, ViewContext, feature_rows, number_rows
from benchbuilder.evaluation.audit.views.ngrams import ngram_rows
from benchbuilder.steps import count_negations

_ENDING = 6
_MASK = "\N{WHITE SQUARE}"
_MOST = 5


class LengthView(View):
    """The length of the text, in 8 bins of equal size."""

    kind: ClassVar[str] = "length"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The bin of each length."""
        return number_rows([text_length(subject.text) for subject in subjects], "no_texts")


class EndingView(View):
    """The last 6 characters of the text."""

    kind: ClassVar[str] = "ending"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The ending of each text."""
        return feature_rows([subject.text.strip()[-_ENDING:] or None for subject in subjects], "no_texts")


class NegationView(View):
    """How many negations the text has, by the recipe's patterns."""

    kind: ClassVar[str] = "negation"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """The number of negations of each text."""
        if not context.negations:
            return "no_negations"
        counts = [count_negations(s.text, context.negations, context.harmless) for s in subjects]
        return feature_rows([f"{min(count, _MOST)}" for count in counts], "no_texts")


class CueWordsView(View):
    """Whether the text has one of the recipe's cue words."""

    kind: ClassVar[str] = "cue_words"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """Yes or no for each text."""
        if not context.cue_words:
            return "no_cue_words"
        found = [any(word in subject.text for word in context.cue_words) for subject in subjects]
        return feature_rows(["yes" if cue else "no" for cue in found], "no_texts")


class FrameView(View):
    """The text without both ends of its fact: the words of the template around them."""

    kind: ClassVar[str] = "frame"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """The n-grams of each frame."""
        if not any(subject.answer for subject in subjects):
            return "no_facts"
        return ngram_rows([_masked(subject) for subject in subjects], context.unit)


def _masked(subject: AuditSubject) -> str:
    """The text of a subject with its ends masked, the longer one first."""
    text = subject.text
    for end in sorted(filter(None, (subject.answer, subject.concept)), key=len, reverse=True):
        text = text.replace(end, _MASK)
    return text


class QuestionWordsView(View):
    """All words of the text: n-grams of 1 to 3 characters or words."""

    kind: ClassVar[str] = "question_words"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """The n-grams of each text."""
        return ngram_rows([subject.text for subject in subjects], context.unit)


class AnswerWordsView(View):
    """The words of the answer alone: the part of the text that answers the question of its fact."""

    kind: ClassVar[str] = "answer_words"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """The n-grams of each answer."""
        if not any(subject.answer for subject in subjects):
            return "no_facts"
        return ngram_rows([subject.answer for subject in subjects], context.unit)


class AnswerIdentityView(View):
    """Which answer it is."""

    kind: ClassVar[str] = "answer_identity"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """Each answer as a whole."""
        return feature_rows([subject.answer or None for subject in subjects], "no_facts")


class ConceptWordsView(View):
    """The words of the other end: the concept that a triple says something about."""

    kind: ClassVar[str] = "concept_words"
    targets = ("verdict", "truth")

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """The n-grams of each concept."""
        if not any(subject.concept for subject in subjects):
            return "no_triples"
        return ngram_rows([subject.concept for subject in subjects], context.unit)


class AnswerWithRelationView(View):
    """Which answer it is, together with the relation."""

    kind: ClassVar[str] = "answer_with_relation"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """Relation and answer of each subject."""
        pairs = [f"{s.relation} | {s.answer}" if s.relation and s.answer else None for s in subjects]
        return feature_rows(pairs, "no_triples")
