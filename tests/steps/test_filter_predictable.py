"""Families that a linear model guesses from the text of others are dropped as a whole, up to a share."""

import random
from collections import Counter

import numpy as np
import pytest

from benchbuilder.core.context import StepContext
from benchbuilder.core.records.arrow.table import Table
from benchbuilder.core.records.roles import Candidate
from benchbuilder.core.records.row import Origin, ProducedBy
from benchbuilder.pipeline.accounting.gathers import account_gather
from benchbuilder.steps import filter_predictable
from benchbuilder.steps.filter_predictable import FilterPredictable, FilterPredictableSpec
from benchbuilder.testing import check_step


def candidates(count=80, planted=16, seed=5):
    """A true and a false question for each fact; in the first families, a word marks each false one."""
    draw, rows = random.Random(seed), []
    for n in range(count):
        for expected in ("yes", "no"):
            word = " surely" * 3 if expected == "no" and n < planted else ""
            names = " ".join(f"w{draw.randrange(40)}" for _ in range(5))
            rows.append(candidate(n, expected, f"{names}{word}", f"right {n}", f"wrong {n}"))
    return rows


def candidate(n, expected, question, right, wrong):
    return Candidate.build(
        type="tf" if expected else "oe", expected=expected, question=question, answer=right, answer_wrong=wrong,
        fact=f"fact-{n:03}", family=f"family-{n:03}", origin=Origin(file="sky.csv", line=1),
        produced_by=ProducedBy(rule="test"), language="en", partition="sky",
    )  # fmt: skip


def sifter(seed=7, **spec):
    made = {"kind": "filter_predictable", "from": "rows", "unit": "words", "splits": 32, **spec}
    context = StepContext(seed=seed, language="en", step="sifted", cache="", workplace="")
    return FilterPredictable(FilterPredictableSpec.model_validate(made), context)


def sift(rows, **spec):
    step, tables = sifter(**spec), {"each": Table.of(rows, Candidate)}
    result = step.gather(tables)
    shard = account_gather(step, tables, result, Candidate)
    return list(shard.rows), result.notes


def families(rows):
    return {int(row.family[-3:]) for row in rows}


def test_planted_families_fall_as_a_whole():
    rows = candidates()
    kept, notes = sift(rows, tau=0.55)
    lost = families(rows) - families(kept)
    assert len(kept) == len(rows) - 2 * len(lost)
    assert notes["dropped"] == len(lost) == 16
    assert len([n for n in lost if n < 16]) >= 12


def test_nothing_falls_where_nothing_tells():
    assert len(sift(candidates(planted=0))[0]) == 160


def test_no_more_than_the_share_falls():
    assert sift(candidates(planted=60), tau=0.5, most=0.1)[1]["dropped"] == 8


def test_the_order_of_rows_does_not_matter():
    rows = candidates(40, 10)
    first, second = (sift(order, tau=0.55)[0] for order in (rows, rows[::-1]))
    assert {row.id for row in first} == {row.id for row in second}


def test_pairs_are_guessed_from_their_answers():
    rows = [candidate(n, "", f"what is {n}?", f"it is r{n}", f"it is {'not ' * (n < 20)}s{n}") for n in range(60)]
    kept, notes = sift(rows, target="pair", most=0.5)
    assert set(range(60)) - families(kept) == set(range(20))
    assert notes["families"] == 60
    assert len(sift(rows)[0]) == 60


def test_features_of_pairs_are_those_of_the_plain_way(monkeypatch):
    monkeypatch.setattr(filter_predictable, "_TEXTS", 3)
    draw, seen = random.Random(3), []
    monkeypatch.setattr(filter_predictable, "predictability", lambda table, *_: seen.append(table) or table.labels)
    said = [" ".join(draw.choices("abcd", k=draw.randrange(5))) for _ in range(20)]
    answers = list(zip(said[:10], said[10:], strict=True))
    sift([candidate(n, "", f"what is {n}?", *pair) for n, pair in enumerate(answers)], target="pair")
    pairs = [pair for pair in answers if pair[1]]
    assert len(pairs) < len(answers), "a candidate without a wrong answer is no pair"
    found = [Counter() for _ in pairs]
    owners = np.repeat(np.arange(len(pairs)), np.diff(seen[0].indptr)).tolist()
    for owner, gram, value in zip(owners, seen[0].indices, seen[0].values, strict=True):
        found[owner][int(gram)] += value
    named = [{runs(right) ^ runs(wrong): runs(right) - runs(wrong)} for right, wrong in pairs]
    alike = [(len(differ), len(own)) for line in named for differ, own in line.items()]
    # rows are in the order of their ids, so pairs are compared as a whole
    told = [(len(line), sum(value > 0 for value in line.values())) for line in found]
    assert sorted(told) == sorted(alike)
    assert {value for line in found for value in line.values()} == {1.0, -1.0}
    entries = list(zip(owners, seen[0].indices.tolist(), strict=True))
    assert entries == sorted(set(entries))


def runs(text):
    words = text.split()
    return frozenset(tuple(words[at : at + n]) for n in (1, 2, 3) for at in range(len(words) - n + 1))


@pytest.mark.parametrize("target", ["verdict", "pair"])
def test_filter_predictable_contract(target):
    check_step(lambda: sifter(target=target, tau=0.5), {"each": Table.of(candidates(12, 6), Candidate)})
