"""Views of where a text comes from: source, relation, options, and what a graph or paragraphs say of its ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import ClassVar

from benchbuilder.core import LengthUnit, WordFinder
from benchbuilder.evaluation.audit.features import ViewFeatures, sparse_rows
from benchbuilder.evaluation.audit.subjects import AuditSubject
from benchbuilder.evaluation.audit.views.base import View, ViewContext, feature_rows, number_rows

_MANY = 2


class MajorityView(View):
    """Nothing at all: somebody who always gives the same answer."""

    kind: ClassVar[str] = "majority"
    targets = ("verdict", "truth")

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The same for each subject."""
        return feature_rows(["" for _ in subjects], "no_texts")


class SourceView(View):
    """The source of the item."""

    kind: ClassVar[str] = "source"
    targets = ("verdict", "truth")

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The source of each subject."""
        return feature_rows([subject.source for subject in subjects], "no_texts")


class RelationView(View):
    """The relation of the triple."""

    kind: ClassVar[str] = "relation"
    targets = ("verdict", "truth")

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The relation of each subject."""
        return feature_rows([subject.relation or None for subject in subjects], "no_triples")


class PopularityView(View):
    """How many known triples each end has, in bins that double."""

    kind: ClassVar[str] = "popularity"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """The bins of both ends, alone and together."""
        known = context.knowledge
        if not known.has_triples or not any(subject.concept for subject in subjects):
            return "no_triples"
        answers, concepts = (known.degrees([getattr(s, end) for s in subjects]) for end in ("answer", "concept"))
        return sparse_rows([_popularity(*seen) for seen in zip(subjects, answers, concepts, strict=True)])


def _popularity(subject: AuditSubject, answer: int, concept: int) -> tuple[str, ...]:
    if not subject.concept:
        return ()
    first, second = answer.bit_length(), concept.bit_length()
    return f"answer {first}", f"concept {second}", f"both {first} {second}"


class SharedLettersView(View):
    """How many characters, and how many pairs of characters, both ends share: none, one, or more.

    Where words are separated by spaces, these are words and runs of four characters.
    """

    kind: ClassVar[str] = "shared_letters"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """What each pair of ends shares."""
        return feature_rows([_shared(subject, context.unit) for subject in subjects], "no_triples")


def _shared(subject: AuditSubject, unit: LengthUnit) -> str | None:
    first, second = subject.answer.casefold(), subject.concept.casefold()
    if not first or not second:
        return None
    if unit == "words":
        small, large = len({*first.split()} & {*second.split()}), len(_runs(first, 4) & _runs(second, 4))
    else:
        small, large = len({*first} & {*second}), len(_runs(first, 2) & _runs(second, 2))
    return f"{min(small, _MANY)} {min(large, _MANY)}"


def _runs(text: str, size: int) -> set[str]:
    return {text[at : at + size] for at in range(len(text) - size + 1)}


class EvidenceOverlapView(View):
    """The highest share of the text's pairs of characters that one paragraph of the item holds, in 8 bins."""

    kind: ClassVar[str] = "evidence_overlap"
    information: ClassVar[bool] = True
    of_paragraphs: ClassVar[bool] = True

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The overlap of each subject."""
        overlaps: list[float | None] = []
        for subject in subjects:
            own = _runs(subject.text, 2)
            found = [sum(run in text for run in own) for text in subject.evidence]
            overlaps.append(max(found) / len(own) if found and own else None)
        return number_rows(overlaps, "no_evidence")


class TogetherView(View):
    """Whether both ends occur in one paragraph of a knowledge base, or of the item if the bases are large."""

    kind: ClassVar[str] = "together"
    information: ClassVar[bool] = True
    of_paragraphs: ClassVar[bool] = True

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """Yes or no for each subject with two ends."""
        pairs = {(subject.answer, subject.concept) for subject in subjects if subject.answer and subject.concept}
        if not pairs:
            return "no_triples"
        paragraphs = {text: None for subject in subjects for text in subject.evidence}
        paragraphs.update(dict.fromkeys(context.knowledge.paragraphs))
        if not paragraphs:
            return "no_evidence"
        met = _met(pairs, list(paragraphs))
        return feature_rows(
            [None if (s.answer, s.concept) not in pairs else "yes" if (s.answer, s.concept) in met else "no"
             for s in subjects], "no_triples",
        )  # fmt: skip


def _met(pairs: set[tuple[str, str]], paragraphs: Sequence[str]) -> set[tuple[str, str]]:
    """The pairs of ends that one of the paragraphs holds."""
    finder = WordFinder({end for pair in pairs for end in pair})
    partners = defaultdict[str, set[str]](set)
    for first, second in pairs:
        partners[first].add(second)
    met = set[tuple[str, str]]()
    for text in paragraphs:
        found = finder.find(text)
        met.update((end, other) for end in found if end in partners for other in partners[end] & found)
    return met


class RelatednessView(View):
    """How near both ends are in the graph, their own triple left out: a low value says that the item is easy."""

    kind: ClassVar[str] = "relatedness"
    information: ClassVar[bool] = True

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:
        """The relatedness of each pair of ends, in 8 bins."""
        if not context.knowledge.has_triples:
            return "no_triples"
        pairs = [(subject.answer, subject.concept) for subject in subjects]
        known = context.knowledge.relatedness(pairs)
        return number_rows([n if all(pair) else None for n, pair in zip(known, pairs, strict=True)], "no_triples")


class PositionView(View):
    """The place of the stated option in the original multiple-choice question: first, last or between.

    Models do not see it: questions show no options, or in a drawn order.
    """

    kind: ClassVar[str] = "position"
    information: ClassVar[bool] = True

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The place of each option."""
        options = [subject.option for subject in subjects]
        places = [
            None if o is None else "first" if o.place == 0 else "last" if o.place == len(o.texts) - 1 else "between"
            for o in options
        ]
        return feature_rows(places, "no_options")


class LetterView(View):
    """The letter of the stated option in the original multiple-choice question. Models do not see it."""

    kind: ClassVar[str] = "letter"
    information: ClassVar[bool] = True

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The letter of each option."""
        return feature_rows([None if s.option is None else s.option.letter for s in subjects], "no_options")


class LongestOptionView(View):
    """Whether the stated option is the longest or the shortest of the original multiple-choice question."""

    kind: ClassVar[str] = "longest_option"

    def see(self, subjects: Sequence[AuditSubject], context: ViewContext) -> ViewFeatures | str:  # noqa: ARG002
        """The rank of each option by length."""
        return feature_rows([_size_rank(subject) for subject in subjects], "no_options")


def _size_rank(subject: AuditSubject) -> str | None:
    if subject.option is None:
        return None
    sizes = [len(text) for text in subject.option.texts]
    own = sizes[subject.option.place]
    if min(sizes) == max(sizes):
        return "equal"
    return "longest" if own == max(sizes) else "shortest" if own == min(sizes) else "between"
