"""What the audit sees and how often it cries wolf, over many generated tables."""

import numpy as np
import pytest

from benchbuilder.evaluation.audit.auditor import audit_words
from benchbuilder.evaluation.audit.features import ViewFeatures, category_rows, sparse_rows
from benchbuilder.evaluation.audit.findings import AuditCheck, AuditFinding, AuditSettings, WordFinding
from benchbuilder.evaluation.audit.run_checks import run_checks

LETTERS = np.array([chr(0x4E00 + 7 * number) for number in range(1500)])
WEIGHTS = 1 / (np.arange(len(LETTERS)) + 6)


def texts(random: np.random.Generator, n: int) -> list[str]:
    lengths = random.integers(12, 30, n)
    letters = random.choice(LETTERS, lengths.sum(), p=WEIGHTS / WEIGHTS.sum())
    return ["".join(part) for part in np.split(letters, np.cumsum(lengths)[:-1])]


def grams(text: str) -> list[str]:
    return [text[start : start + size] for size in (1, 2, 3) for start in range(len(text) - size + 1)]


def planted(n: int, share: float, seed: int) -> tuple[AuditFinding, list[WordFinding]]:
    """A letter in `share` of the questions, all of them "no"."""
    random = np.random.default_rng(seed)
    labels = random.permutation(np.arange(n) % 2 == 0)
    written = texts(random, n)
    for place in random.choice(np.flatnonzero(~labels), int(share * n), replace=False):
        at = int(random.integers(len(written[place])))
        written[place] = f"{written[place][:at]}甲{written[place][at:]}"
    view, ids = sparse_rows([grams(text) for text in written]), [f"{place:05}" for place in range(n)]
    settings = AuditSettings(seed=seed, permutations=99, samples=200, repetitions=1)
    check = AuditCheck("verdict", "question_words", "all", view, ids, [bool(label) for label in labels], ids)
    words = audit_words("verdict", "all", view, check.labels, ids, settings)
    return run_checks([check], settings)[0], [word for word in words if word.leaks]


@pytest.mark.full
@pytest.mark.parametrize(
    ("n", "share", "tables", "classifier"), [(400, 0.2, 24, 0.85), (1000, 0.1, 12, 0.75), (200, 0.2, 30, 0.75)]
)
def test_a_planted_word_is_found(n: int, share: float, tables: int, classifier: float) -> None:
    found = [planted(n, share, seed) for seed in range(tables)]
    assert np.mean([finding.p is not None and finding.p <= 0.05 for finding, _ in found]) >= classifier
    assert np.mean([[word.name for word in words] == ["甲"] for _, words in found]) >= 0.99


def shuffled_is_closed(seed: int, n: int = 200) -> bool:
    """Whether the gate closes for labels that are shuffled over families of one, two and four questions."""
    random = np.random.default_rng(seed)
    sizes = random.choice([1, 1, 2, 4], n)
    families = np.repeat([f"{number:03}" for number in range(n)], sizes)[:n].tolist()
    labels = random.permutation(np.arange(n) % 2 == 0)
    negated = random.integers(0, 2, n) == 1
    source = {family: "ab"[int(random.integers(2))] for family in families}
    written = texts(random, n)
    views: dict[str, ViewFeatures] = {
        "question_words": sparse_rows([grams(text) for text in written]),
        "ending": category_rows([text[-1] for text in written]),
        "length": category_rows([str(len(text) // 3) for text in written]),
        "negation": category_rows([str(value) for value in negated]),
    }
    views["ending x form"] = views["ending"].crossed(negated)
    checks: list[AuditCheck] = []
    for scope in ("all", "a"):
        rows = [row for row in range(n) if scope in ("all", source[families[row]])]
        ids, own = [f"{row:03}" for row in rows], [families[row] for row in rows]
        for target in ("verdict", "truth"):
            told = [bool(labels[row] != (target == "truth" and negated[row])) for row in rows]
            for name, view in views.items():
                if target == "verdict" or name in ("ending", "length"):
                    checks.append(AuditCheck(target, name, scope, view.take(rows), ids, told, own))
    settings = AuditSettings(seed=seed, permutations=99, samples=100, repetitions=1)
    words = audit_words(
        "verdict", "all", views["question_words"], [bool(label) for label in labels], families, settings
    )
    return any(found.closes for found in (*run_checks(checks, settings), *words))


@pytest.mark.full
def test_shuffled_labels_rarely_close_the_gate() -> None:
    assert np.mean([shuffled_is_closed(seed) for seed in range(200)]) <= 0.05
