"""Who is most similar by known ends, what they speak for, and which answers say nothing of anybody."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from claim_rows import triple

from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.payloads import Fact, Triple
from benchbuilder.steps.language.known_edges import KnownRule
from benchbuilder.steps.language.known_graph import Side
from benchbuilder.steps.swapping.similar_concepts import SimilarConcepts
from benchbuilder.steps.swapping.spec import (
    PRESETS,
    CohesionBar,
    ExchangeSpec,
    SimilarBar,
    SwapBars,
    SwapRelations,
)

SIDE = Side("治", concept_first=True)


def concepts_of(*edges, relations=None):
    facts = [triple(head, relation, tail, line=line) for line, (head, relation, tail) in enumerate(edges, 1)]
    keys = {name for head, _, tail in edges for name in (head, tail)}
    rule = KnownRule("。", "（反向）", frozenset({"同义词"}))
    return SimilarConcepts([Table.of(facts, Fact[Triple])], keys, rule, relations or SwapRelations())


def shares(similar, concept, answer, **bar):
    found, base = similar.similar_shares([concept], [answer], SIDE, SimilarBar(**bar))
    return round(float(found[0, 0]), 3), round(float(base[0]), 3)


EDGES = [("甲", "治", "一"), ("甲", "因", "x"), ("乙", "因", "x"), ("乙", "治", "二"), ("丙", "治", "二"),
         ("丙", "因", "z"), ("丁", "治", "三")]  # fmt: skip


def test_the_share_is_that_of_the_most_similar_concepts_of_the_relation():
    similar = concepts_of(*EDGES)
    assert shares(similar, "甲", "二") == (1.0, 0.5)  # 乙 alone is similar to 甲; two of four have it
    assert shares(similar, "甲", "三") == (0.0, 0.25)
    assert shares(similar, "丁", "二") == (0.0, 0.5)  # nobody is similar
    assert shares(similar, "甲", "nobody has it") == (0.0, 0.0)
    assert similar.most_similar_with("甲", "二", SIDE, 60) == "乙"
    assert similar.most_similar_with("甲", "三", SIDE, 60) == ""


def test_directions_and_synonyms_do_not_matter():
    turned = [
        (tail, "因（反向）", head) if relation == "因" else (head, relation, tail) for head, relation, tail in EDGES
    ]
    assert shares(concepts_of(*turned), "甲", "二") == (1.0, 0.5)
    named = [*EDGES[1:], ("甲", "同义词", "别名"), ("别名", "治", "一")]
    assert shares(concepts_of(*named), "甲", "二") == (1.0, 0.5)
    assert shares(concepts_of(*named), "别名", "二") == (1.0, 0.5)


def test_rare_ends_make_more_similar_than_common_ones():
    crowd = [(f"众{n}", "因", "common") for n in range(20)] + [(f"众{n}", "治", "many") for n in range(20)]
    edges = [
        ("甲", "因", "common"),
        ("甲", "因", "rare"),
        ("乙", "因", "rare"),
        ("乙", "治", "few"),
        ("甲", "治", "own"),
    ]
    similar = concepts_of(*crowd, *edges)
    assert shares(similar, "甲", "few", nearest=1)[0] == 1.0
    assert shares(similar, "甲", "many", nearest=1)[0] == 0.0
    share, base = shares(similar, "甲", "many")
    assert 0 < share < base  # all are among the nearest; the one with the rare end weighs more than any other


def test_equally_similar_concepts_all_count():
    edges = [(name, "因", "x") for name in "甲乙丙丁"] + [(name, "治", name * 2) for name in "甲乙丙丁"]
    similar = concepts_of(*edges)
    assert [shares(similar, "甲", name * 2, nearest=1)[0] for name in "乙丙丁"] == [0.333] * 3


@pytest.mark.parametrize(("ends", "lacks"), [("apart", True), ("together", False)])
def test_an_answer_of_all_sorts_lacks_cohesion(ends, lacks):
    others = [(name, "因", "x" if ends == "together" else f"x{name}") for name in "甲乙丙"]
    similar = concepts_of(
        *others, *((name, "治", "热") for name in "甲乙丙"), *((f"{n}", "因", f"{n}x") for n in range(9))
    )
    assert similar.lack_cohesion("热", CohesionBar()) is lacks
    assert not similar.lack_cohesion("热", CohesionBar(holders=4))
    assert not similar.lack_cohesion("汗", CohesionBar())  # nothing else is known of those that have it
    assert not similar.lack_cohesion("nobody has it", CohesionBar())


def test_cohesion_of_many_is_that_of_some():
    crowd = [(f"众{n}", relation, end) for n in range(500) for relation, end in (("治", "热"), ("因", f"组{n // 250}"))]
    assert not concepts_of(*crowd).lack_cohesion("热", CohesionBar(least=0.1))


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_every_bar_that_has_a_default(name):
    file = Path(__file__).parents[2] / f"recipes/swap/{name}.yaml"
    preset = yaml.safe_load(file.read_text(encoding="utf-8"))
    stated = {"known": True, "any_relation": True, "synonyms": ["同义词"], "generic": []}
    assert preset.keys() | stated.keys() == SwapBars.model_fields.keys()
    bars = SwapBars.model_validate(stated)
    spec = ExchangeSpec(relations=SwapRelations(), bar=bars, partner="far", unit="words", inverse_suffix="", ignore="")
    found = spec.with_preset("loose").with_preset(name).bar
    assert found == SwapBars.model_validate({**stated, **preset})
    assert (found == bars) is (name == "strict")


def test_figures_are_numbers_of_their_own_table():
    similar = concepts_of(*EDGES)
    found, base = similar.similar_shares(["甲", "nobody"], ["二", "x", "二"], SIDE, SimilarBar())
    assert found.shape == (2, 3)
    assert (found[:, 0] == found[:, 2]).all()
    assert not found[1].any()
    assert np.isfinite(base).all()
