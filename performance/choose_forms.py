"""Measures `choose_forms`: greedy beside exact, on families of generated triples whose lengths and words are uneven."""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import Any

from benchbuilder.core import Origin, ProducedBy, Question, StepContext, Table
from benchbuilder.steps.choose_forms import ChooseForms, ChooseFormsSpec

TARGET = 60.0
"""Seconds that `exact` may take for 30,000 candidate families; else it must say its gap."""
OVERHEAD = 30.0
"""Seconds to read the rows and to state the problem."""
_WORDS = [chr(0x4E00 + at) for at in range(3000)]


def questions(families: int, facts: int, seed: int) -> list[Question]:
    """Both forms of the four questions of each family, which are two facts that exchange their answers."""
    draw = random.Random(seed)
    texts = [(name(draw), name(draw)) for _ in range(facts)]
    rows: list[Question] = []
    for number in range(families):
        first, second = draw.sample(range(facts), 2)
        for subject, answer in ((first, first), (first, second), (second, second), (second, first)):
            for negated in (False, True):
                rows.append(question(f"family-{number:05}", subject, texts[subject][0], texts[answer][1],
                                     subject == answer, negated, len(rows)))  # fmt: skip
    return rows


def name(draw: random.Random) -> str:
    """A name of two to seven characters, short ones more often."""
    return "".join(draw.choices(_WORDS, k=2 + min(draw.randrange(6), draw.randrange(6))))


def question(family: str, fact: int, head: str, tail: str, true: bool, negated: bool, line: int) -> Question:
    """One question, in the form that is asked."""
    return Question.build(
        type="tf", text=f"{head}的部位{'不' if negated else ''}是{tail}，这种说法对吗？",
        expected="yes" if true != negated else "no", fact=f"fact-{fact:05}", family=family, negated=negated,
        origin=Origin(file="made.tsv", line=line + 1), produced_by=ProducedBy(rule="made"), language="zh",
        partition="made",
    )  # fmt: skip


def main() -> None:
    """Print families kept, the largest imbalance beyond what is allowed, and seconds, for each method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 families: shows that it runs, nothing about speed")
    parser.add_argument("--families", type=int, default=30_000)
    parser.add_argument("--facts", type=int, default=3_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="the time limit of the solver")
    options: Any = parser.parse_args()
    families, facts = (1_000, 300) if options.quick else (options.families, options.facts)
    table = Table.of(questions(families, facts, 1), Question)
    print("ask    method   families  seconds  processor  notes")
    missed = False
    for ask in ("both", "one"):
        for method in ("greedy", "exact"):
            spec: dict[str, Any] = {"kind": "choose_forms", "from": "rows", "method": method, "ask": ask}
            context = StepContext(seed=1, language="zh", step="chosen", cache=Path(), workplace=Path())
            step = ChooseForms(ChooseFormsSpec.model_validate({**spec, "seconds": options.seconds}), context)
            step.open({})
            begin, worked = time.perf_counter(), time.process_time()
            notes = step.gather({"each": table}).notes
            took = time.perf_counter() - begin
            worked = time.process_time() - worked
            print(f"{ask:6} {method:8} {notes['kept']:8} {took:8.1f} {worked:10.1f}  {notes}")
            missed |= took > TARGET + OVERHEAD and notes.get("finished", True)
    raise SystemExit(int(missed and not options.quick))


if __name__ == "__main__":
    main()
