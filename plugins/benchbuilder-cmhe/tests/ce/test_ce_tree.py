from __future__ import annotations

import doctest
import importlib
import random

import pytest

from benchbuilder_cmhe.ce.tree import TermTree, categories, classes_of, is_within, steps_between, tree_path


@pytest.mark.parametrize("module", ["tree", "mentions"])
def test_examples_in_docstrings(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"benchbuilder_cmhe.ce.{module}"))
    assert result.attempted > 0
    assert result.failed == 0


def grown(seed: int, concepts: int) -> list[list[str]]:
    """Tree numbers of concepts in a random tree of several categories, some with several places."""
    chance = random.Random(seed)
    places = [f"{letter}{branch:02}" for letter in "CDE" for branch in range(1, 4)]
    for _ in range(concepts):
        places.append(f"{chance.choice(places)}.{chance.randrange(1000):03}")
    places = list(dict.fromkeys(places))
    return [chance.sample(places, chance.choice([1, 1, 1, 2, 4])) for _ in range(concepts)]


def naive_rings(numbers: list[list[str]], concept: int) -> list[tuple[int, list[int]]]:
    """What `TermTree.rings` gives, by measuring the path to every other concept."""
    found: dict[int, list[int]] = {}
    for other in range(len(numbers)):
        if other != concept:
            found.setdefault(steps_between(numbers[concept], numbers[other]), []).append(other)
    return sorted(found.items())


@pytest.mark.parametrize("seed", range(6))
def test_rings_are_those_of_the_shortest_paths_between_all_pairs(seed: int) -> None:
    numbers = grown(seed, 120)
    tree = TermTree(numbers)
    for concept in range(0, 120, 7):
        assert list(tree.rings(concept)) == naive_rings(numbers, concept)


def test_the_nearest_come_first_and_ties_follow_the_order_that_is_asked_for() -> None:
    tree = TermTree([["C01.1"], ["C01.2"], ["C01.3"], ["C01"], ["C01.1.5"], ["D01"]])
    assert tree.nearest(0, 2, lambda _: True, lambda ring: ring) == [(3, 1), (4, 1)]
    assert tree.nearest(0, 2, lambda _: True, lambda ring: ring[::-1]) == [(4, 1), (3, 1)]
    assert tree.nearest(0, 2, lambda other: other in (2, 5), lambda ring: ring) == [(2, 2), (5, 5)]
    assert tree.nearest(0, 9, lambda other: other == 5, lambda ring: ring) == [(5, 5)]


def test_a_concept_with_several_places_is_as_near_as_the_nearest_of_them() -> None:
    pneumonia, infection, heart = ["C01.100.100", "C04.200"], ["C04.300"], ["C02.300"]
    assert steps_between(pneumonia, infection) == 2
    assert steps_between(pneumonia, heart) == 4
    assert list(TermTree([pneumonia, infection, heart]).rings(0)) == [(2, [1]), (4, [2])]


def test_categories_meet_in_one_root_and_roots_are_places_not_beginnings_of_text() -> None:
    assert steps_between(["C01"], ["D01"]) == 4
    assert tree_path("E01.370.225") == ("E", "E01", "E01.370", "E01.370.225")
    assert not is_within("E010.1", "E01")
    assert classes_of(["A01", "E01.2"], {"disease": ("C",), "test": ("E01",)}) == ["test"]
    assert categories(["C01.1", "C04"], 2) == {"C01", "C04"}
