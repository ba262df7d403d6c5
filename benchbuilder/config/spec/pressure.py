"""Pressure on models: what is said before a question, to see whether they keep the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from benchbuilder.config.spec.annotation import Name
from benchbuilder.config.spec.base import FileRef, Spec
from benchbuilder.core import template_faults

CONTROL = "control"
"""The condition in which a true statement about something else is said."""


def _sentence(*said: str) -> Callable[[str], str]:
    """A check that a text has ``{question}`` at its end and, once before it, one of `said`, or each of them once."""

    def check(text: str) -> str:
        faults = template_faults(text, ("question", "source", *said))
        for names in (said, ("question",)):
            if {text.count(f"{{{name}}}") for name in names} not in ({1}, {0, 1}):
                faults.append(f"{' or '.join(f'{{{name}}}' for name in names)} must stand in it once")
        if not faults and not text.rstrip().endswith("{question}"):
            faults.append("{question} must stand at its end")
        if faults:
            raise ValueError("; ".join(faults))
        return text

    return check


class PressureDesign(Spec):
    """What is asked: `families` are drawn by the recipe's seed (``null``: all), each with `contexts` of the contexts.

    Null contexts are all of them: the full design, in which two contexts are compared within families. `pushes` is the
    same for the pushes.
    """

    families: Annotated[int, Field(ge=2)] | None = None
    contexts: Annotated[int, Field(ge=1)] | None = None
    pushes: Annotated[int, Field(ge=1)] | None = None


class GuardSpec(Spec):
    """Words of the system message that ask for care, and the contexts `with` which, and their control, it is sent."""

    system: Annotated[str, Field(min_length=1)]
    with_: Annotated[tuple[Name, ...], Field(alias="with", min_length=1)]


class PressureSpec(Spec):
    """Contexts in which models are asked the questions again: one with a wrong claim, one with the right one.

    `contexts` are texts by name, over ``{told}`` (what is claimed: the wrong answer, and once more the right one),
    ``{passage}`` (a paragraph of the item that names the right answer; for the wrong claim, the wrong answer stands in
    its place), or both, and ``{question}`` (with its context, as it is built) at the end; ``null`` removes one.
    `control` is the same over ``{other}``, a true statement of another item family, and is asked of every item.
    ``{source}`` is one of `sources`, drawn for each family. `arguable` are contexts that may make a wrong claim right:
    they are no part of a headline. `guards` follow the system message of the evaluation, in the families that draw
    their contexts.

    `pushes` are what a person says after the answer, by name: the texts of one or more further turns, over ``{told}``
    (if the person claims something) and ``{question}`` at the end, or names of other pushes, whose turns follow each
    other in one conversation. With `opposed`, the claim contradicts the first answer: the wrong one is told after the
    right one, the right one after the wrong one, and both, each in a conversation of its own, after neither. `turns`
    are turn tables (see `TurnTable`): how people give in and hold out in the language of the answers. Without them,
    only what an answer says of the question counts.

    The last turn of a push may hold ``{answer}``, the model's first answer, and ``{question}``. It is asked *afresh*:
    in a conversation of its own, which shows nothing else, and of every family, whatever `design.pushes` is. The turns
    before it need no question. Whether the reply calls the answer right is read by the verdict tables `afresh`; without
    any, by those of the evaluation.
    """

    contexts: dict[Name, Annotated[str, AfterValidator(_sentence("told", "passage"))] | None] = {}
    control: str = ""
    sources: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    arguable: tuple[Name, ...] = ()
    guards: dict[Name, GuardSpec | None] = {}
    pushes: dict[Name, tuple[str, ...] | None] = {}
    opposed: bool = True
    turns: tuple[FileRef, ...] = ()
    afresh: tuple[FileRef, ...] = ()
    design: PressureDesign = PressureDesign()

    @property
    def texts(self) -> dict[str, str]:
        """The contexts that are used, by name."""
        return {name: text for name, text in self.contexts.items() if text is not None}

    @property
    def guarded(self) -> dict[str, tuple[str, ...]]:
        """The contexts that are asked with each guard."""
        return {
            name: tuple(context for context in self.texts if context in guard.with_)
            for name, guard in self.guards.items()
            if guard is not None
        }

    @property
    def push_turns(self) -> dict[str, tuple[str, ...]]:
        """The texts of the turns of each push that is used; names of other pushes stand for the turns of these."""
        known = {name: turns for name, turns in self.pushes.items() if turns is not None}
        return {
            name: tuple(text for turn in turns for text in (known.get(turn, (turn,)) if turn != name else (turn,)))
            for name, turns in known.items()
        }

    @field_validator("turns", "afresh", mode="before")
    @classmethod
    def _one_or_several(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("control")
    @classmethod
    def _is_sentence(cls, control: str) -> str:
        return _sentence("other")(control) if control else control

    @field_validator("contexts")
    @classmethod
    def _named(cls, contexts: dict[str, str | None]) -> dict[str, str | None]:
        if CONTROL in contexts:
            raise ValueError(f"{CONTROL!r} is the name of the unrelated statement; choose another name")
        return contexts

    @model_validator(mode="after")
    def _fits(self) -> Self:
        texts = self.texts
        if not texts and not self.push_turns:
            raise ValueError("there is neither a context nor a push; one is needed")
        if texts and not self.control:
            raise ValueError("contexts need a control")
        lacking = [name for name, text in {**texts, CONTROL: self.control}.items() if "{source}" in text]
        if lacking and not self.sources:
            raise ValueError(f"{lacking[0]} has {{source}}, and sources is empty: name some, or leave {{source}} out")
        known = [("arguable", self.arguable)]
        known += [(f"guards.{name}.with", guard.with_) for name, guard in self.guards.items() if guard is not None]
        for key, names in known:
            if unknown := sorted(set(names) - set(self.contexts)):
                raise ValueError(f"{key}: there is no context {unknown[0]!r}; there are {', '.join(self.contexts)}")
        for name, turns in self.push_turns.items():
            _check_push(name, turns, self)
        for key, wanted, known in (
            ("contexts", self.design.contexts, texts),
            (
                "pushes",
                self.design.pushes,
                [name for name, texts in self.push_turns.items() if not is_afresh(texts[-1])],
            ),
        ):
            if wanted is not None and wanted > len(known) > 0:
                raise ValueError(f"design.{key} is {wanted}, but there are {len(known)} {key}")
        return self


def is_afresh(text: str) -> bool:
    """Whether a turn of a push is asked in a conversation of its own, which shows only the first answer."""
    return "{answer}" in text


def _check_push(name: str, turns: tuple[str, ...], spec: PressureSpec) -> None:
    """ValueError unless every turn ends with the question, or belongs to one that is asked afresh."""
    if not turns:
        raise ValueError(f"pushes.{name} has no turn")
    if name in (CONTROL, *spec.contexts):
        raise ValueError(f"pushes.{name} has the name of a context; choose another name")
    ends_afresh = is_afresh(turns[-1])
    for place, text in enumerate(turns, 1):
        if is_afresh(text):
            faults = template_faults(text, ("answer", "question"))
            if place < len(turns) or {text.count(name) for name in ("{answer}", "{question}")} != {1}:
                faults.append("a turn with {answer} must be the last one, and have {question} and {answer} once")
        else:
            faults = _turn_faults(text, spec, needs_question=not ends_afresh)
        if faults:
            raise ValueError(f"pushes.{name}: {text!r}: {'; '.join(faults)}")


def _turn_faults(text: str, spec: PressureSpec, *, needs_question: bool) -> list[str]:
    """What is wrong with a turn that follows the answer in the same conversation."""
    faults = template_faults(text, ("told", "source", "question"))
    if "{told}" in text and not needs_question:
        faults.append(
            "nothing may be told before a turn with {answer}, which shows whether the model knows its own errors"
        )
    if text.count("{told}") > 1 or ("{source}" in text and not spec.sources):
        faults.append("{told} may stand in it once, and {source} only with sources")
    asks = text.count("{question}")
    if (asks != 1 or not text.rstrip().endswith("{question}")) and (asks or needs_question):
        faults.append(
            "each turn must end with {question}, or be the name of a push of texts: without the question, 6 of 10 "
            "replies had no verdict in our trial"
        )
    return faults
