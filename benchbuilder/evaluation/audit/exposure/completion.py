"""The completion test: does a model continue the questions of the benchmark better than paraphrases of them?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from benchbuilder.core import Item, comparison_form, rouge_l
from benchbuilder.evaluation.audit.exposure.base import (
    ExposureMaterial,
    ExposureTask,
    ExposureWork,
    ScoredReply,
    question_text,
)

COMPLETION = "completion"
_SHOWN = 0.6
"""The part of a text that the model sees."""
_FEWEST = 10
"""Texts with fewer characters (or words) are too short to be known by their end."""
_COMMON = 0.3
_LONGEST = 24


def completion_tasks(material: ExposureMaterial) -> list[ExposureTask]:
    """A task for each text, and one for the paraphrase of each of the next texts, which nobody has published."""
    groups: dict[tuple[str, str], list[str]] = {}
    for item in material.items:
        groups.setdefault(_group(item), []).append(question_text(item))
    endings = {group: common_ending(texts) for group, texts in groups.items()}
    texts = [(item.id, question_text(item).removesuffix(endings[_group(item)])) for item in material.items]
    usable = [(name, text) for name, text in texts if len(material.tokens(text)) >= _FEWEST]
    controls = min(material.controls, len(usable) // 3)
    originals = usable[: min(material.wanted, len(usable) - controls)]
    paraphrased = usable[len(originals) : len(originals) + controls]
    return [
        *(ExposureTask(COMPLETION, name, partial(_original, material, name, text)) for name, text in originals),
        *(ExposureTask(COMPLETION, name, partial(_paraphrase, material, name, text)) for name, text in paraphrased),
    ]


def _group(item: Item[Any]) -> tuple[str, str]:
    """Items of one group may share a frame."""
    return item.partition, getattr(item.payload, "type", "")


def common_ending(texts: Sequence[str]) -> str:
    """The longest ending that many texts share: the frame of a question, which tells nothing of its text."""
    for length in range(_LONGEST, 2, -1):
        counts = Counter(text[-length:] for text in texts if len(text) > length)
        ending, count = max(counts.items(), key=lambda pair: (pair[1], pair[0]), default=("", 0))
        if count >= max(3, _COMMON * len(texts)):
            return ending
    return ""


def _original(material: ExposureMaterial, item: str, text: str) -> ExposureWork:
    return (yield from _complete(material, item, text, control=False))


def _paraphrase(material: ExposureMaterial, item: str, text: str) -> ExposureWork:
    """Let the model put a text into other words; then let it complete those."""
    words = yield from material.ask("paraphrase", text, text=text)
    return (yield from _complete(material, item, words.splitlines()[0] if words else text, control=True))


def _complete(material: ExposureMaterial, item: str, text: str, *, control: bool) -> ExposureWork:
    tokens = material.tokens(text)
    cut = max(1, round(_SHOWN * len(tokens)))
    begin, rest = material.join(tokens[:cut]), material.join(tokens[cut:])
    reply = yield from material.ask("completion", rest, begin=begin)
    written = material.tokens(reply.removeprefix(begin))[: len(tokens) - cut]
    score = rouge_l([comparison_form(token) for token in written], [comparison_form(t) for t in tokens[cut:]])
    return ScoredReply(COMPLETION, item, control, rest, reply, score)
