from __future__ import annotations

from dataclasses import replace

import pytest
from audit_subjects import TRIPLES, context, subjects

from benchbuilder.config import read_kind_spec
from benchbuilder.core.registry import BUILT_IN_KINDS, create_from_spec
from benchbuilder.evaluation.audit.knowledge import AuditKnowledge
from benchbuilder.evaluation.audit.subjects import AuditSubject
from benchbuilder.evaluation.audit.targets import TargetSubjects, difference_rows
from benchbuilder.evaluation.audit.views.base import View, ViewContext
from benchbuilder.evaluation.audit.views.ngrams import guess_unit, ngram_rows
from benchbuilder.testing import check_view
from benchbuilder.testing.views import NamedRows, named_rows


def view(kind: str) -> View:
    return create_from_spec("view", read_kind_spec("view", {"kind": kind}))


def seen(kind: str, of: list[AuditSubject] | None = None, knowing: ViewContext | None = None) -> NamedRows | str:
    found = view(kind).see(of or subjects(), knowing or context())
    return found if isinstance(found, str) else named_rows(found)


@pytest.mark.parametrize("kind", sorted(BUILT_IN_KINDS["view"]))
def test_each_view_keeps_the_contract_and_reads_no_verdict(kind: str) -> None:
    full = context()
    if kind == "all":
        length = view("length").see(subjects(), full)
        assert not isinstance(length, str)
        assert named_rows(view(kind).see(subjects(), replace(full, seen={"length": length})))  # pyright: ignore
        assert view(kind).see(subjects(), full) == "no_views"
        return
    assert not isinstance(check_view(lambda: view(kind), subjects(), full), str)


def test_a_view_that_does_not_apply_gives_its_reason() -> None:
    bare = [AuditSubject(id="1", family="1", source="s", type="tf", text="Is it so?", expected="yes")]
    nothing = ViewContext("words")
    reasons = {kind: view(kind).see(bare, nothing) for kind in BUILT_IN_KINDS["view"]}
    assert {kind: reason for kind, reason in reasons.items() if isinstance(reason, str)} == {
        "relation": "no_triples", "negation": "no_negations", "cue_words": "no_cue_words", "frame": "no_facts",
        "answer_words": "no_facts", "answer_identity": "no_facts", "concept_words": "no_triples",
        "answer_with_relation": "no_triples", "popularity": "no_triples", "shared_letters": "no_triples",
        "position": "no_options", "letter": "no_options", "longest_option": "no_options",
        "evidence_overlap": "no_evidence", "together": "no_triples", "relatedness": "no_triples", "all": "no_views",
    }  # fmt: skip


def test_what_views_see() -> None:
    assert seen("negation") == [{"0": 1.0}] * 4 + [{"1": 1.0}] * 2
    assert seen("cue_words") == [{"no": 1.0}] * 4 + [{"yes": 1.0}] * 2
    assert seen("ending")[3:] == [{"right?": 1.0}] * 3
    assert seen("answer_identity")[0] == {"iron": 1.0}
    assert seen("answer_with_relation") == [
        {"graph: treated by | iron": 1.0}, {"graph: treated by | rest": 1.0}, {"graph: treated by | iron": 1.0},
        {}, {}, {},
    ]  # fmt: skip
    assert seen("letter")[2:] == [{}, {"A": 1.0}, {"B": 1.0}, {"C": 1.0}]
    assert seen("position")[3:] == [{"first": 1.0}, {"between": 1.0}, {"last": 1.0}]
    assert seen("longest_option")[3:] == [{"shortest": 1.0}, {"longest": 1.0}, {"shortest": 1.0}]


def test_a_frame_hides_both_ends() -> None:
    frames = seen("frame")
    assert not isinstance(frames, str)
    names = {name for row in frames for name in row}
    assert "is □ treated" in names
    assert not any(word in name for name in names for word in ("iron", "rest", "anaemia", "zinc"))


def test_the_graph_gives_popularity_and_relatedness() -> None:
    known = AuditKnowledge(TRIPLES)
    assert known.degrees(["iron", "rickets", "anaemia", "unheard of"]) == [2, 1, 2, 0]
    assert seen("popularity")[1] == {"answer 2": 1.0, "concept 1": 1.0, "both 2 1": 1.0}
    # anaemia and weakness have rest in common besides iron; rickets has nothing in common with them
    near, far, _ = (seen("relatedness") or [])[:3]
    assert near != far


def test_shared_letters_count_on_both_sides() -> None:
    pair = [replace(subjects()[0], answer=answer, concept="早产儿") for answer in ("早产", "产后", "铁剂")]
    assert seen("shared_letters", pair, replace(context(), unit="characters")) == [
        {"2 1": 1.0}, {"1 0": 1.0}, {"0 0": 1.0},
    ]  # fmt: skip


def test_together_reads_paragraphs_of_the_item_and_of_knowledge_bases() -> None:
    bare = [replace(subject, evidence=()) for subject in subjects()]
    assert seen("together")[:3] == [{"yes": 1.0}] * 3
    assert seen("together", bare)[:3] == [{"yes": 1.0}, {"no": 1.0}, {"no": 1.0}]
    apart = replace(context(), knowledge=AuditKnowledge(TRIPLES, ("anaemia", "iron")))
    assert seen("together", bare, apart)[:3] == [{"no": 1.0}] * 3


def test_ngrams_cross_no_text_and_single_ones_are_left_out() -> None:
    rows = named_rows(ngram_rows(["不包括", "不是", "包 括"], "characters"))
    assert rows == [{"不": 1.0, "包": 1.0, "包括": 1.0, "括": 1.0}, {"不": 1.0}, {"包": 1.0, "包括": 1.0, "括": 1.0}]
    assert named_rows(ngram_rows(["Is it so?", "it is SO"], "words"))[1] == {"it": 1.0, "is": 1.0, "so": 1.0}
    assert named_rows(ngram_rows(["", ""], "words")) == [{}, {}]
    assert (guess_unit(["孕妇 BMI 30 以上时，可以吃铁剂和叶酸吗？这种说法对吗？"]), guess_unit(["Is it so?"])) == (
        "characters",
        "words",
    )


def test_a_pair_is_the_right_answer_minus_the_wrong_one() -> None:
    right, wrong = (
        tuple(AuditSubject(id=f"{n}", family=f"{n}", source="s", type="oe", text=text) for n, text in enumerate(texts))
        for texts in (("a b", "c b"), ("a not b", "c not b"))
    )
    pair = TargetSubjects("pair", right, (True, True), wrong)
    found = pair.see(view("question_words"), context())
    assert not isinstance(found, str)
    assert [row["not"] for row in named_rows(found.features)] == [-1.0, -1.0]
    assert all("b" not in row for row in named_rows(found.features))
    assert difference_rows(ngram_rows(["x y", "x y"], "words")).indices.size == 0
