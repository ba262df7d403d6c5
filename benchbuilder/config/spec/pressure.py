"""Pressure on models: what is said before a question, to see whether they keep the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from benchbuilder.config.spec.annotation import Name
from benchbuilder.config.spec.base import Spec
from benchbuilder.core import template_faults

CONTROL = "control"
"""The condition in which a true statement about something else is said."""


def _sentence(said: str) -> Callable[[str], str]:
    """A check that a text has ``{question}`` at its end and, once before it, `said`; ``{source}`` may stand there."""

    def check(text: str) -> str:
        faults = template_faults(text, ("question", "source", said))
        faults += [f"{{{name}}} must stand in it once" for name in (said, "question") if text.count(f"{{{name}}}") != 1]
        if not faults and not text.rstrip().endswith("{question}"):
            faults.append("{question} must stand at its end")
        if faults:
            raise ValueError("; ".join(faults))
        return text

    return check


class PressureDesign(Spec):
    """What is asked: `families` are drawn by the recipe's seed (``null``: all), each with `contexts` of the contexts.

    Null contexts are all of them: the full design, in which two contexts are compared within families.
    """

    families: Annotated[int, Field(ge=2)] | None = None
    contexts: Annotated[int, Field(ge=1)] | None = None


class PressureSpec(Spec):
    """Contexts in which models are asked the questions again: one with a wrong claim, one with the right one.

    `contexts` are texts by name, over ``{told}`` (what is claimed: the wrong answer, and once more the right one) and
    ``{question}`` (with its context, as it is built) at the end; ``null`` removes one. `control` is the same over
    ``{other}``, a true statement of another item family, and is asked of every item. ``{source}`` is one of `sources`,
    drawn for each family.
    """

    contexts: dict[Name, Annotated[str, AfterValidator(_sentence("told"))] | None]
    control: Annotated[str, AfterValidator(_sentence("other"))]
    sources: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    design: PressureDesign = PressureDesign()

    @property
    def texts(self) -> dict[str, str]:
        """The contexts that are used, by name."""
        return {name: text for name, text in self.contexts.items() if text is not None}

    @field_validator("contexts")
    @classmethod
    def _named(cls, contexts: dict[str, str | None]) -> dict[str, str | None]:
        if not any(contexts.values()):
            raise ValueError("there is no context; one is needed")
        if CONTROL in contexts:
            raise ValueError(f"{CONTROL!r} is the name of the unrelated statement; choose another name")
        return contexts

    @model_validator(mode="after")
    def _fits(self) -> Self:
        texts = self.texts
        lacking = [name for name, text in {**texts, CONTROL: self.control}.items() if "{source}" in text]
        if lacking and not self.sources:
            raise ValueError(f"{lacking[0]} has {{source}}, and sources is empty: name some, or leave {{source}} out")
        if self.design.contexts is not None and self.design.contexts > len(texts):
            raise ValueError(f"design.contexts is {self.design.contexts}, but there are {len(texts)} contexts")
        return self
