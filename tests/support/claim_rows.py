"""Rows, stages and recipe data for the tests of the claim stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from benchbuilder.config.spec.model import ModelSpec
from benchbuilder.core import registry
from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Dropped, Kept, Outcome
from benchbuilder.core.records.payloads import Choice, Fact, Option, Triple
from benchbuilder.core.records.roles import Statement
from benchbuilder.core.records.row import Origin, ProducedBy, Span
from benchbuilder.models.base import Reply, Request
from benchbuilder.steps.base import Step

RECIPES = Path(__file__).parents[2] / "recipes"
CARE_MI = RECIPES / "recipe" / "care_mi"
RULES: dict[str, Any] = yaml.safe_load((RECIPES / "rules" / "zh_claims.yaml").read_text("utf-8"))
for step in ("state_choice", "negate_triple", "ask_tf_choice"):
    for name in ("negations", "harmless"):  # which the YAML takes from the other step
        assert RULES[step][name] == f"${{steps.negate_choice.{name}}}"
        RULES[step][name] = RULES["negate_choice"][name]
assert RULES["negate_triple"]["blocked_answers"] == "${steps.negate_choice.blocked_answers}"
RULES["negate_triple"]["blocked_answers"] = RULES["negate_choice"]["blocked_answers"]
for step in ("negate_choice", "ask_tf_choice", "ask_oe_choice"):
    assert RULES[step]["openers"] == "${steps.state_choice.openers}"
    RULES[step]["openers"] = RULES["state_choice"]["openers"]
for name in ("inverse_suffix", "synonyms"):
    assert RULES["ask_oe_triple"][name].startswith("${steps.swap_triple.")
    RULES["ask_oe_triple"][name] = {**RULES["swap_triple"], **RULES["swap_triple"]["bar"]}[name]
PROMPTS = Path(__file__).parents[2] / "prompts"
for spec in RULES.values():  # the loader says where prompts are
    for name in ("prompt", "system", "pairs", "repair"):
        if name in spec:
            spec[name] = {"path": spec[name], "resolved_path": str(PROMPTS / spec[name])}
MODEL = ModelSpec(kind="canned")
REFERENCE: dict[str, Any] = yaml.safe_load((RECIPES / "variant" / "care_mi" / "reference.yaml").read_text("utf-8"))[
    "steps"
]
TABLES = {"cpubmed": str(CARE_MI / "relations_cpubmed.tsv"), "bios": str(CARE_MI / "relations_bios.tsv")}


def make(kind: str, spec: dict[str, Any], *, seed: int = 1, lookups: dict[str, Table[Any]] | None = None) -> Any:
    """An opened stage of `kind`."""
    cls: type[Step] = registry.find_kind("step", kind).load()
    context = StepContext(seed=seed, language="zh", step="step", cache=Path("cache"), workplace=Path("workplace"))
    stage = cls(cls.spec_class.model_validate({"kind": kind, "from": "rows", **spec}), context)
    stage.open(lookups or {})
    return stage


def tokenizer(kind: str) -> Any:
    """The spec of a tokenizer, as the loader puts it into a step."""
    return registry.find_kind("tokenizer", kind).load().spec_class(kind=kind)


def choice(question: str, answer: str, *wrong: str, context: str = "", line: int = 1) -> Fact[Choice]:
    """A multiple-choice fact whose first option is right."""
    options = tuple(Option(key=key, text=text) for key, text in zip("ABCDE", (answer, *wrong), strict=False))
    payload = Choice(context=context, question=question, options=options, answer_key="A", answer=answer)
    return Fact[Choice].build(payload=payload, **envelope(line, "medqa"))


def triple(head: str, relation: str, tail: str, *, line: int = 1, partition: str = "cpubmed", **more: Any) -> Any:
    """A triple fact."""
    payload = Triple(head=head, relation=relation, tail=tail, **more)
    return Fact[Triple].build(payload=payload, **envelope(line, partition))


def statement(question: str, answer: str, **more: Any) -> Statement:
    """A statement that the rules make of a question and its answer."""
    return kept(make("state_choice", RULES["state_choice"]).map(choice(question, answer, **more), {}))


def model_made(text: str, answer: str, line: int = 1) -> Statement:
    """A statement as a model would have made it: no seam."""
    start = text.rindex(answer) if answer in text else -1
    span = Span(start=start, end=start + len(answer)) if start >= 0 else None
    return Statement.build(
        polarity="true", text=text, joined="model", answer=span, fact="fact-1", of="fact-1", **envelope(line, "medqa")
    )


def envelope(line: int, partition: str) -> dict[str, Any]:
    return {
        "origin": Origin(file=f"{partition}.jsonl", line=line),
        "produced_by": ProducedBy(rule="reader"),
        "language": "zh",
        "partition": partition,
    }


def kept(outcomes: Any) -> Any:
    """The row of the only outcome, which must be kept."""
    [outcome] = outcomes
    assert isinstance(outcome, Kept), outcome
    return outcome.row


def reason(outcomes: Any) -> str:
    """Why the only branch was dropped or does not apply."""
    [outcome] = outcomes
    assert not isinstance(outcome, Kept), outcome.row
    if isinstance(outcome, Dropped):
        assert outcome.reason
    return outcome.reason


def talk(stage: Any, row: Any, *replies: str | Reply) -> tuple[list[Outcome], list[Request]]:
    """The outcomes of a row after `replies`, all of which must be asked for, and the requests."""
    conversation, requests, waiting = stage.converse(row, {}), list[Request](), list(replies)
    try:
        request = next(conversation)
        while True:
            requests.append(request)
            reply = waiting.pop(0)
            request = conversation.send(reply if isinstance(reply, Reply) else Reply(reply, "complete"))
    except StopIteration as end:
        assert not waiting, f"not asked for: {waiting}"
        return end.value, requests
