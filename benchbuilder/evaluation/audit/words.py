"""The words of a target that give its answer away, in all items together and in each source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchbuilder.core import LengthUnit
from benchbuilder.evaluation.audit.findings import AuditSettings, WordFinding
from benchbuilder.evaluation.audit.targets import TargetSubjects, rows_by_group, scope_name
from benchbuilder.evaluation.audit.views.ngrams import ngram_rows
from benchbuilder.evaluation.audit.word_test import audit_words

_SHOWN = 10
"""So many words of a group are kept, and all that leak."""
_LONGEST = 12
"""Characters by which a word is shown longer, if all texts with it agree."""


def word_findings(target: TargetSubjects, unit: LengthUnit, settings: AuditSettings) -> Iterator[WordFinding]:
    """The words that tell most in each group; of a pair, the right answer counts as yes and the wrong one as no."""
    texts = [subject.text for subject in (*target.subjects, *target.wrong)]
    labels = [*target.labels, *(False for _ in target.wrong)]
    families = [subject.family for subject in (*target.subjects, *target.wrong)]
    features = ngram_rows(texts, unit)
    for scope in ("all", "source"):
        groups = rows_by_group(target.subjects, scope)
        if scope == "source" and len(groups) == 1:
            continue
        for group, rows in groups.items():
            chosen = [*rows, *(row + len(target.subjects) for row in rows if target.wrong)]
            found = audit_words(
                target.target, scope_name(scope, group), features.take(chosen), [labels[row] for row in chosen],
                [families[row] for row in chosen], settings,
            )  # fmt: skip
            yield from found[:_SHOWN]
            yield from (word for word in found[_SHOWN:] if word.leaks)


def widened(word: str, texts: Sequence[str]) -> str:
    """A run of characters with what stands around it in all texts that have it.

    >>> widened("b", ["abc", "zabd", "x"])
    'ab'
    """
    found = [text for text in texts if word in text]
    for _ in range(_LONGEST):
        before = {text[text.index(word) - 1] if text.index(word) else "" for text in found}
        after = {text[text.index(word) + len(word) :][:1] for text in found}
        first, last = (side.pop() if len(side) == 1 else "" for side in (before, after))
        if not first and not last:
            break
        word = f"{first}{word}{last}"
        if not all(word in text for text in found):
            return word[len(first) : len(word) - len(last)]
    return word
