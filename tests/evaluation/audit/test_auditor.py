from __future__ import annotations

import random
from typing import Any

import pytest
from audit_subjects import item, items

from benchbuilder.config import AuditSpec, read_kind_spec
from benchbuilder.core import page_texts
from benchbuilder.evaluation.audit.auditor import BenchmarkAuditor, audit_views, widened
from benchbuilder.evaluation.audit.subjects import (
    AuditedBenchmark,
    AuditSubject,
    family_of,
    sample_of_families,
)
from benchbuilder.exporters import AuditResult, AuditSentences


def spec(*kinds: str, **more: Any) -> AuditSpec:
    views = {kind: read_kind_spec("view", {"kind": kind}) for kind in kinds}
    return AuditSpec(**{"permutations": 99, "views": views, "negations": (r"\bnot\b",), **more})


LEAKY = ("negation", "ending", "position")


@pytest.fixture(scope="module")
def leaky() -> AuditResult:
    return BenchmarkAuditor(spec(*LEAKY), 1).audit_items(items(80, leaks=True))


def word(result: AuditResult, view: str, target: str = "verdict") -> str:
    found = result.find(target, view, "all", "all")
    return "" if found is None else found.word


def test_a_negation_that_gives_the_verdict_away_closes_the_gate(leaky: AuditResult) -> None:
    found = leaky.find("verdict", "negation", "all", "all")
    assert found is not None
    assert (found.score, found.word, found.n, found.families) == (1.0, "leaks", 80, 80)
    assert leaky.closed
    assert word(leaky, "ending") != "leaks"
    assert {found.text for found in leaky.words if found.leaks} == {"not given to"}


def test_what_does_not_apply_is_said_once(leaky: AuditResult) -> None:
    assert leaky.skipped == (("position", "no_options"),)
    says = AuditSentences(leaky, page_texts("en"))
    assert says.skipped() == ["option position: no item is made from options."]
    assert says.leaks()[0].startswith(
        "all items: the verdict can be guessed from negation: 100.0 % [100.0, 100.0] of 80"
    )


def test_the_order_of_items_changes_nothing(leaky: AuditResult) -> None:
    assert BenchmarkAuditor(spec(*LEAKY), 1).audit_items(items(80, leaks=True)[::-1]) == leaky


def test_without_a_leak_the_gate_is_open_unless_doubt_closes_it() -> None:
    made = items(80, leaks=False)
    result = BenchmarkAuditor(spec("question_words"), 1).audit_items(made)
    assert not result.closed
    assert BenchmarkAuditor(spec("question_words", unknown="close"), 1).audit_items(made[:30]).closed
    assert not BenchmarkAuditor(spec("negation", gate="none"), 1).audit_items(items(40, leaks=True)).closed


def test_an_allowed_leak_is_named_with_its_reason() -> None:
    rule = {"view": "negation", "scope": "all", "why": "we only test negation"}
    words = {"view": "word: not given to", "scope": "all", "why": "we only test negation"}
    made = items(80, leaks=True)
    result = BenchmarkAuditor(spec("negation", allow=[rule, words]), 1).audit_items(made)
    assert not result.closed
    says = AuditSentences(result, page_texts("en"))
    assert says.allowed() == [
        "all items: the verdict from negation: allowed until 0.50 above one half: “we only test negation”",
        "“not given to” in all items: allowed: “we only test negation”",
    ]
    low = BenchmarkAuditor(spec("negation", allow=[{**rule, "until": 0.1}, words]), 1).audit_items(made)
    assert low.closed


def test_views_of_paragraphs_gate_only_where_paragraphs_are_shown() -> None:
    made = [item(n, f"Is {n} right?", "yes" if n % 2 else "no", f"Yes, Is {n} right", "No") for n in range(60)]
    blind = BenchmarkAuditor(spec("evidence_overlap"), 1).audit_items(made)
    assert [check.gates for check in blind.checks] == [False] * len(blind.checks)
    shown = BenchmarkAuditor(spec("evidence_overlap", paragraphs_shown=True), 1).audit_items(made)
    assert all(check.gates for check in shown.checks)


def test_a_large_benchmark_is_sampled_by_whole_families() -> None:
    rows = [made.model_copy(update={"family": f"f{n // 4}"}) for n, made in enumerate(items(40, leaks=False))]
    drawn = sample_of_families(rows, 10, 3)
    families = [family_of(row) for row in drawn]
    assert len(drawn) == 8
    assert all(families.count(name) == 4 for name in families)
    result = BenchmarkAuditor(spec("length", most_items=100), 1).audit_items([*items(150, leaks=False)])
    assert (result.items, result.whole) == (100, 150)
    assert AuditSentences(result, page_texts("en")).sample().startswith("A random sample of 100 of 150 items")


def test_without_anything_to_guess_nothing_is_checked() -> None:
    assert BenchmarkAuditor(spec("length"), 1).audit_items([item(1, "What?", "", "A.", "")]).checks == ()


def test_without_views_the_recipe_gets_those_of_the_program() -> None:
    assert next(iter(audit_views(AuditSpec()))) == "majority"


@pytest.mark.full
def test_trees_see_what_only_both_ends_together_tell() -> None:
    """The verdict is yes where both ends have the same letter: no linear view sees that."""
    pytest.importorskip("sklearn")
    draw = random.Random(1)
    subjects: list[AuditSubject] = []
    for number in range(160):
        answer, concept = draw.choice("铁钙"), draw.choice("铁钙")
        subjects.append(AuditSubject(
            id=f"{number:03}", family=f"f{number}", source="graph", type="tf", text=f"{concept}治{answer}",
            expected="yes" if answer == concept else "no", answer=answer, concept=concept, relation="r",
        ))  # fmt: skip
    found = AuditedBenchmark(tuple(subjects), (), 160, 160, "items", 160, paragraphs_shown=False)
    result = BenchmarkAuditor(spec("answer_words", "concept_words", "all_interactions"), 1).audit_benchmark(found)
    assert word(result, "all_interactions") == "leaks"
    assert word(result, "answer_words") != "leaks"


def test_words_are_shown_with_what_always_stands_around_them() -> None:
    assert widened("种", ["对，这种说法对吗？", "好，这种说法对吗？"]) == "，这种说法对吗？"
    assert widened("a", ["a"]) == "a"


def test_each_form_that_shows_a_question_is_a_group_of_its_own() -> None:
    rows = [
        row.model_copy(update={"form": ("statement", "verify")[place % 4 > 1]})
        for place, row in enumerate(items(80, leaks=True))
    ]
    result = BenchmarkAuditor(spec("negation", "ending"), 1).audit_items(rows)
    groups = {(check.target, check.group) for check in result.checks if check.scope == "form"}
    assert ("verdict", "verify") in groups
    assert ("pair", "verify") in groups
    assert not {group for target, group in groups if target == "pair"} & {"affirmed", "negated"}
