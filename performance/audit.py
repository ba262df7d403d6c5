"""The audit beside scikit-learn's plain way of the same figure: a refit for each fold and permutation.

    python performance/audit.py [--quick]

Items are generated: two sources of quads, one of pairs of questions, one of single questions. See README.md for what
the numbers mean.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchbuilder.evaluation.audit.auditor import audit_words
from benchbuilder.evaluation.audit.features import ViewFeatures, category_rows, joined, signed_rows, sparse_rows
from benchbuilder.evaluation.audit.findings import AuditCheck, AuditSettings
from benchbuilder.evaluation.audit.run_checks import run_checks

SIZES, QUICK = (2_000, 10_000), (400,)
TARGETS = {2_000: 20.0, 10_000: 120.0}
"""Seconds of processor time."""
PLAIN_PERMUTATIONS = 2
"""So many permutations of the plain way are timed; the rest is extrapolated."""
FEWEST_IN_RELATION = 40


@dataclass(frozen=True)
class Question:
    """A generated question."""

    id: str
    family: str
    source: str
    relation: str
    concept: str
    answer: str
    other: str
    negated: bool
    yes: bool

    @property
    def text(self) -> str:
        """What a model reads."""
        return f"{self.concept}的{self.relation}{'不是' if self.negated else '是'}{self.answer}，这种说法对吗？"


def questions(n: int) -> list[Question]:
    """`n` questions of four sources; names are drawn so that letters and answers repeat as in real ones."""
    random = np.random.default_rng(0)
    weights = 1 / np.arange(1, 1501)
    letters = [chr(0x4E00 + 7 * number) for number in range(1500)]

    def name(length: int) -> str:
        return "".join(random.choice(letters, length, p=weights / weights.sum()))

    made: list[Question] = []
    for number, source in enumerate(("triples_a", "triples_b", "choice", "single")):
        concepts = [name(4 + 12 * (number > 1)) for _ in range(n // 16)]
        answers = [name(3 + number) for _ in range(n // 20)]
        relations = [name(3) for _ in range(12 if number < 2 else 1)]
        size = (4, 4, 2, 1)[number]
        for family in range(n // 4 // size):
            one, two = (str(text) for text in random.choice(concepts, 2, replace=False))
            right, wrong = (str(text) for text in random.choice(answers, 2, replace=False))
            rows = [(one, right, wrong, True), (one, wrong, right, False), (two, wrong, right, True),
                    (two, right, wrong, False)]  # fmt: skip
            relation, negated = relations[family % len(relations)], bool(family // len(relations) % 2)
            for row in rows[:size] if size > 1 else [rows[int(random.integers(2))]]:
                made.append(Question(f"{len(made):06}", f"{source}{family}", source, relation, row[0], row[1], row[2],
                                     negated, row[3] != negated))  # fmt: skip
    return made


def grams(text: str) -> list[str]:
    """Runs of one to three letters."""
    return [text[start : start + size] for size in (1, 2, 3) for start in range(len(text) - size + 1)]


def views(items: list[Question]) -> tuple[dict[str, ViewFeatures], dict[str, ViewFeatures]]:
    """Views of questions, and of pairs."""
    known = Counter(item.answer for item in items)
    words = {
        "frame": sparse_rows([grams(item.text.replace(item.concept, "A").replace(item.answer, "B")) for item in items]),
        "question_words": sparse_rows([grams(item.text) for item in items]),
        "answer_words": sparse_rows([grams(item.answer) for item in items]),
        "concept_words": sparse_rows([grams(item.concept) for item in items]),
        "answer_with_relation": sparse_rows([[item.relation + gram for gram in grams(item.answer)] for item in items]),
    }
    categories = {
        "source": category_rows([item.source for item in items]),
        "relation": category_rows([item.relation for item in items]),
        "length": category_rows([str(len(item.text) // 3) for item in items]),
        "ending": category_rows([item.text[-6:] for item in items]),
        "negation": category_rows([str(item.negated) for item in items]),
        "answer_identity": category_rows([item.answer for item in items]),
        "popularity": category_rows([str(known[item.answer].bit_length()) for item in items]),
        "shared_letters": category_rows([str(len(set(item.answer) & set(item.concept))) for item in items]),
    }
    plain = words | categories | {"all": joined(list((words | categories).values()))}
    right = [grams(item.other if item.yes == item.negated else item.answer) for item in items]
    wrong = [grams(item.answer if item.yes == item.negated else item.other) for item in items]
    pairs = {"answer_words": signed_rows(right, wrong)}
    pairs["all"] = joined(
        [pairs["answer_words"], signed_rows([[row[0]] for row in right], [[row[0]] for row in wrong])]
    )
    return plain, pairs


def checks(items: list[Question]) -> list[AuditCheck]:
    """All targets and views over all items, each source and each large relation."""
    plain, pairs = views(items)
    negated = [item.negated for item in items]
    plain |= {f"{name} x form": features.crossed(negated) for name, features in plain.items()}
    scopes = {"all": [True] * len(items)}
    for source in sorted({item.source for item in items}):
        scopes[f"source {source}"] = [item.source == source for item in items]
    for relation in sorted({item.relation for item in items}):
        inside = [item.relation == relation for item in items]
        if len({item.family for item, own in zip(items, inside, strict=True) if own}) >= FEWEST_IN_RELATION:
            scopes[f"relation {relation}"] = inside
    made: list[AuditCheck] = []
    for scope, inside in scopes.items():
        chosen = np.flatnonzero(inside)
        own = [items[row] for row in chosen]
        ids, families = [item.id for item in own], [item.family for item in own]
        labels = {
            "verdict": [item.yes for item in own],
            "truth": [item.yes != item.negated for item in own],
            "pair": [],
        }
        for target in ("verdict", "truth", "pair"):
            for name, features in (pairs if target == "pair" else plain).items():
                if target != "truth" or not name.endswith("x form"):
                    taken = features.take(chosen)
                    made.append(AuditCheck(target, name, scope, taken, ids, labels[target], families))
    return made


def plain_way(items: list[Question], permutations: int) -> float | None:
    """Seconds for one check, question words over all items, by scikit-learn; ``None`` without it."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import RidgeClassifier
        from sklearn.model_selection import GroupKFold, permutation_test_score
    except ImportError:
        return None
    table: Any = TfidfVectorizer(analyzer=grams, use_idf=False, binary=True).fit_transform(
        [item.text for item in items]
    )
    began = time.process_time()
    permutation_test_score(
        RidgeClassifier(alpha=1.0, fit_intercept=False, class_weight="balanced", solver="sparse_cg"),
        table,
        [item.yes for item in items],
        groups=[item.family for item in items],
        cv=GroupKFold(10),
        scoring="balanced_accuracy",
        n_permutations=PLAIN_PERMUTATIONS,
    )
    each = (time.process_time() - began) / (PLAIN_PERMUTATIONS + 1)
    return each * (permutations + 3)


def main() -> int:
    """Measure; 1 if a target is missed (never with ``--quick``)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few items")
    given = parser.parse_args()
    settings, missed = AuditSettings(seed=1), False
    print("items  checks  views  audit  target  one check  scikit-learn  times faster")
    for n in QUICK if given.quick else SIZES:
        items = questions(n)
        began = time.process_time()
        made = checks(items)
        prepared = time.process_time() - began
        findings = run_checks(made, settings)
        words = next(check for check in made if (check.view, check.scope) == ("question_words", "all"))
        audit_words("verdict", "all", words.features, words.labels, words.families, settings)
        audit = time.process_time() - began - prepared
        began = time.process_time()
        run_checks([words], settings)
        one = time.process_time() - began
        plain = plain_way(items, settings.permutations)
        beside = "    not here             -" if plain is None else f"{plain:10.0f} s  {plain / one:12.0f}"
        target = TARGETS.get(n, float("inf"))
        missed |= prepared + audit > target
        print(
            f"{n:5}  {len(findings):6}  {prepared:3.1f} s  {audit:3.1f} s  {target:4g} s  {one:7.2f} s  {beside}",
            flush=True,
        )
    return int(missed and not given.quick)


if __name__ == "__main__":
    sys.exit(main())
