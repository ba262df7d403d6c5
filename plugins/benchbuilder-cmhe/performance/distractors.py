"""How long it takes to find the nearest concepts of every concept of a tree, and whether they are the nearest.

``python performance/distractors.py --tree tree_numbers.tsv`` (a header; id, name, tree number) or, without a file, a
random tree of about the size of MeSH. A sample is compared with a reference that measures the path to every other
concept.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from pathlib import Path

from benchbuilder_cmhe.ce.tree import TermTree, steps_between


def read(path: Path) -> list[list[str]]:
    """The tree numbers of each concept of a table."""
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        code, *_, number = line.split("\t")
        found.setdefault(code, []).append(number)
    return list(found.values())


def grown(concepts: int, places: int, seed: int) -> list[list[str]]:
    """Concepts at random places of a random tree of 16 categories, as deep and as broad as MeSH."""
    chance = random.Random(seed)
    tree = [f"{letter}{branch:02}" for letter in "ABCDEFGHIJKLMNVZ" for branch in range(1, 9)]
    while len(tree) < places:
        parent = tree[max(chance.randrange(len(tree)), chance.randrange(len(tree)))]
        if parent.count(".") < 11:
            tree.append(f"{parent}.{chance.randrange(1000):03}")
    tree = list(dict.fromkeys(tree))
    chance.shuffle(tree)
    numbers: list[list[str]] = [[place] for place in tree[:concepts]]
    for place in tree[concepts:]:
        chance.choice(numbers).append(place)
    return numbers


def reference(numbers: list[list[str]], concept: int, count: int, order: random.Random) -> list[tuple[int, int]]:
    """What `TermTree.nearest` gives, by measuring the path to every other concept."""
    rings: dict[int, list[int]] = {}
    for other in range(len(numbers)):
        if other != concept:
            rings.setdefault(steps_between(numbers[concept], numbers[other]), []).append(other)
    found: list[tuple[int, int]] = []
    for steps, ring in sorted(rings.items()):
        found += [(other, steps) for other in (order.sample(ring, len(ring)) if len(ring) > 1 else ring)]
        if len(found) >= count:
            break
    return found[:count]


def main() -> None:
    """Run it and print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--nearest", type=int, default=2)
    parser.add_argument("--sample", type=int, default=100)
    given = parser.parse_args()
    numbers = read(given.tree) if given.tree else grown(27_000, 56_000, 1)
    began = time.perf_counter()
    tree = TermTree(numbers)
    built = time.perf_counter()
    found = []
    for concept in range(len(numbers)):
        order = random.Random(concept)
        found.append(tree.nearest(concept, given.nearest, lambda _: True, lambda ring: order.sample(ring, len(ring))))  # noqa: B023
    done = time.perf_counter()
    print(f"{len(numbers)} concepts at {sum(map(len, numbers))} places")
    print(f"tree: {built - began:.2f} s, nearest {given.nearest} of each: {done - built:.2f} s")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
    sample = random.Random(0).sample(range(len(numbers)), min(given.sample, len(numbers)))
    began = time.perf_counter()
    wrong = [one for one in sample if found[one] != reference(numbers, one, given.nearest, random.Random(one))]
    each = (time.perf_counter() - began) / len(sample)
    print(f"reference: {each:.2f} s a concept, {each * len(numbers) / 3600:.1f} h for all")
    print(f"{len(sample) - len(wrong)} of {len(sample)} equal to the reference")
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
