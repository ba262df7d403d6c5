"""Rows and settings for the kinds that show a question with an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from benchbuilder.core import Statement, StepContext, Table, find_kind
from benchbuilder.core.records.outcomes import Kept

_SENTENCES = yaml.safe_load((Path(__file__).parents[3] / "recipes" / "forms" / "zh.yaml").read_text("utf-8"))
_GIVEN: dict[str, tuple[str, ...]] = {
    "screen_shown": ("needs_picture",),
    "propose": ("says",),
    "ask_verify": ("verify", "verify_among", "option", "ranks"),
    "ask_pass": ("cloze", "asks", "options_named"),
}


def _spec(kind: str) -> Any:
    given = {name: _SENTENCES[name] for name in _GIVEN[kind]}
    return find_kind("step", kind).load().spec_class.model_validate({"kind": kind, "from": "rows", **given})


def shown(kind: str, facts: Callable[[], Table[Any]], rows: int) -> tuple[Any, dict[str, Table[Any]]]:
    """The spec of a kind, and `rows` facts, or the answers that are proposed for them."""
    table = facts()
    few = Table(table.arrow.slice(0, rows), table.row)
    if kind in ("screen_shown", "propose"):
        return _spec(kind), {"each": few, "facts": table}
    context = StepContext(seed=1, language="zh", step="propose", cache=Path("cache"), workplace=Path("people"))
    propose = find_kind("step", "propose").load()(_spec("propose"), context)
    propose.open({"facts": table})
    made = [outcome.row for fact in few for outcome in propose.map(fact, {}) if isinstance(outcome, Kept)]
    statements = Table.of(made, Statement)
    return _spec(kind), {"each": statements, "fact": few, "statements": statements}
