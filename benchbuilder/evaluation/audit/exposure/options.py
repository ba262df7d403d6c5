"""The option guess: does a model know a wrong option of an examination question that it cannot see?"""

from __future__ import annotations

import random
from functools import partial

from benchbuilder.core import Choice, comparison_form
from benchbuilder.evaluation.audit.exposure.base import ExposureMaterial, ExposureTask, ExposureWork, ScoredReply

OPTIONS = "options"
_MASK = "[MASK]"


def option_tasks(material: ExposureMaterial) -> list[ExposureTask]:
    """A task for each original question, with one wrong option masked."""
    facts = [item.fact for item in material.items if material.choices.get(item.fact) is not None]
    chosen = [fact for fact in dict.fromkeys(facts) if material.choices[fact].wrong_options()][: material.wanted]
    return [ExposureTask(OPTIONS, fact, partial(_ask, material, fact, material.choices[fact])) for fact in chosen]


def _ask(material: ExposureMaterial, fact: str, choice: Choice) -> ExposureWork:
    hidden = random.Random(f"{material.seed}:{fact}").choice(choice.wrong_options())
    options = [
        {"key": option.key, "text": _MASK if option.key == hidden.key else option.text} for option in choice.options
    ]
    question = f"{choice.context}{choice.question}"
    reply = yield from material.ask("options", hidden.text, question=question, options=options, masked=hidden.key)
    written = bare_option(reply, hidden.key)
    return ScoredReply(OPTIONS, fact, control=False, expected=hidden.text, reply=written,
                       score=float(same_option(written, hidden.text)))  # fmt: skip


def bare_option(reply: str, key: str) -> str:
    """A reply without the letter of the option and outer marks.

    >>> bare_option("B. Mars.", "B")
    'Mars'
    """
    text = reply.splitlines()[0].strip() if reply else ""
    if text[: len(key)].upper() == key and text[len(key) : len(key) + 1] in (".", "．", "、", ":", "：", ")", "）"):
        text = text[len(key) + 1 :]
    return text.strip(" \"'“”‘’「」。.")


def same_option(first: str, second: str) -> bool:
    """Whether two texts are the same option."""
    return comparison_form(first).strip("。.") == comparison_form(second).strip("。.") != ""
