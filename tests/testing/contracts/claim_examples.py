"""Rows and settings for kinds that handle labelled claims, from `guideline_zh`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kind_sample import load
from several_examples import bundled

from benchbuilder.config.load import load_recipe
from benchbuilder.core import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.payloads import Fact, LabelledClaim
from benchbuilder.core.records.procedures import Procedure
from benchbuilder.core.records.roles import Passage, Statement
from benchbuilder.core.records.row import Origin, ProducedBy

TEXTS = ("煮沸消毒餐具的时间为15分钟。", "每周应当使用两次。", "蜂蜜可能含有芽孢。")


def claims(step: str, recipe: str = "guideline_zh") -> tuple[Any, dict[str, Table[Any]]]:
    """True, false and unknown claims and a question, for a step of the recipe."""
    payloads = [*LabelledClaim.examples(), *(LabelledClaim(text=text, label="true", gold=(text,)) for text in TEXTS)]
    payloads.append(LabelledClaim(text="餐具须消毒。", label="unknown"))
    header = {"produced_by": ProducedBy(rule="example"), "language": "zh", "partition": "example"}
    rows = [
        Fact[LabelledClaim].build(payload=payload, origin=Origin(file="claims.jsonl", line=line), **header)
        for line, payload in enumerate(payloads, 1)
    ]
    table = Table.of(rows, Fact[LabelledClaim])
    return bundled(recipe).steps[step], {"each": table, "fact": table}


def ordered(kind: str) -> tuple[Any, dict[str, Table[Any]]]:
    """Procedures, for a step that asks about their order."""
    header = {"produced_by": ProducedBy(rule="example"), "language": "en", "partition": "example"}
    rows = [
        Fact[Procedure].build(payload=payload, origin=Origin(file="steps.jsonl", line=line), **header)
        for line, payload in enumerate(Procedure.examples(), 1)
    ]
    sentence = "Is “{a}” before “{b}”?" if kind == "order_claims" else "What comes right after “{a}”?"
    spec = load("step", kind).spec_class.model_validate({"kind": kind, "from": "steps", "sentence": sentence})
    return spec, {"each": Table.of(rows, Fact[Procedure])}


def answered() -> tuple[Any, dict[str, Table[Any]]]:
    """The answers to claims, for the step that asks about them."""
    spec, tables = claims("answer_claims", "claims_en")
    step = load("step", "answer_claims")(
        spec, StepContext(seed=1, language="en", step="answer_claims", cache=Path(), workplace=Path())
    )
    rows = [out.row for row in tables["each"] for out in step.map(row, {}) if isinstance(out, Kept)]
    return bundled("claims_en").steps["ask_claim"], {"each": Table.of(rows, Statement), "fact": tables["each"]}


def definitions() -> tuple[Any, dict[str, Table[Any]]]:
    """Paragraphs with and without a definition, and the bundled Chinese patterns."""
    words = ["recipe=guideline_zh", "rules=[zh_documents,zh_definitions]"]
    spec = load_recipe(words, cwd=Path("/nowhere"), environ={}).recipe.steps["definitions"]
    return spec, _pages("zh", "李斯特菌是一种细菌。", "今天天气很好。", "绿豆是一种豆科植物，产于南方。")


def guideline() -> tuple[Any, dict[str, Table[Any]]]:
    """Paragraphs with claims by the bundled English patterns, one that fails a check, and one without any."""
    texts = ("Food: Fish | Time: 15 seconds", "Cook fish at 63 °C. It must rest for 5 minutes.", "Fish is good.")
    return bundled("guideline_en").steps["find_claims"], _pages("en", *texts)


def _pages(language: str, *texts: str) -> dict[str, Table[Any]]:
    rows = [
        Passage.build(
            base="example", document="example", text=text, origin=Origin(file="pages.jsonl", line=line),
            produced_by=ProducedBy(rule="example"), language=language, partition="example",
        )
        for line, text in enumerate(texts, 1)
    ]  # fmt: skip
    return {"each": Table.of(rows, Passage)}
