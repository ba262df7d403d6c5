"""How fast answers are cut into clauses and read by rule, and whether the time grows with their length.

Targets, a second of processor: 2,000 answers cut, 200 read (of items not seen before, with three paragraphs each), and
36,000 characters in 3 s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from benchbuilder.evaluation.claims.clauses import split_clauses
from benchbuilder.evaluation.claims.lexical import LexicalVerifier
from benchbuilder.evaluation.claims.words import open_claim_words
from benchbuilder.evaluation.judges.base import Case

LISTS = Path(__file__).parents[1] / "recipes" / "claims"
WORDS = tuple(open_claim_words(LISTS / f"{language}.yaml") for language in ("zh", "en"))
TABLE = {"zh": WORDS[0], "en": WORDS[1]}
LENGTHS = (9_000, 18_000, 36_000)


def made_case(language: str, number: int) -> Case:
    """An item about an invented town, with an answer of four clauses."""
    if language == "zh":
        right, wrong = f"第{number}省的省会是临江{number}市。", f"第{number}省的省会是北岭{number}市。"
        text = f"临江{number}市是第{number}省的省会，位于江边，人口约{number}万。北岭{number}市是最大的港口城市。"
        answer = f"省会不是北岭{number}市，而是临江{number}市。它位于江边，人口约{number + 1}万。"
        return Case(f"第{number}省的省会是哪里？", answer, (text, text[::-1], text[10:]), right, wrong)
    right, wrong = (f"The capital of province {number} is {town}{number}." for town in ("Lindau", "Morbach"))
    text = f"Lindau{number} is the capital of province {number} and lies on the river. Morbach{number} is a large port."
    answer = f"It is not Morbach{number} but Lindau{number}. It lies on the river, and it has {number} mills."
    return Case(f"What is the capital of province {number}?", answer, (text, text[20:], text[:60]), right, wrong)


def rate(work: Callable[[Case], object], cases: Iterable[Case]) -> float:
    """Cases a second of processor."""
    cases, start = list(cases), time.process_time()
    for case in cases:
        work(case)
    return len(cases) / (time.process_time() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer answers")
    count = 200 if parser.parse_args().quick else 2_000
    for language, words in TABLE.items():
        cases = [made_case(language, number) for number in range(count)]
        verifier = LexicalVerifier(WORDS)

        def read(case: Case, words=words, verifier=verifier) -> object:  # noqa: ANN001
            return verifier.verify(case, split_clauses(case.answer, words))

        cut = rate(lambda case, words=words: split_clauses(case.answer, words), cases)
        print(f"{language}: {cut:,.0f} answers a second cut, {rate(read, cases):,.0f} read")
        for length in LENGTHS:
            case = cases[0]
            long = Case(case.question, (case.answer * length)[:length], case.evidence, case.right, case.wrong)
            print(f"{language}: {length:,} characters in {1 / rate(read, [long]):.2f} s")


if __name__ == "__main__":
    main()
