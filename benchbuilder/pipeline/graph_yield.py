"""What becomes of the facts of knowledge graphs, in lines for people: in a build, and before one."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from benchbuilder.config import LoadedRecipe
from benchbuilder.core import (
    EndOfFile,
    Fact,
    Kept,
    Statement,
    StepContext,
    Table,
    Triple,
    count_phrase,
    create_from_spec,
    take_rows,
)
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.pipeline.store.manifest import Manifest
from benchbuilder.pipeline.wiring import source_row_class
from benchbuilder.sources import Source
from benchbuilder.steps import Map

_REASONS = 3
"""So many reasons are named."""
_READ_BATCHES = 30
"""So many batches of each source are known (10,000 rows each), and"""
_DRAWN = 2_000
"""so many of their facts are drawn, to say before a build what one would make."""
_EXCHANGES = ("swap_triple", "ask_set_triple")


def graph_lines(manifests: Mapping[str, Manifest]) -> Iterator[str]:
    """For each step that makes questions of facts: how many it uses, why not more, and what would bring some back."""
    for name, manifest in manifests.items():
        counts = Counter[tuple[str, str]]()
        for _, outcome, reason, n in manifest.counts:
            counts[outcome, reason] += n
        yield from _lines(name, manifest.kind, counts, manifest.notes)


def graph_next(manifests: Mapping[str, Manifest]) -> str:
    """What to do about a graph of which no fact exchanges its answer: the reason, and the settings that were tried."""
    for name, manifest in manifests.items():
        if manifest.kind == "swap_triple" and (gains := dict(_gains(name, manifest.notes.get("presets")))):
            lost = Counter[str]()
            for _, outcome, reason, n in manifest.counts:
                lost[reason] += n if outcome == "dropped" else 0
            ways = (f"{setting} ({gain}; {why[0].lower()}{why[1:]})" for setting, (gain, why) in gains.items())
            reasons = " and ".join(reason for reason, _ in lost.most_common(2))
            return f"{name} loses the facts to {reasons}; next: give this command again with {' or '.join(ways)}"
    return ""


def expected_graph_lines(loaded: LoadedRecipe) -> Iterator[str]:
    """The lines of `graph_lines` for facts that the seed draws from the sources of triples, and what they are about.

    The facts are taken as they are read, whatever their topic. Nothing is written.
    """
    recipe = loaded.recipe
    steps = {spec.kind: name for name, spec in recipe.steps.items()}
    known = _known_triples(loaded) if steps.keys() >= {"state_triple", "swap_triple"} else None
    if known is None or not len(known):
        return

    def run(kind: str, tables: Mapping[str, Table[Any]]) -> Any:
        step = _open_step(loaded, steps[kind])
        return account_gather(step, tables, step.gather(tables), Statement if kind == "swap_triple" else step.output)

    places = np.random.default_rng(recipe.seed).choice(len(known), min(_DRAWN, len(known)), replace=False)
    facts = Table(take_rows(known.arrow, np.sort(places)), Fact[Triple])
    state: Map = _open_step(loaded, steps["state_triple"])
    state.open({})
    stated = [outcome.row for fact in facts for outcome in state.map(fact, {}) if isinstance(outcome, Kept)]
    ports = {"each": Table.of(stated, Statement), "fact": facts, "known": known}
    drawn, of = count_phrase(len(stated), "fact"), count_phrase(len(known), "triple")
    yield f"what a build would make of {drawn}, drawn from {of} as they are read, whatever their topic:"
    swapped = run("swap_triple", ports)
    found = {"swap_triple": swapped}
    if "ask_set_triple" in steps:
        found["ask_set_triple"] = run("ask_set_triple", {"each": facts, "known": known, "statements": swapped.rows})
    for kind, shard in found.items():
        columns = (shard.outcomes.column(column).to_pylist() for column in ("outcome", "reason"))
        yield from (f"  {line}" for line in _lines(steps[kind], kind, Counter(zip(*columns, strict=True)), shard.notes))


def _open_step(loaded: LoadedRecipe, name: str) -> Any:
    recipe, nowhere = loaded.recipe, Path()
    context = StepContext(seed=recipe.seed, language=recipe.language, step=name, cache=nowhere, workplace=nowhere)
    return create_from_spec("step", recipe.steps[name], context)


def _known_triples(loaded: LoadedRecipe) -> Table[Any] | None:
    """The triples at the beginnings of the sources that can be read in part; ``None`` without such a source."""
    recipe = loaded.recipe
    tables: list[Table[Any]] = []
    for name, spec in recipe.sources.items():
        if source_row_class(recipe, name) is Fact[Triple]:
            source: Source = create_from_spec("source", spec, name, recipe.language)
            if not source.first_rows(1):  # a query, or a file that must be read whole: too dear for a check
                continue
            batches = islice(
                (batch for batch in source.read_batches() if not isinstance(batch, EndOfFile)), _READ_BATCHES
            )
            tables += [batch.rows for batch in batches]
    return Table.concat(tables, Fact[Triple]) if tables else None


def _lines(name: str, kind: str, outcomes: Mapping[tuple[str, str], int], notes: Mapping[str, Any]) -> Iterator[str]:
    counts = Counter[str]()
    for (outcome, reason), n in outcomes.items():
        counts[reason or outcome] += n
    stated = sum(counts.values()) - counts["false_statement"] - counts["switched_off"]
    if kind not in _EXCHANGES or not stated:
        return
    used = counts["kept"] + counts["in_set"]
    what = "exchange their answers" if kind == "swap_triple" else f"are in {counts['kept']:,} set questions"
    lost = sorted((-n, reason) for reason, n in counts.items() if reason not in _NO_LOSS)
    named = ", ".join(f"{reason} {_share(-n, stated)}" for n, reason in lost[:_REASONS])
    yield (
        f"{name}: {used:,} of {count_phrase(stated, 'fact')} ({_share(used, stated)}) {what}"
        + (f"; {counts[_ASKED]:,} are asked as true/false questions" if counts[_ASKED] else "")
        + (f"; not: {named}" if named else "")
        + _more(name, notes.get("presets"))
    )


_ASKED = "asked_true_or_false"
_NO_LOSS = frozenset({"kept", "in_set", "false_statement", "switched_off", _ASKED})


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"


def _more(step: str, tried: Mapping[str, Any] | None) -> str:
    """What other settings would bring, by the facts on which they were tried."""
    ways = groupby(_gains(step, tried), key=lambda found: found[1][1])
    return "".join(f". {why}, {', '.join(f'{setting} {gain}' for setting, (gain, _) in same)}" for why, same in ways)


def _gains(step: str, tried: Mapping[str, Any] | None) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each setting that brings facts back, how many, and on what condition."""
    if not tried:
        return
    exchanged: dict[str, int] = tried["exchanged"]
    now, scale = exchanged["now"], tried["of"] / tried["facts"]
    about = "about " if scale > 1 else ""
    for name, n in exchanged.items():
        gain = f"{about}{round((n - now) * scale):,} more"
        if name == "now" or n <= now:
            continue
        if name == "functional":
            listed = json.dumps(tried["functional"], ensure_ascii=False, separators=(",", ":"))
            setting = shlex.quote(f"steps.{step}.relations.functional={listed}")
            yield setting, (gain, "If a concept has only one right end in these relations")
        elif name == "unlisted":
            setting = " ".join(f"steps.{step}.relations.{listed}=[]" for listed in tried["lists"])
            yield setting, (gain, "If every end that the graph does not list is wrong")
        else:
            yield f"swap={name}", (gain, "With people's votes on them")
