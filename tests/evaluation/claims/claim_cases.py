"""Items about invented places and drugs, and the verifier of the bundled word lists, for tests of claims."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchbuilder.evaluation.claims.base import VerifiedPart
from benchbuilder.evaluation.claims.clauses import split_clauses
from benchbuilder.evaluation.claims.lexical import LexicalVerifier
from benchbuilder.evaluation.claims.words import ClaimWords, open_claim_words, table_of
from benchbuilder.evaluation.judges.base import Case

LISTS = Path(__file__).parents[3] / "recipes" / "claims"

TOWN = Case(
    "What is the capital of the province?", "",
    ("Lindau is the capital of the province and lies on the river. Morbach is the largest port of the province.",
     "The court of the province has its seat in Lindau, not in Morbach."),
    "The capital of the province is Lindau.", "The capital of the province is Morbach.", "oe",
)  # fmt: skip
DRUG = Case(
    "Which drug treats the infection?", "",
    ("Penicillin is the first-line treatment of the infection. Gentamicin is added only in severe cases.",
     "The course takes 10 days. It must not be given with milk."),
    "The infection is treated with penicillin.", "The infection is treated with gentamicin.", "oe",
)  # fmt: skip
CITY = Case(
    "某省的省会是哪里？", "", ("临江市是某省的省会，位于江边。北岭市是某省最大的港口城市。",),
    "某省的省会是临江市。", "某省的省会是北岭市。", "oe",
)  # fmt: skip
THERAPY = Case(
    "治疗该感染首选什么药物？", "", ("该感染首选青霉素治疗，重症可加用庆大霉素。疗程为十天。",),
    "治疗该感染首选青霉素。", "治疗该感染首选庆大霉素。", "oe",
)  # fmt: skip


@cache
def word_list(language: str) -> ClaimWords:
    return open_claim_words(LISTS / f"{language}.yaml")


@cache
def verifier() -> LexicalVerifier:
    return LexicalVerifier([word_list("zh"), word_list("en")])


def case_of(case: Case, answer: str) -> Case:
    return Case(case.question, answer, case.evidence, case.right, case.wrong, case.type)


def verified(case: Case, answer: str) -> list[VerifiedPart]:
    words = (word_list("zh"), word_list("en"))
    clauses = split_clauses(answer, words[table_of(answer, words)])
    return verifier().verify(case_of(case, answer), clauses)


def stances(case: Case, answer: str) -> tuple[set[str], set[str]]:
    """What the claims of an answer that stand do with the right and with the wrong statement."""
    claims = [part for part in verified(case, answer) if part.kind == "claim" and part.taken_back_by is None]
    right, wrong = ({getattr(part, side) for part in claims} - {"none"} for side in ("right", "wrong"))
    return right, wrong
