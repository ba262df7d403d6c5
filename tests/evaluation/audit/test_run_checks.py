"""The four words, on tables whose leaks are known."""

from dataclasses import replace

import numpy as np
import pytest

from benchbuilder.evaluation.audit.auditor import audit_words
from benchbuilder.evaluation.audit.features import ViewFeatures, category_rows, joined, signed_rows, sparse_rows
from benchbuilder.evaluation.audit.findings import AuditCheck, AuditFinding, AuditSettings
from benchbuilder.evaluation.audit.run_checks import audit_word, run_checks

QUICK = AuditSettings(seed=1, permutations=99, samples=300)


def grams(text: str) -> list[str]:
    return [text[start : start + size] for size in (1, 2) for start in range(len(text) - size + 1)]


class QuadTable:
    """Synthetic quads: (c1, a1) and (c2, a2) are true, (c1, a2) and (c2, a1) are false."""

    def __init__(self, quads: int, *, seed: int = 0, flipped: bool = False) -> None:
        random = np.random.default_rng(seed)
        letters = [chr(0x4E00 + number) for number in range(300)]
        concepts = ["".join(random.choice(letters, 4)) for _ in range(80)]
        answers = ["".join(random.choice(letters, 3)) for _ in range(50)]
        self.rows: list[tuple[str, str, bool, bool]] = []
        for quad in range(quads):
            one, two = (str(concept) for concept in random.choice(concepts, 2, replace=False))
            first, second = (str(answer) for answer in random.choice(answers, 2, replace=False))
            pairs = [(one, first, True), (one, second, False), (two, second, True), (two, first, False)]
            for place, (concept, answer, true) in enumerate(pairs):
                negated = (quad % 2 == 1) != (flipped and place == 0)
                self.rows.append((concept, answer, negated, true != negated))
        self.ids = [f"{place:05}" for place in range(len(self.rows))]
        self.families = [f"quad {place // 4}" for place in range(len(self.rows))]
        self.labels = [row[3] for row in self.rows]

    def one_end_views(self) -> dict[str, ViewFeatures]:
        views = {
            "concept_words": sparse_rows([grams(row[0]) for row in self.rows]),
            "answer_words": sparse_rows([grams(row[1]) for row in self.rows]),
            "answer_identity": category_rows([row[1] for row in self.rows]),
            "negation": category_rows([str(row[2]) for row in self.rows]),
            "majority": category_rows([""] * len(self.rows)),
        }
        negated = [row[2] for row in self.rows]
        return views | {f"{name} x form": view.crossed(negated) for name, view in views.items()}

    def checks(self, views: dict[str, ViewFeatures]) -> list[AuditCheck]:
        return [
            AuditCheck("verdict", name, "all", view, self.ids, self.labels, self.families)
            for name, view in views.items()
        ]


def only(check: AuditCheck, settings: AuditSettings = QUICK) -> AuditFinding:
    (finding,) = run_checks([check], settings)
    return finding


def test_every_view_of_one_end_of_a_quad_scores_exactly_one_half() -> None:
    table = QuadTable(200)
    for finding in run_checks(table.checks(table.one_end_views()), QUICK):
        assert (finding.score, finding.low, finding.high, finding.upper) == (0.5, 0.5, 0.5, 0.5), finding.view
        assert (finding.p, finding.p_family, finding.smallest_visible, finding.word) == (1.0, 1.0, 0.0, "clean")


def test_a_statement_in_another_form_than_its_quad_is_seen() -> None:
    table = QuadTable(200, flipped=True)
    scores = {finding.view: finding.score for finding in run_checks(table.checks(table.one_end_views()), QUICK)}
    assert scores["majority"] == 0.5
    assert {scores["answer_words x form"], scores["answer_identity x form"]} & {0.5} == set()


@pytest.mark.parametrize("families", ["quads", "one each"])
def test_a_view_that_names_the_verdict_leaks(families: str) -> None:
    table = QuadTable(40)
    if families == "one each":
        table.families = list(table.ids)
    view = category_rows([str(label) for label in table.labels])
    finding = only(table.checks({"relation": view})[0])
    assert (finding.score, finding.low, finding.p, finding.word) == (1.0, 1.0, 0.01, "leaks")
    assert finding.closes


def test_a_relation_that_tells_the_verdict_leaks_although_each_relation_has_one_label() -> None:
    labels = [number % 3 == 0 for number in range(90)]
    ids = [f"{number:03}" for number in range(90)]
    view = category_rows([f"relation {number % 3}" for number in range(90)])
    finding = only(AuditCheck("verdict", "relation", "all", view, ids, labels, ids))
    assert (finding.score, finding.word) == (1.0, "leaks")


def test_too_few_questions_cannot_tell() -> None:
    table = QuadTable(6)
    findings = run_checks(table.checks(table.one_end_views()), QUICK)
    assert {finding.word for finding in findings} == {"cannot tell"}


@pytest.mark.parametrize(
    ("labels", "families", "why"),
    [
        ([], [], "there are no questions"),
        ([True, False], ["a", "a"], "all questions are of one family, so none can be held out"),
        ([True, True], ["a", "b"], "all questions have the same label"),
    ],
)
def test_what_cannot_be_measured_says_why(labels: list[bool], families: list[str], why: str) -> None:
    ids = [str(place) for place in range(len(labels))]
    check = AuditCheck("truth", "length", "all", category_rows(["x"] * len(ids)), ids, labels, families)
    finding = only(check)
    assert (finding.why, finding.word, finding.score, finding.n) == (why, "cannot tell", None, len(ids))


def test_neither_the_order_of_items_nor_that_of_checks_matters() -> None:
    table = QuadTable(30, flipped=True)
    views = table.one_end_views() | {"question": sparse_rows([grams(row[0] + row[1]) for row in table.rows])}
    views["all"] = joined(list(views.values()))
    straight = run_checks(table.checks(views), QUICK)
    order = np.random.default_rng(1).permutation(len(table.ids))
    turned = [
        AuditCheck(
            check.target,
            check.view,
            check.scope,
            check.features.take(order),
            [check.ids[row] for row in order],
            [check.labels[row] for row in order],
            [check.families[row] for row in order],
        )
        for check in reversed(table.checks(views))
    ]
    assert run_checks(turned, QUICK)[::-1] == straight
    assert run_checks(table.checks(views), QUICK, workers=3) == straight


def test_one_check_under_several_names_is_made_once_and_every_name_has_its_finding() -> None:
    table = QuadTable(30)
    view = category_rows([row[0] for row in table.rows])
    one, other = table.checks({"one": view, "other": view})
    negated = replace(other, labels=[row[2] for row in table.rows])
    found = run_checks([one, replace(other, gates=not one.gates), negated], QUICK)
    assert [(finding.view, finding.gates) for finding in found] == [
        ("one", one.gates), ("other", not one.gates), ("other", other.gates),
    ]  # fmt: skip
    assert found[1] == replace(found[0], view="other", gates=not one.gates)
    assert found[2].score != found[0].score


def test_pairs_are_guessed_from_what_differs() -> None:
    random = np.random.default_rng(0)
    words = [[str(word) for word in random.choice(list("abcdefgh"), 3)] for _ in range(120)]
    others = [[str(word) for word in random.choice(list("abcdefgh"), 3)] for _ in range(120)]
    ids = [f"{number:03}" for number in range(120)]
    leaking = [[*row, "not"] if place % 2 else row for place, row in enumerate(others)]
    same = AuditCheck("pair", "negation", "all", signed_rows(words, words), ids, [], ids)
    views = {"leaking": signed_rows(words, leaking), "clean": signed_rows(words, others)}
    checks = [AuditCheck("pair", name, "all", view, ids, [], ids) for name, view in views.items()]
    leaks, clean, nothing = run_checks([*checks, same], QUICK)
    assert leaks.word == "leaks"
    assert leaks.score is not None
    assert leaks.score > 0.7
    assert clean.p is not None
    assert clean.p > 0.05
    assert (nothing.score, nothing.word) == (0.5, "clean")


def test_swapped_answers_of_a_family_score_one_half_as_pairs() -> None:
    answers = [f"answer {number % 7}" for number in range(60)]
    others = [f"answer {(number * 3 + 1) % 7}" for number in range(60)]
    right = [[name] for pair in zip(answers, others, strict=True) for name in pair]
    wrong = [[name] for pair in zip(others, answers, strict=True) for name in pair]
    ids = [f"{number:03}" for number in range(120)]
    families = [f"{number // 2:03}" for number in range(120)]
    finding = only(AuditCheck("pair", "answer_identity", "all", signed_rows(right, wrong), ids, [], families))
    assert (finding.score, finding.smallest_visible, finding.word) == (0.5, 0.0, "clean")


def test_popularity_is_found_where_words_are_not() -> None:
    """False answers are uniform, true ones Zipf; every question has words of its own."""
    random = np.random.default_rng(1)
    weights = 1 / np.arange(1, 61)
    labels = [number % 2 == 0 for number in range(300)]
    ranks = [int(random.choice(60, p=weights / weights.sum() if true else None)) for true in labels]
    ids = [f"{number:03}" for number in range(300)]
    letters = list("abcdefghijklmnopqrstuvwxyz")
    words = sparse_rows([[str(letter) for letter in random.choice(letters, 6)] for _ in ids])
    views = {"popularity": category_rows([str(rank.bit_length()) for rank in ranks]), "question_words": words}
    checks = [AuditCheck("truth", name, "all", view, ids, labels, ids) for name, view in views.items()]
    popularity, question = run_checks(checks, QUICK)
    assert popularity.word == "leaks"
    assert question.word != "leaks"


def finding_with(**known: object) -> AuditFinding:
    numbers = {"score": 0.5, "low": 0.4, "high": 0.6, "upper": 0.54, "p": 0.5, "p_family": 0.5}
    values = {"target": "verdict", "view": "length", "scope": "all", "n": 900, "families": 900} | numbers
    return AuditFinding(**(values | {"smallest_visible": 0.05, "word": "clean"} | known))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "word"),
    [
        ({"score": 0.56, "p_family": 0.05}, "leaks"),
        ({"score": 0.55, "p_family": 0.05}, "hint"),
        ({"score": 0.49, "p_family": 0.05}, "clean"),
        ({"score": 0.56, "p_family": 0.06, "upper": 0.58}, "cannot tell"),
        ({"upper": 0.55}, "clean"),
        ({"upper": 0.551}, "cannot tell"),
        ({"families": 19}, "cannot tell"),
    ],
)
def test_words(known: dict[str, object], word: str) -> None:
    assert audit_word(finding_with(**known), QUICK) == word


def test_a_score_below_chance_is_no_proof() -> None:
    """77 questions that score 45 % could score 55 % the next time."""
    ids = [f"{number:02}" for number in range(80)]
    labels = [number % 2 == 0 for number in range(80)]
    view = category_rows([str(number % 2 if number < 36 else 1 - number % 2) for number in range(80)])
    random = np.random.default_rng(5)
    order = random.permutation(80)
    finding = only(AuditCheck("verdict", "length", "all", view.take(order), ids, [labels[n] for n in order], ids))
    assert finding.score is not None
    assert finding.upper is not None
    assert finding.upper >= 0.5 + (finding.high or 0) - finding.score - 0.05
    assert finding.word == "cannot tell"


def test_a_leak_that_is_allowed_or_is_information_does_not_close() -> None:
    leak = finding_with(word="leaks")
    assert leak.closes
    assert not finding_with(word="leaks", allowed="short stems").closes
    assert not finding_with(word="leaks", gates=False).closes
    assert audit_words("verdict", "all", sparse_rows([]), [], [], QUICK) == []
