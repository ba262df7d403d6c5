"""How fast `swap_triple` finds partners, and how much memory it takes: 10,000 facts with every bar.

    python performance/swaps.py [--quick] [--facts 10000] [--relations 10]

The graph is generated: concepts with several ends each, popular and rare ones, of syllables that many names share. See
README.md for what the numbers mean. 1 if the target is missed (never with --quick).
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.outcomes import Kept
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.core.records.roles import Passage, Statement
from benchbuilder.core.records.row import Origin, ProducedBy, Span
from benchbuilder.steps.swap_triple import SwapTriple
from benchbuilder.steps.swapping.spec import SwapTripleSpec

TARGET = 30.0
"""Seconds of processor for 10,000 facts."""
SEED = 20_240_101
SPEC: dict[str, Any] = {
    "kind": "swap_triple", "from": "rows", "relations": {}, "partner": "far", "unit": "characters",
    "inverse_suffix": "", "ignore": "。，",
    "bar": {
        "known": True, "any_relation": True, "synonyms": [], "kin": "bigram", "near_known": "letter",
        "popular_answer": 3, "general_concept": 3, "plausible": 0.0, "together": True, "shared_letters": "both_sides",
        "alike": 1, "related": 0.05, "generic": ["^无"],
    },
}  # fmt: skip


def header(line: int) -> dict[str, Any]:
    """The header of a generated row."""
    return {"origin": Origin(file="made.tsv", line=line), "produced_by": ProducedBy(rule="made"), "language": "zh",
            "partition": "made"}  # fmt: skip


def made_facts(count: int, relations: int) -> list[Fact[Triple]]:
    """Facts of concepts that have some ends each; few ends are popular."""
    draw = random.Random(SEED)
    signs = [chr(0x4E00 + number) for number in range(3_000)]

    def name(shortest: int, longest: int) -> str:
        length = draw.randint(shortest, longest)
        return "".join(signs[int(len(signs) * draw.random() ** 2)] for _ in range(length))

    heads = [name(3, 7) for _ in range(max(count // 4, 2))]
    tails = [name(2, 8) for _ in range(count)]
    edges: dict[tuple[str, str, str], None] = {}
    while len(edges) < count:
        tail = tails[int(len(tails) * draw.random() ** 1.3)]
        edges[draw.choice(heads), f"关系{draw.randrange(relations)}", tail] = None
    return [
        Fact[Triple].build(payload=Triple(head=head, relation=relation, tail=tail, tail_type="类"), **header(line))
        for line, (head, relation, tail) in enumerate(edges, 1)
    ]


def stated(fact: Fact[Triple]) -> Statement:
    """The true statement of a fact."""
    triple = fact.payload
    text = f"{triple.head}的{triple.relation}包括{triple.tail}。"
    return Statement.child(
        fact, produced_by=fact.produced_by, polarity="true", text=text, joined="template", fact=fact.id,
        answer=Span(start=len(text) - 1 - len(triple.tail), end=len(text) - 1),
    )  # fmt: skip


def made_passages(facts: list[Fact[Triple]]) -> list[Passage]:
    """Paragraphs, each with the ends of a few facts."""
    draw = random.Random(SEED + 1)
    texts = ("，".join(f"{fact.payload.head}见于{fact.payload.tail}" for fact in draw.sample(facts, 3)) for _ in facts)
    return [Passage.build(base="made", document=str(n), text=text, **header(n)) for n, text in enumerate(texts, 1)]


def measure(count: int, relations: int) -> dict[str, Any]:
    """Time, memory and families of one step."""
    facts = made_facts(count, relations)
    tables: dict[str, Table[Any]] = {
        "each": Table.of(map(stated, facts), Statement),
        "fact": Table.of(facts, Fact[Triple]),
        "known": Table.of(facts, Fact[Triple]),
        "passages": Table.of(made_passages(facts), Passage),
    }
    with tempfile.TemporaryDirectory() as folder:
        context = StepContext(seed=1, language="zh", step="swap", cache=Path(folder), workplace=Path(folder))
        step = SwapTriple(SwapTripleSpec.model_validate(SPEC), context)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began, worked = time.perf_counter(), time.process_time()
        result = step.gather(tables)
        took, processor = time.perf_counter() - began, time.process_time() - worked
    outcomes = [outcome for _, [outcome] in result.outcomes]
    reasons = Counter(
        "kept" if isinstance(outcome, Kept) else getattr(outcome, "reason", "failed") for outcome in outcomes
    )
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"facts": count, "relations": relations, "seconds": round(took, 1), "processor_s": round(processor, 1),
            "memory_mb": round(memory), "outcomes": dict(reasons.most_common())}  # fmt: skip


def main() -> int:
    """Measure; 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few facts: whether it runs, no more")
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--relations", type=int, default=10)
    given = parser.parse_args()
    found = measure(300 if given.quick else given.facts, given.relations)
    print(json.dumps(found, ensure_ascii=False))
    return int(not given.quick and found["processor_s"] > TARGET * given.facts / 10_000)


if __name__ == "__main__":
    sys.exit(main())
