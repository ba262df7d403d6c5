"""Subjects and items for the tests of the audit."""

from __future__ import annotations

from typing import Literal

from benchbuilder.core import Claim, Item, Origin, ProducedBy, Support
from benchbuilder.evaluation.audit.knowledge import AuditKnowledge
from benchbuilder.evaluation.audit.subjects import AuditOption, AuditSubject
from benchbuilder.evaluation.audit.views.base import ViewContext

OPTIONS = ("iron", "folic acid supplements", "zinc")
TRIPLES = frozenset({
    ("anaemia", "treated by", "iron"), ("anaemia", "treated by", "rest"), ("rickets", "treated by", "vitamin D"),
    ("weakness", "treated by", "rest"), ("weakness", "treated by", "iron"),
})  # fmt: skip


def subjects() -> list[AuditSubject]:
    """Questions about triples and options, of two sources, some negated."""
    graph = [
        AuditSubject(
            id=f"graph-{n}", family=f"g{n}", source="graph", type="tf", text=f"Is {concept} treated by {answer}?",
            expected="yes" if n % 2 else "no", answer=answer, concept=concept, relation="graph: treated by",
            evidence=(f"Doctors know: {concept} is treated by {answer}.", "Nothing else."),
        )
        for n, (concept, answer) in enumerate([("anaemia", "iron"), ("rickets", "rest"), ("weakness", "iron")])
    ]  # fmt: skip
    exam = [
        AuditSubject(
            id=f"exam-{n}", family=f"e{n}", source="exam", type="tf", negated=bool(n),
            text=f"Pregnant women should {'not ' if n else ''}take {OPTIONS[n]}, is that right?",
            expected="yes" if n % 2 else "no", answer=OPTIONS[n], option=AuditOption("ABC"[n], n, OPTIONS),
        )
        for n in range(3)
    ]  # fmt: skip
    return [*graph, *exam]


def context() -> ViewContext:
    """What views know of these subjects."""
    paragraphs = ("Iron helps.", "In anaemia, iron is given.")
    return ViewContext("words", (r"\bnot\b",), ("not only",), ("never", "not"), AuditKnowledge(TRIPLES, paragraphs))


def item(
    number: int, question: str, expected: Literal["yes", "no", ""], right: str, wrong: str, source: str = "notes"
) -> Item[Claim]:
    """An item of its own family."""
    payload = Claim(
        type="tf" if expected else "oe", expected=expected, question=question, answer=right, answer_wrong=wrong,
        evidence=(Support(passage="p", base="b", document="d", text=right, score=1, rank=1),),
    )  # fmt: skip
    return Item[Claim].build(
        origin=Origin(file="items.tsv", line=number), produced_by=ProducedBy(rule="test"), language="en",
        partition=source, payload=payload, candidate="", fact=f"fact-{number}", reviewed=False,
    )  # fmt: skip


def items(count: int, *, leaks: bool) -> list[Item[Claim]]:
    """Items whose verdict is known from a negation, or from nothing."""
    made: list[Item[Claim]] = []
    for number in range(count):
        yes = (number // 2 + number) % 2 == 0
        name = f"{number:x}".translate(str.maketrans("0123456789abcdef", "qwertyuiopasdfgh"))
        negation = "not " if leaks and not yes else ""
        question = f"Is drug {name} {negation}given to infants?"
        right, wrong = ("given", "kept") if number % 2 else ("kept", "given")
        made.append(item(number, question, "yes" if yes else "no", f"{name} is {right}.", f"{name} is {wrong}."))
    return made
