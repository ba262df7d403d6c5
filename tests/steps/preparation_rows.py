"""Rows, steps and recipe data for the tests of the preparation steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from benchbuilder.core import registry
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.payloads import Choice, Fact, Option, Triple
from benchbuilder.core.records.roles import Passage
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.steps.base import Step

RECIPES = Path(__file__).parents[2] / "recipes"
OPTIONS = ("肺炎", "贫血", "佝偻病", "湿疹")


def zh(step: str) -> dict[str, Any]:
    """The spec of a step in the bundled Chinese preparation."""
    return yaml.safe_load((RECIPES / "rules" / "zh_preparation.yaml").read_text("utf-8"))[step]


def make(kind: str, **spec: Any) -> Any:
    """An opened stage of `kind`."""
    cls: type[Step] = registry.find_kind("step", kind).load()
    context = StepContext(seed=1, language="zh", step="step", cache=Path("cache"), workplace=Path("workplace"))
    stage = cls(cls.spec_class.model_validate({"kind": kind, "from": "rows", **spec}), context)
    stage.open({})
    return stage


def choice(
    question: str, answer: str = "佝偻病", *, options: tuple[str, ...] = OPTIONS, context: str = "", line: int = 1,
    partition: str = "medqa",
) -> Fact[Choice]:  # fmt: skip
    """A multiple-choice fact; the answer must be one of the options."""
    lettered = tuple(Option(key=key, text=text) for key, text in zip("ABCDE", options, strict=False))
    key = next(option.key for option in lettered if option.text == answer)
    payload = Choice(context=context, question=question, options=lettered, answer_key=key, answer=answer)
    return Fact[Choice].build(payload=payload, **_envelope(line, partition))


def triple(head: str, relation: str, tail: str, *, line: int = 1, partition: str = "bios", **more: Any) -> Fact[Triple]:
    """A triple fact."""
    payload = Triple(head=head, relation=relation, tail=tail, **more)
    return Fact[Triple].build(payload=payload, **_envelope(line, partition))


def page(text: str, *, title: str = "", base: str = "wiki", line: int = 1) -> Passage:
    """A page of a knowledge base."""
    return Passage.build(base=base, document=str(line), title=title, text=text, **_envelope(line, base))


def _envelope(line: int, partition: str) -> dict[str, Any]:
    return {
        "origin": Origin(file=f"{partition}.jsonl", line=line),
        "produced_by": ProducedBy(rule="reader"),
        "language": "zh",
        "partition": partition,
    }
