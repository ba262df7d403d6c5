"""Rows and settings for the kinds that make word lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Fact, Term
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.core.registry import find_kind

_HERE = Path(__file__).parent
_SETTINGS = _HERE.parents[2] / "recipes" / "words" / "zh.yaml"
_WORDS = [("孕妇", "zh"), ("placenta", "en"), ("孕婦。", "zh"), ("乳", "zh"), ("colostrum", "en"), ("孕妇", "zh")]


def terms(kind: str, settings: str) -> tuple[Any, dict[str, Table[Any]]]:
    """The spec of a step for Chinese, without a model, and example words."""
    given = {"kind": kind, "from": "rows", **yaml.safe_load(_SETTINGS.read_text("utf-8"))[settings]}
    if kind == "translate":
        given |= {"dictionary": str(_HERE / "dictionary.tsv"), "strategy": "rules", "prompt": None}
    rows = [
        Fact[Term].build(
            payload=Term(text=text, lists=(f"list_{line}",)), origin=Origin(file="words.txt", line=line),
            produced_by=ProducedBy(rule="terms"), language=language, partition=f"list_{line}",
        )
        for line, (text, language) in enumerate(_WORDS, start=1)
    ]  # fmt: skip
    return find_kind("step", kind).load().spec_class.model_validate(given), {"each": Table.of(rows, Fact[Term])}
